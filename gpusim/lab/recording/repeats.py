"""``python -m gpusim.lab.recording.repeats OUT FILE...``: cycles of several cold launches of kernels, in one pass."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from gpusim.gpu import counters
from gpusim.lab.calibrate.runner import MeasuredRow, write_rows
from gpusim.lab.recording.in_ncu_runs import NcuRun, profile_in_runs
from gpusim.records.repeats import REPEATED, REPEATS_FILE

COLD_LAUNCHES: Final = 7
"""Cold launches of each scenario. The number is odd, so the median is one of them."""

REPEATED_TOGETHER: Final = 25
"""Number of scenarios in one run of ncu."""


def repeat(files: Sequence[Path], folder: Path, launches: int) -> list[MeasuredRow]:
    """
    Launch scenarios' plain kernels several times under ncu, each time with cold caches and in a single pass.

    Args:
        files: Scenario files.
        folder: Folder in which ncu's report is kept.
        launches: Launches of each scenario.

    Returns:
        A row for each scenario and launch: its name, the launch's number, and ``REPEATED``, summed over its kernels.

    Raises:
        CannotRun: ncu is missing or may not profile here, or the profiled launches are not those that were made.
    """
    selection, options = ("--metrics", ",".join(REPEATED)), ("--times", str(launches))
    of_scenario: dict[str, list[counters.Profile]] = {}
    for name, profile in counters.profile_launches(files, folder, selection, options):
        of_scenario.setdefault(name, []).append(profile)
    rows: list[MeasuredRow] = []
    for name, profiles in of_scenario.items():
        kernels = len(profiles) // launches
        for number in range(launches):
            whole = counters.together(profiles[number * kernels : (number + 1) * kernels])
            row: MeasuredRow = {"name": name, "launch": number}
            rows.append(row | {metric: whole.counters[metric] for metric in REPEATED})
    return rows


def main(argv: Sequence[str] | None = None) -> int:
    """Measure every file's kernels, some together; return the exit code of the last error, or 0."""
    rows: list[MeasuredRow] = []

    def measure(run: NcuRun) -> None:
        rows.extend(repeat(run.files, run.reports, COLD_LAUNCHES))
        write_rows(run.folder / REPEATS_FILE, rows, run.provenance)

    return profile_in_runs(argv, "gpusim.lab.recording.repeats", __doc__, REPEATED_TOGETHER, measure)


if __name__ == "__main__":
    sys.exit(main())
