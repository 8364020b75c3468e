"""``python -m gpusim.measure.launch FILE...``: launches each scenario's plain kernels, for a profiler to see."""

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from gpusim.errors import GpusimError
from gpusim.families.registry import family_of, load_scenario
from gpusim.gpu import run
from gpusim.gpu.device import import_cupy
from gpusim.gpu.module import load_kernels
from gpusim.scenario.models import Scenario


def launch_all(
    files: Sequence[Path], overrides: Sequence[str], seed: int, times: int = 1
) -> tuple[list[str], dict[str, str]]:
    """
    Launch the scenarios' kernels in order, each scenario on its own random inputs.

    Args:
        files: Scenario files.
        overrides: KEY=VALUE settings that replace those of every file.
        seed: Seed of the inputs.
        times: Launches of each scenario.

    Returns:
        The file's stem for every launch, in order; and the reason of failure by stem, for files that were not launched.

    Raises:
        CannotRun: CuPy or a GPU is missing.
    """
    cupy = import_cupy()
    launched, failed = [], {}
    for file in files:
        try:
            launches = _launch(cupy, load_scenario(file, tuple(overrides)), seed, times)
        except (GpusimError, RuntimeError) as error:  # CuPy's errors are RuntimeErrors
            failed[file.stem] = str(error)
        else:
            launched += [file.stem] * launches
        cupy.get_default_memory_pool().free_all_blocks()
    return launched, failed


def _launch(cupy: Any, scenario: Scenario, seed: int, times: int) -> int:
    """Launch all kernels of a scenario, ``times`` times; return the number of launches."""
    family = family_of(scenario)
    kernels = load_kernels(cupy, family.cuda.specialisations(scenario, "plain"))
    problem = family.devices.upload(cupy, scenario, seed)
    for _ in range(times):
        run.launch_once(kernels, problem)
    return len(kernels) * times


def main(argv: Sequence[str] | None = None) -> int:
    """
    Launch the scenarios, and write ``{launched: [names], failed: {name: reason}}`` as JSON to ``--log``.

    Returns:
        Exit code: 0, 1 if a scenario failed, or that of the error.
    """
    parser = argparse.ArgumentParser(prog="python -m gpusim.measure.launch", description=__doc__)
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE")
    parser.add_argument("--set", dest="overrides", action="append", default=[], metavar="KEY=VALUE")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--times", type=int, default=1, help="launches of each scenario")
    parser.add_argument("--log", type=Path)
    arguments = parser.parse_args(argv)
    try:
        launched, failed = launch_all(arguments.files, arguments.overrides, arguments.seed, arguments.times)
    except GpusimError as error:
        sys.stderr.write(f"{error}\n")
        return error.exit_code
    if arguments.log:
        arguments.log.write_text(json.dumps({"launched": launched, "failed": failed}) + "\n", encoding="utf-8")
    for name, why in failed.items():
        sys.stderr.write(f"{name}: {why}\n")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
