"""
What the warps of a CTA executed: the steps of each, and the addresses of their accesses.

A step is an instruction's number and the lanes that executed it. Steps of all warps share one array, in the order of
their execution; an access leaves a row of its lanes' addresses, a copy to shared memory two.
"""

from typing import TYPE_CHECKING

from gpusim.execute.core.constants import (
    ADDRESS_HASH,
    ADDRESS_LANES,
    ADDRESS_LOWEST,
    ADDRESS_OF_STEP,
    ADDRESS_ROW,
    ALL,
    HASH_FACTOR,
    HASH_ROUNDS,
    HASH_SHIFT,
    HASH_STEP,
    STEP_LANES,
)
from gpusim.execute.core.memory import CtaMemory
from gpusim.execute.core.words import integers_of, low64, signed64
from gpusim.units import LINE_BYTES, WARP_SIZE

if TYPE_CHECKING:
    from gpusim.arrays import IntArray


class Trace:
    """
    The arrays that steps and addresses are written to.

    Attributes:
        steps, warps: The steps, and which warp executed each.
        addresses: Rows of addresses.
        count, rows: How many steps and rows are in use.
        room, row_room: How many there is room for.
        keeps: Steps and addresses are kept, not counted alone.
    """

    def __init__(self, steps: "IntArray", warps: "IntArray", addresses: "IntArray", *, keeps: bool) -> None:
        """Take the arrays."""
        self.held = (steps, warps, addresses)
        self.steps, self.warps, self.addresses = integers_of(steps), integers_of(warps), integers_of(addresses)
        self.count, self.rows, self.total = 0, 0, 0
        self.room, self.row_room = len(steps), len(addresses) // ADDRESS_ROW - 2
        self.keeps = keeps

    def empty(self) -> None:
        """Forget what was written, after it was read."""
        self.count, self.rows = 0, 0


def note(t: Trace, at: int, lanes: int, warp: int) -> None:
    """Write a step."""
    t.total += 1
    if t.keeps:
        t.steps[t.count] = signed64(low64(at) << STEP_LANES | low64(lanes))
        t.warps[t.count] = warp
        t.count += 1


def note_addresses(t: Trace, m: CtaMemory, copies: int) -> None:
    """Write the addresses of the last step, and where it copies to."""
    if not t.keeps:
        return
    lanes = t.steps[t.count - 1] & ALL
    for part in range(2 if copies else 1):
        place = t.rows * ADDRESS_ROW
        lowest = signed64((1 << 63) - 1)
        for lane in range(WARP_SIZE):
            address = m.addresses[part * WARP_SIZE + lane]
            t.addresses[place + ADDRESS_LANES + lane] = address
            if lanes >> lane & 1 and address < lowest:
                lowest = address
        line, found = lowest // LINE_BYTES * LINE_BYTES, low64(0)
        for lane in range(WARP_SIZE):
            if lanes >> lane & 1:
                mixed = low64(t.addresses[place + ADDRESS_LANES + lane] - line + 1)
                for _ in range(HASH_ROUNDS):
                    mixed = low64(mixed * low64(HASH_FACTOR + lane * HASH_STEP))
                    mixed = mixed ^ mixed >> HASH_SHIFT
                found = low64(found + mixed)
        t.addresses[place + ADDRESS_OF_STEP] = t.count - 1
        t.addresses[place + ADDRESS_LOWEST] = lowest
        t.addresses[place + ADDRESS_HASH] = signed64(found)
        t.rows += 1


def full(t: Trace) -> int:
    """Return whether there may be no room for another step."""
    return t.count >= t.room or t.rows >= t.row_room
