"""
Walks a new user's path, and says how long each step takes: ``python docs/first_steps.py [--out PAGE]``.

The tree is cloned into an empty folder. ``make demo`` makes the environment there and simulates a first convolution.
Then a kernel that is known by its name alone is explained: from nothing to the first bottleneck.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[1]

KERNEL: Final = "cutlass_tensorop_f16_s16816gemm_f16_128x128_32x4_tn_align8"
EXTENTS: Final = ("problem.m=2048", "problem.n=2048", "problem.k=512", "machine=h200")

MOST_SECONDS: Final = 300


@dataclass(frozen=True, slots=True)
class Step:
    """
    One step of the path.

    Attributes:
        command: What the user types.
        seconds: Wall time.
        printed: What it printed on stdout.
    """

    command: str
    seconds: float
    printed: str


def walk(folder: Path) -> list[Step]:
    """
    Take every step in a folder.

    Raises:
        subprocess.CalledProcessError: A step fails.
    """
    settings = [word for extent in EXTENTS for word in ("--set", extent)]
    tree = folder / "gpusim"
    return [
        _step(["git", "clone", "--quiet", str(ROOT), "gpusim"], folder, "git clone ... gpusim; cd gpusim"),
        _step(["make", "demo"], tree),
        _step([".venv/bin/gpusim", "explain", "--cutlass", KERNEL, *settings], tree),
    ]


def _step(command: Sequence[str], folder: Path, shown: str = "") -> Step:
    """Run a command as a new user's shell would, without this process's Python."""
    environment = {
        key: value for key, value in os.environ.items() if key not in {"PYTHONPATH", "VIRTUAL_ENV", "MAKEFLAGS"}
    }
    begin = time.monotonic()
    done = subprocess.run(command, cwd=folder, env=environment, check=True, stdout=subprocess.PIPE, text=True)  # noqa: S603
    return Step(shown or " ".join(command), time.monotonic() - begin, done.stdout)


def page(steps: Sequence[Step]) -> str:
    """Return the steps as a page."""
    rows = [f"| `{step.command}` | {step.seconds:.0f} |" for step in steps]
    made = "Made by `python docs/first_steps.py --out reports/first_steps.md`"
    where = f"on {os.cpu_count()} cores, Python {sys.version_info.major}.{sys.version_info.minor}."
    what = "It clones the tree into an empty folder, and takes a new user's path from there."
    explained = [line for line in steps[-1].printed.splitlines() if line]
    return "\n".join(
        [
            "# First steps, timed",
            "",
            f"{made} {where} {what}",
            "",
            "| step | seconds |",
            "|---|---:|",
            *rows,
            f"| in all | {sum(step.seconds for step in steps):.0f} |",
            "",
            "The last step says:",
            "",
            f"> {explained[0]}",
            "",
        ]
    )


def main() -> int:
    """Walk, print the times, and return 1 if they are too long."""
    parser = argparse.ArgumentParser(description=__doc__.strip().splitlines()[0] if __doc__ else None)
    parser.add_argument("--out", type=Path, help="write a page of the times")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        steps = walk(Path(folder))
    for step in steps:
        sys.stdout.write(f"{step.seconds:6.1f} s  {step.command}\n")
    total = sum(step.seconds for step in steps)
    sys.stdout.write(f"{total:6.1f} s  in all, of at most {MOST_SECONDS}\n")
    if arguments.out:
        arguments.out.write_text(page(steps), encoding="utf-8")
    return int(total > MOST_SECONDS)


if __name__ == "__main__":
    sys.exit(main())
