"""
Says how long a new user waits for a first finding about an own kernel: ``python docs/first_value.py [--out PAGE]``.

A wheel of this tree is installed by pip into an empty environment. Then one command for a CUDA source and one for a
Triton function must name planted faults by source line: a bank conflict and a race, and loads that waste sectors.
"""

import argparse
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[1]
SOURCES: Final = ROOT / "docs" / "examples" / "first_value"

MOST_SECONDS: Final = 60
"""Most seconds of each command that names faults."""

RUN: Final = (
    *("gpusim", "run", "turn.cu", "--machine", "a100", "--grid", "8,8", "--block", "32,8"),
    *("--arg", "in=random:f32[256,256]", "--arg", "out=f32[256,256]", "--arg", "n=256"),
)


@dataclass(frozen=True, slots=True)
class Fault:
    """
    A fault that was planted in a source.

    Attributes:
        what: The fault in words.
        source: File that has it.
        mark: Text of the line that must be named.
        said: Pattern of what must be printed; LINE is the number of that line.
    """

    what: str
    source: str
    mark: str
    said: str

    def finding(self, printed: str) -> str:
        """Return what was printed of the fault, in one line; empty if it was not named by its line."""
        lines = (SOURCES / self.source).read_text(encoding="utf-8").splitlines()
        (number,) = (number for number, line in enumerate(lines, 1) if self.mark in line)
        found = re.search(self.said.replace("LINE", str(number)), " ".join(printed.split()))
        return found[0] if found else ""


@dataclass(frozen=True, slots=True)
class Step:
    """
    One step of the way.

    Attributes:
        command: What the user types.
        seconds: Wall time.
        findings: What it printed of each planted fault; empty if it is no command that names faults.
    """

    command: str
    seconds: float
    findings: tuple[str, ...] = ()

    @property
    def is_late(self) -> bool:
        """Whether a command that names faults took too long, or missed one."""
        return bool(self.findings) and (self.seconds > MOST_SECONDS or "" in self.findings)


CUDA_FAULTS: Final = (
    Fault(
        "32-way bank conflict",
        "turn.cu",
        "// 32-way bank conflict",
        r"[\d,]+ [\d,]+ 32\.00 [\d,]+ 0x\w+ LDS R\d+, \S+ \(turn\.cu:LINE\)",
    ),
    Fault(
        "race",
        "turn.cu",
        "// 32-way bank conflict",
        r"race at shared address .*? reads it in text .*? \(turn\.cu:LINE\), and no barrier lies between",
    ),
)
TRITON_FAULTS: Final = (
    Fault("wasted sectors", "column.py", "# a sector for each lane", r"LINE: \d+ \d+ 1024 128 one = tl\.load\(.*?\)"),
)


def walk(folder: Path, wheel: Path) -> list[Step]:
    """
    Take every step in a folder.

    Raises:
        subprocess.CalledProcessError: A step fails.
    """
    for source in SOURCES.glob("*.*"):
        shutil.copy(source, folder)
    pip = ("python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check")
    return [
        _step((sys.executable, "-m", "venv", "venv"), folder, shown="python -m venv venv"),
        _step((*pip, f"{wheel}[compiler]"), folder, shown="pip install 'gpusim[compiler]'"),
        _step(RUN, folder, CUDA_FAULTS),
        _step((*pip, f"{wheel}[triton]"), folder, shown="pip install 'gpusim[triton]'"),
        _step(("python", "column.py"), folder, TRITON_FAULTS),
    ]


def _step(command: Sequence[str], folder: Path, faults: Sequence[Fault] = (), *, shown: str = "") -> Step:
    """Run a command in the environment, as if nothing had ever been compiled or cached, and no toolkit were there."""
    environment = {
        "PATH": os.pathsep.join([str(folder / "venv" / "bin"), "/usr/bin", "/bin"]),
        "HOME": str(folder),
        "COLUMNS": "200",
        **{
            key: value
            for key, value in os.environ.items()
            if key.startswith(("PIP_", "SSL_")) or "proxy" in key.lower()
        },
    }
    program = shutil.which(command[0], path=environment["PATH"]) or command[0]
    begin = time.monotonic()
    done = subprocess.run(  # noqa: S603 # the commands above
        (program, *command[1:]), cwd=folder, env=environment, check=True, stdout=subprocess.PIPE, text=True
    )
    seconds = time.monotonic() - begin
    return Step(shown or " ".join(command), seconds, tuple(fault.finding(done.stdout) for fault in faults))


def page(steps: Sequence[Step], when: str) -> str:
    """Return the steps as a page."""
    machine = (
        f"{os.cpu_count()} cores of {platform.machine()}, Python {sys.version_info.major}.{sys.version_info.minor}"
    )
    named = [f"> {finding}" for step in steps for finding in step.findings]
    return "\n".join(
        [
            "# From pip to the first finding, timed",
            "",
            f"Made by `python docs/first_value.py --out reports/first_value.md` on {when}, with {machine},",
            "without a GPU and with pip's NVRTC. A wheel of the tree is installed into an empty environment. Then one",
            "command asks about a CUDA source, and one about a Triton function. Faults were planted in both",
            "(`docs/examples/first_value`).",
            "",
            "| step | seconds |",
            "|---|---:|",
            *(f"| `{step.command}` | {step.seconds:.1f} |" for step in steps),
            "",
            f"Each command has {MOST_SECONDS} seconds to name its faults by line. They print:",
            "",
            "\n>\n".join(named),
            "",
        ]
    )


def wheel_of_tree(folder: Path) -> Path:
    """Build the wheel of this tree, and return its path."""
    command = (sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", str(folder), str(ROOT))
    subprocess.run(command, check=True)  # noqa: S603 # pip
    (wheel,) = folder.glob("*.whl")
    return wheel


def main() -> int:
    """Take the steps, print their times, and return 1 if a fault is not named or not in time."""
    parser = argparse.ArgumentParser(description=__doc__.strip().splitlines()[0] if __doc__ else None)
    parser.add_argument("--wheel", type=Path, help="install this wheel, not one of the tree")
    parser.add_argument("--out", type=Path, help="write a page of the times")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as built:
        wheel = arguments.wheel or wheel_of_tree(Path(built))
        steps = walk(Path(folder), wheel.resolve())
    for step in steps:
        sys.stdout.write(f"{step.seconds:6.1f} s  {step.command}\n")
        for finding in step.findings:
            sys.stdout.write(f"          {finding or 'A FAULT IS NOT NAMED'}\n")
    if arguments.out:
        arguments.out.write_text(page(steps, datetime.now(UTC).date().isoformat()), encoding="utf-8")
    return int(any(step.is_late for step in steps))


if __name__ == "__main__":
    sys.exit(main())
