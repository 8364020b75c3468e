"""``python -m gpusim.lab.stamps.launch OUT FILE...``: launches timeline builds and writes down their times."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from gpusim.errors import GpusimError
from gpusim.families.registry import family_of, load_gemm_scenario
from gpusim.gpu import run
from gpusim.gpu.device import import_cupy
from gpusim.gpu.module import load_kernels
from gpusim.lab.calibrate.runner import MeasuredRow, write_rows
from gpusim.lab.stamps.phases import times_of


def stamped_phases(cupy: Any, file: Path, times: int) -> list[MeasuredRow]:
    """
    Launch a scenario's timeline build ``times`` times; return a row for each launch, with the times of warp 0 of the
    recorded CTA.

    The profiler flushes the caches, if it is told to.
    """
    scenario = load_gemm_scenario(file)
    family = family_of(scenario)
    (kernel,) = load_kernels(cupy, family.cuda.specialisations(scenario, "timeline")[:1])
    stamped = family.schedules.kernels(scenario)[0].stamped
    problem = family.devices.upload(cupy, scenario, 0)
    buffer = run.timeline_buffer(kernel, problem, stamped)
    rows: list[MeasuredRow] = []
    for number in range(times):
        warp, *_ = run.record_timeline(kernel, problem, stamped, buffer, launches=1)
        own: MeasuredRow = {"name": file.stem, "launch": number, "k_tiles": warp.k_tiles, "stages": stamped.stages}
        own.update(times_of(warp, stamped))
        rows.append(own)
    return rows


def main(argv: Sequence[str] | None = None) -> int:
    """Launch every file's kernel, write OUT; return 1 if a scenario failed, or the exit code of the error."""
    parser = argparse.ArgumentParser(prog="python -m gpusim.lab.stamps.launch", description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE")
    parser.add_argument("--times", type=int, default=1, help="launches of each scenario")
    arguments = parser.parse_args(argv)
    rows: list[MeasuredRow] = []
    code = 0
    try:
        cupy = import_cupy()
    except GpusimError as error:
        sys.stderr.write(f"{error}\n")
        return error.exit_code
    for file in arguments.files:
        try:
            rows += stamped_phases(cupy, file, arguments.times)
        except (GpusimError, RuntimeError) as error:  # CuPy's errors are RuntimeErrors
            sys.stderr.write(f"{file.stem}: {error}\n")
            code = 1
        cupy.get_default_memory_pool().free_all_blocks()
    write_rows(arguments.out, rows, {})
    return code


if __name__ == "__main__":
    sys.exit(main())
