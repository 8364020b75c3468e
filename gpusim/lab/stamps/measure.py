"""``python -m gpusim.lab.stamps.measure OUT FILE...``: stamps of kernels whose caches are cold."""

import sys
from collections.abc import Sequence
from typing import Final

from gpusim.gpu import counters, ncu
from gpusim.lab.calibrate.runner import MeasuredRow, read_rows, write_rows
from gpusim.lab.recording.in_ncu_runs import NcuRun, profile_in_runs
from gpusim.lab.stamps.phases import STAMPS_FILE

STAMPED_LAUNCHES: Final = 5
"""Cold launches of each kernel. The number is odd, so the median is one of them."""

_TOGETHER: Final = 10
_CYCLES: Final = "sm__cycles_elapsed.max"


def main(argv: Sequence[str] | None = None) -> int:
    """Measure every file's stamped kernel, some together; return the exit code of the last error, or 0."""
    rows: list[MeasuredRow] = []

    def measure(run: NcuRun) -> None:
        run.reports.mkdir(parents=True, exist_ok=True)
        file = run.reports / f"{run.files[0].stem}.csv"
        command = [sys.executable, "-m", "gpusim.lab.stamps.launch", f"{file}", *map(str, run.files)]
        file.unlink(missing_ok=True)
        try:
            ncu.profile([*command, "--times", str(STAMPED_LAUNCHES)], [_CYCLES], kernels=counters.KERNELS)
        finally:  # a kernel that fails ends the command with an error, after the others' rows are written
            if file.is_file():
                rows.extend(dict(row) for row in read_rows(file))
                write_rows(run.folder / STAMPS_FILE, rows, run.provenance)

    return profile_in_runs(argv, "gpusim.lab.stamps.measure", __doc__, _TOGETHER, measure, build="timeline")


if __name__ == "__main__":
    sys.exit(main())
