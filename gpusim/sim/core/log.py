"""
The core's records: warp cycles by stall reason; for watched warps also logs of instructions and of stalls.

In silicon: the SMSPs' warp samplers, whose counts Nsight Compute calls stall reasons.
Figures: none.
State: cycles by reason, for traced code by instruction, too; two logs. A log appends rows to a block, and moves full
blocks to a column.
Timing: none.

>>> from gpusim.sim.stall_reasons import WAIT
>>> record = WarpRecord(number=zeros(9), watched=zeros(9, 1), integers=0)
>>> record.charge(warp=0, begin=5, end=9, reason=WAIT), record.charge(0, 9, 9, WAIT)
(9, 9)
>>> record.flush()
>>> record.stalls[WAIT], record.spans.column.tolist() == [0, 5, 9, WAIT]
(4, True)
"""

from array import array
from typing import TYPE_CHECKING

from gpusim.sim.columns import zeros
from gpusim.sim.core.constants import CODE_WIDTH, LOG_ROWS, NOTE_WIDTH, SPAN_WIDTH
from gpusim.sim.stall_reasons import REASON_COUNT

if TYPE_CHECKING:
    from gpusim.sim.columns import Column


class Log:
    """Rows of integers in a column that grows by blocks. Call ``flush`` before reading the column."""

    def __init__(self, width: int) -> None:
        """Build an empty log of rows of ``width`` integers."""
        self.column: Column = array("q")
        self.rows = self.block = zeros(width * LOG_ROWS)
        self.width, self.filled = width, 0

    def row(self) -> int:
        """Add a row; return the index of its first integer in the block."""
        if self.filled == len(self.block):
            self.flush()
        at = self.filled
        self.filled += self.width
        return at

    def flush(self) -> None:
        """Move the block's rows to the column."""
        filled, self.filled = self.filled, 0
        self.column.extend(self.rows[:filled])


class WarpRecord:
    """
    Cycles of all warps by stall reason, and logs of the warps of watched CTAs.

    Attributes:
        stalls: Warp cycles by stall reason.
        by_instruction: Warp cycles by instruction and stall reason; empty if the code is not traced. A wait belongs to
            the instruction that waits.
        notes: Log of instructions, rows of ``NOTE_WIDTH`` integers.
        spans: Log of intervals with one stall reason, rows of ``SPAN_WIDTH`` integers.
    """

    def __init__(self, number: "memoryview[int]", watched: "memoryview[int]", integers: int) -> None:
        """
        Build empty records.

        Args:
            number, watched: Each warp's number within its CTA, and whether it is watched.
            integers: Integers of the code's rows if cycles are counted by instruction, else 0.
        """
        self.number, self.watched = number, watched
        self.by_instruction = zeros(max(1, integers // CODE_WIDTH * REASON_COUNT))
        self.stalls = zeros(REASON_COUNT)
        self.notes, self.spans = Log(NOTE_WIDTH), Log(SPAN_WIDTH)

    def charge(self, warp: int, begin: int, end: int, reason: int) -> int:
        """Charge a warp's cycles from ``begin`` up to ``end``, exclusive, to a reason; return the later of the two."""
        if end <= begin:
            return begin
        self.stalls[reason] += end - begin
        if self.watched[warp]:
            self.span(warp, begin, end, reason)
        return end

    def span(self, warp: int, begin: int, end: int, reason: int) -> None:
        """Add a row to ``spans``: a warp's cycles from ``begin`` up to ``end`` with one stall reason."""
        spans = self.spans
        row = spans.row()
        spans.block[row], spans.block[row + 1] = self.number[warp], begin
        spans.block[row + 2], spans.block[row + 3] = end, reason

    def note(  # noqa: PLR0917 - one for each integer of the row
        self, warp: int, place: int, tiles: int, at: int, landed: int, stalled: int
    ) -> None:
        """
        Add a row to ``notes``.

        Args:
            warp: The warp.
            place: Index of the instruction in the code; ``RELEASED`` for the release of a barrier that the warp waited
                for, ``RETIRED`` for the warp's end.
            tiles: k tiles before this trip; with ``RETIRED``, the number of the warp's SMSP in its SM.
            at: Cycle of the issue.
            landed: Cycle at which the data arrives.
            stalled: Cycle at which the fixed stall of the instruction before ended.
        """
        notes = self.notes
        row = notes.row()
        notes.block[row], notes.block[row + 1], notes.block[row + 2] = self.number[warp], place, tiles
        notes.block[row + 3], notes.block[row + 4], notes.block[row + 5] = at, landed, stalled

    def flush(self) -> None:
        """Move the rows of both logs to their columns."""
        self.notes.flush()
        self.spans.flush()
