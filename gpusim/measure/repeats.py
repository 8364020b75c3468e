"""``python -m gpusim.measure.repeats OUT FILE...``: cycles of several cold launches of plain kernels, in one pass."""

import argparse
import csv
import sys
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from gpusim.errors import GpusimError
from gpusim.gpu import counters, device
from gpusim.measure.measure import RecordOrigin
from gpusim.measure.record_all import prebuild_plain
from gpusim.records.repeats import REPEATED, REPEATS_FILE

COLD_LAUNCHES: Final = 7
"""Cold launches of each scenario: odd, so that a median is one of them."""

REPEATED_TOGETHER: Final = 25
"""Number of scenarios in one run of ncu."""


def repeat(files: Sequence[Path], folder: Path, launches: int) -> list[dict[str, str | int | float]]:
    """
    Launch scenarios' plain kernels several times under ncu, each time with cold caches and in a single pass.

    Args:
        files: Scenario files.
        folder: Folder in which ncu's report is kept.
        launches: Launches of each scenario.

    Returns:
        For each scenario and launch its name, the launch's number, and ``REPEATED``, summed over its kernels.

    Raises:
        CannotRun: ncu is missing or may not profile here, or it profiled other launches than were made.
    """
    selection, options = ("--metrics", ",".join(REPEATED)), ("--times", str(launches))
    of_scenario: dict[str, list[counters.Profile]] = {}
    for name, profile in counters.profile_launches(files, folder, selection, options):
        of_scenario.setdefault(name, []).append(profile)
    rows: list[dict[str, str | int | float]] = []
    for name, profiles in of_scenario.items():
        kernels = len(profiles) // launches
        for number in range(launches):
            whole = counters.together(profiles[number * kernels : (number + 1) * kernels])
            row: dict[str, str | int | float] = {"name": name, "launch": number}
            rows.append(row | {metric: whole.counters[metric] for metric in REPEATED})
    return rows


def write_repeats(path: Path, rows: Sequence[dict[str, str | int | float]], provenance: Sequence[str]) -> None:
    """Write rows as CSV, behind lines of a comment."""
    with path.open("w", encoding="utf-8", newline="") as file:
        file.writelines(f"# {line}\n" for line in provenance)
        table = csv.DictWriter(file, ["name", "launch", *REPEATED], lineterminator="\n")
        table.writeheader()
        table.writerows(rows)


def main(argv: Sequence[str] | None = None) -> int:
    """Measure every file's kernels, some together; return the exit code of the last error, or 0."""
    parser = argparse.ArgumentParser(prog="python -m gpusim.measure.repeats", description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("files", type=Path, nargs="+", metavar="FILE")
    parser.add_argument("--commit", help="commit of the source tree, where it is no clone")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="nothing new is started after so many")
    arguments = parser.parse_args(argv)
    started, code = time.monotonic(), 0
    rows: list[dict[str, str | int | float]] = []
    try:
        origin = RecordOrigin.here(("python", "-m", "gpusim.measure.repeats", "OUT", "FILE"), arguments.commit)
        folder = arguments.out / device.gpu_slug(origin.environment["gpu"])
        folder.mkdir(parents=True, exist_ok=True)
        prebuild_plain(arguments.files)
    except GpusimError as error:
        sys.stderr.write(f"{error}\n")
        return error.exit_code
    provenance = [f"{key}: {value}" for key, value in origin.environment.items()]
    now = datetime.now(UTC).isoformat(timespec="seconds")
    provenance += [f"commit: {origin.commit}", f"date: {now}", f"command: {' '.join(origin.command)}"]
    for first in range(0, len(arguments.files), REPEATED_TOGETHER):
        if time.monotonic() - started > arguments.seconds:
            sys.stderr.write(f"{len(arguments.files) - first} files were not begun\n")
            break
        try:
            rows += repeat(arguments.files[first : first + REPEATED_TOGETHER], arguments.out / "ncu", COLD_LAUNCHES)
        except GpusimError as error:
            sys.stderr.write(f"{error}\n")
            code = error.exit_code
        write_repeats(folder / REPEATS_FILE, rows, provenance)
    return code


if __name__ == "__main__":
    sys.exit(main())
