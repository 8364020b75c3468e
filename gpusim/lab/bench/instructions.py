"""
``python -m gpusim.lab.bench.instructions NAME...``: counts the instructions that the compiled core executes.

Seconds differ from run to run by more than a change of the core's text costs; instructions do not. Valgrind's callgrind
counts those of ``Chip.run`` and of all that it calls, in an exact run of each scenario. It takes fifty times as long as
the run: minutes for most, half an hour for gemm_4096.
"""

import argparse
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from gpusim.errors import CannotRun, GpusimError

COUNTED = ("conv_s6_crosswise", "attention_64x64", "gemm_4096")
"""Scenarios that are counted by default."""

_RUN = "import sys, gpusim; gpusim.simulate(sys.argv[1], exact=True, engine='compiled')"

_CORE = "__pyx_pw_*4Chip_*run"
"""Symbol of ``Chip.run`` as Python calls it, in whatever order its methods stand."""


def core_instructions(name: str) -> int:
    """
    Return the instructions that the core executes in an exact run of a scenario.

    Raises:
        CannotRun: Valgrind is not installed, the run failed, or no function of the core was found in it.
    """
    with tempfile.TemporaryDirectory() as folder:
        counted = Path(folder) / "callgrind.out"
        valgrind = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={counted}", f"--toggle-collect={_CORE}"]
        try:
            ran = subprocess.run(  # noqa: S603 - this interpreter, with a name that it reads
                [*valgrind, sys.executable, "-c", _RUN, name], capture_output=True, text=True, check=False
            )
        except FileNotFoundError as error:
            raise CannotRun("counting instructions needs valgrind") from error
        if ran.returncode:
            raise CannotRun(f"{name}: {ran.stderr.strip().splitlines()[-1]}")
        totals = [line for line in counted.read_text(encoding="utf-8").splitlines() if line.startswith("totals: ")]
    if not totals or totals[0] == "totals: 0":
        raise CannotRun(f"{name}: callgrind saw nothing of the core")
    return int(totals[0].removeprefix("totals: "))


def main(arguments: Sequence[str] | None = None) -> int:
    """Count, and print a line for each scenario."""
    parser = argparse.ArgumentParser(prog="python -m gpusim.lab.bench.instructions", description=__doc__)
    parser.add_argument("names", metavar="NAME", nargs="*", help=f"scenarios; {', '.join(COUNTED)} without one")
    for name in parser.parse_args(arguments).names or COUNTED:
        try:
            sys.stdout.write(f"{core_instructions(name):>16,} {name}\n")
        except GpusimError as error:
            sys.stderr.write(f"{error}\n")
            return error.exit_code
        sys.stdout.flush()
    return 0


if __name__ == "__main__":
    sys.exit(main())
