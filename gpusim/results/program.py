"""The instructions of every warp of a watched CTA, in order, for viewers that show them beside a timeline."""

from dataclasses import dataclass

import numpy as np

from gpusim.arrays import IntArray
from gpusim.results.timeline import WarpSpan

SELECTED = "selected"
"""The reason of the spans in which a warp issues: one instruction in each cycle."""


@dataclass(frozen=True, slots=True)
class WarpProgram:
    """
    The instructions of one warp, in the order of issue. Each array has one entry per instruction.

    Attributes:
        opcodes: SASS mnemonics that occur.
        opcode: Index into ``opcodes``.
        operations: Operations of the schedule that occur, with their operand; the first is "", no operation.
        operation: Index into ``operations``.
        activities: Activities of k tiles that occur, as a timeline names them; the first is "", no activity.
        activity: Index into ``activities``.
        k_tile: k tile or key block of the operation, or -1.
        stage: Slot of the shared-memory ring, or -1.
        copied_bytes: Bytes that the 32 lanes copy to shared memory, predicated-off lanes included; 0 if it is no copy.
        tensor: Whether it is an mma.sync.
    """

    opcodes: tuple[str, ...]
    opcode: IntArray
    operations: tuple[str, ...]
    operation: IntArray
    activities: tuple[str, ...]
    activity: IntArray
    k_tile: IntArray
    stage: IntArray
    copied_bytes: IntArray
    tensor: IntArray

    def __len__(self) -> int:
        return len(self.opcode)

    def copied(self, activity: str, k_tile: int) -> int:
        """Return the bytes that one warp copies for a k tile in an activity."""
        if activity not in self.activities:
            return 0
        own = (self.activity == self.activities.index(activity)) & (self.k_tile == k_tile)
        return int(self.copied_bytes[own].sum())


def issue_cycles(spans: list[WarpSpan]) -> IntArray:
    """Return the cycles in which a warp issued one instruction each, from its spans in order."""
    issued = [np.arange(span.begin, span.end) for span in spans if span.reason == SELECTED]
    return np.concatenate(issued) if issued else np.zeros(0, dtype=np.int64)
