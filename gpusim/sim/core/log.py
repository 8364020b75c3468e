"""
What is written down while the core runs: stall cycles by reason, and of watched warps every stretch and instruction.

In silicon: the SMSPs' warp samplers, whose counts Nsight Compute calls stall reasons. Figures: none.
State: cycles by reason; two logs of rows of integers, each a block and the column that full blocks are moved to.
Timing: none.

>>> from gpusim.sim.stall_reasons import WAIT
>>> record = WarpRecord(number=zeros(9), watched=zeros(9, 1))
>>> record.charge(warp=0, begin=5, end=9, reason=WAIT), record.charge(0, 9, 9, WAIT)
(9, 9)
>>> record.flush()
>>> record.stalls[WAIT], record.spans.column.tolist() == [0, 5, 9, WAIT]
(4, True)
"""

from array import array
from typing import TYPE_CHECKING

from gpusim.sim.columns import zeros
from gpusim.sim.core.constants import LOG_ROWS, NOTE_WIDTH, SPAN_WIDTH
from gpusim.sim.stall_reasons import REASON_COUNT

if TYPE_CHECKING:
    from gpusim.sim.columns import Column


class Log:
    """Rows of integers, one after another in a column that grows by blocks; ``flush`` completes the column."""

    def __init__(self, width: int) -> None:
        """Hold rows of ``width`` integers."""
        self.column: Column = array("q")
        self.rows = self.block = zeros(width * LOG_ROWS)
        self.width, self.filled = width, 0

    def row(self) -> int:
        """Add a row; return where it begins in the block."""
        if self.filled == len(self.block):
            self.flush()
        at = self.filled
        self.filled += self.width
        return at

    def flush(self) -> None:
        """Move the rows of the block to the column."""
        filled, self.filled = self.filled, 0
        self.column.extend(self.rows[:filled])


class WarpRecord:
    """
    Cycles of all warps by stall reason, and what the warps of watched CTAs did.

    Attributes:
        stalls: Warp cycles by stall reason.
        notes, spans: Rows of ``NOTE_WIDTH`` and ``SPAN_WIDTH`` integers.
    """

    def __init__(self, number: "memoryview[int]", watched: "memoryview[int]") -> None:
        """WarpRecord warps whose numbers within their CTAs, and whether they are watched, are in two columns."""
        self.number, self.watched = number, watched
        self.stalls = zeros(REASON_COUNT)
        self.notes, self.spans = Log(NOTE_WIDTH), Log(SPAN_WIDTH)

    def charge(self, warp: int, begin: int, end: int, reason: int) -> int:
        """Charge cycles to a reason; return the cycle at which the next one begins."""
        if end <= begin:
            return begin
        self.stalls[reason] += end - begin
        if self.watched[warp]:
            self.span(warp, begin, end, reason)
        return end

    def span(self, warp: int, begin: int, end: int, reason: int) -> None:
        """Add a row to the spans."""
        spans = self.spans
        row = spans.row()
        spans.block[row], spans.block[row + 1] = self.number[warp], begin
        spans.block[row + 2], spans.block[row + 3] = end, reason

    def note(  # noqa: PLR0917 - one for each integer of the row
        self, warp: int, place: int, tiles: int, at: int, landed: int, stalled: int
    ) -> None:
        """Add a row to the notes."""
        notes = self.notes
        row = notes.row()
        notes.block[row], notes.block[row + 1], notes.block[row + 2] = self.number[warp], place, tiles
        notes.block[row + 3], notes.block[row + 4], notes.block[row + 5] = at, landed, stalled

    def flush(self) -> None:
        """Complete the columns of both logs."""
        self.notes.flush()
        self.spans.flush()
