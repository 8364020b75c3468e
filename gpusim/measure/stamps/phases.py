"""The phases of a stamped warp: prologue, main loop and drain, in cycles, from its stamps or from simulated ones."""

from collections.abc import Sequence
from dataclasses import astuple, dataclass

from gpusim.results.result import PipelineRow

STAMPS_FILE = "stamps.csv"
"""Measured phases of stamped kernels, in a GPU's folder of measurements."""


@dataclass(frozen=True, slots=True)
class Phases:
    """
    How long warp 0 of a stamped CTA takes for each phase, cycles.

    Attributes:
        prologue: From the CTA's begin to the end of the first wait, behind its barrier.
        mainloop: From there to the first mma.sync of the drain.
        drain: From there, the last ``stages - 1`` k tiles, for which no copy is issued, to the last mma.sync's issue.
    """

    prologue: int
    mainloop: int
    drain: int

    @property
    def all(self) -> int:
        """Cycles from the CTA's begin to the issue of its last mma.sync."""
        return sum(astuple(self))


def phases_of(rows: Sequence[PipelineRow], stages: int, *, latency: int = 0) -> Phases:
    """
    Return the phases of a warp's k tiles.

    Args:
        rows: A row for each k tile, in order.
        stages: Stages of the shared-memory ring.
        latency: Cycles from an mma.sync's issue to its result, if ``mma_end`` is the time of the result. 0 for stamps,
            which are of the issue.
    """
    begin, last = rows[max(0, len(rows) - (stages - 1))].mma_begin, rows[-1].mma_end - latency
    return Phases(rows[0].wait_end, begin - rows[0].wait_end, last - begin)
