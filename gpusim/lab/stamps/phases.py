"""The phases of a stamped warp (prologue, main loop and drain), from a measured or simulated timeline."""

from collections.abc import Mapping
from typing import Final

from gpusim.cuda.timeline_format import WarpTimeline
from gpusim.records.pipeline import pipeline_rows
from gpusim.schedule.kernel import Stamped

STAMPS_FILE: Final = "stamps.csv"
"""Measured times of stamped kernels, in a GPU's folder of measurements."""

TIMES: Final = ("copy_issue", "wait_begin", "wait_end", "mma_begin", "drain_begin", "mma_end", "tail_end", "end")
"""Columns of that file, in cycles from the first stamp of the CTA, for warp 0; see ``times_of``."""

PHASES: Final[Mapping[str, tuple[str, str]]] = {
    "prologue": ("", "wait_end"),
    "mainloop": ("wait_end", "drain_begin"),
    "drain": ("drain_begin", "mma_end"),
}
"""Begin and end of each phase; "" is the CTA's first stamp. The drain has the k tiles without a copy."""


def times_of(warp: WarpTimeline, stamped: Stamped) -> dict[str, int]:
    """
    Return ``TIMES`` of a warp.

    ``copy_issue``, ``wait_begin``, ``wait_end`` (after the barrier) and ``mma_begin`` (after the first mma.sync) are
    those of the first k tile. ``drain_begin`` is after the first mma.sync of the last ``stages - 1`` k tiles,
    ``mma_end`` after the last mma.sync, and ``tail_end`` after the last barrier before the epilogue.
    """
    rows = pipeline_rows(warp, stamped)
    first, last, drained = rows[0], rows[-1], rows[max(0, len(rows) - (stamped.stages - 1))]
    found = (first.copy_issue, first.wait_begin, first.wait_end, first.mma_begin, drained.mma_begin, last.mma_end)
    return dict(zip(TIMES, (*found, warp.tail_end, warp.end), strict=True))


def phases_of(times: Mapping[str, float]) -> dict[str, float]:
    """Return the cycles of each of ``PHASES``, and of all together as "whole"."""
    found = {name: times[end] - times.get(begin, 0) for name, (begin, end) in PHASES.items()}
    return {**found, "whole": sum(found.values())}
