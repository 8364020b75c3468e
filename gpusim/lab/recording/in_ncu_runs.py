"""Profiles many scenarios for a command: compiles all first, then profiles some in each run of ncu, up to a time."""

import argparse
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from gpusim.cuda.specialise import Build
from gpusim.errors import GpusimError
from gpusim.gpu import device
from gpusim.lab.recording.record_all import prebuild_one
from gpusim.measure.measure import RecordOrigin


class NcuRun(NamedTuple):
    """
    One run of ncu.

    Attributes:
        files: The scenarios that it profiles together.
        reports: Folder of ncu's own files.
        folder: Folder of this GPU's measurements.
        provenance: Origin of the figures, by key.
    """

    files: Sequence[Path]
    reports: Path
    folder: Path
    provenance: dict[str, str]


def profile_in_runs(
    argv: Sequence[str] | None,
    module: str,
    what: str | None,
    together: int,
    measure: Callable[[NcuRun], None],
    *,
    build: Build = "plain",
) -> int:
    """
    Run the command ``python -m MODULE OUT FILE... [--commit C] [--seconds S]``.

    Args:
        argv: Its arguments; None takes the process's.
        module: The module's full name.
        what: Its description in the help.
        together: Number of scenarios in one run of ncu; with few, a failure loses little.
        measure: Profiles the scenarios of a run and writes the figures. If a run fails, the next one starts.
        build: The profiled build of each scenario.

    Returns:
        The exit code of the last error, or 0.
    """
    parser = argparse.ArgumentParser(prog=f"python -m {module}", description=what)
    parser.add_argument("out", type=Path)
    parser.add_argument("files", type=Path, nargs="+", metavar="FILE")
    parser.add_argument("--commit", help="commit of the source tree, where it is no clone")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="nothing new is started after so many")
    arguments = parser.parse_args(argv)
    started, code = time.monotonic(), 0
    try:
        origin = RecordOrigin.here(("python", "-m", module, "OUT", "FILE"), arguments.commit)
        folder = arguments.out / device.gpu_slug(origin.environment["gpu"])
        folder.mkdir(parents=True, exist_ok=True)
        prebuild_one(arguments.files, build)
    except GpusimError as error:
        sys.stderr.write(f"{error}\n")
        return error.exit_code
    provenance = {key: str(value) for key, value in origin.environment.items()} | {
        "commit": str(origin.commit),
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "command": " ".join(origin.command),
    }
    for first in range(0, len(arguments.files), together):
        if time.monotonic() - started > arguments.seconds:
            sys.stderr.write(f"{len(arguments.files) - first} files were not begun\n")
            break
        try:
            files = arguments.files[first : first + together]
            measure(NcuRun(files, arguments.out / "ncu", folder, provenance))
        except (GpusimError, subprocess.TimeoutExpired) as error:
            sys.stderr.write(f"{error}\n")
            code = error.exit_code if isinstance(error, GpusimError) else 1
    return code
