"""
Tags of a cache: which lines it holds, which of their sectors, and which line it evicts next.

In silicon: the tag array of an L1 or of the L2, with replacement by least recent use. ``Lines`` is that, line by line;
``Granules`` is an L2 without timing, whose unit of replacement is what a kernel touches at once (D14).
Figures: the number of lines or bytes it holds.
State: slots of lines in a hash, with the order of their uses in a log; or granules in a ring in the order of use.
Timing: none. ``Lines`` remembers for each line the cycle at which it is there.

>>> lines = Lines(2)
>>> slots = [lines.touch(line) for line in (7, 8, 7)]
>>> slots[0] == slots[2], lines.lookup(9), lines.count
(True, -1, 2)
>>> lines.evict()
>>> lines.lookup(8), lines.lookup(7) == slots[0]
(-1, True)
"""

from typing import TYPE_CHECKING

from gpusim.sim.columns import pages
from gpusim.sim.core.constants import (
    APART,
    BUCKETS_A_LINE,
    GRANULE_WIDTH,
    NEIGHBOURS,
    PLACE_BITS,
    SLOT_WIDTH,
    USES_A_LINE,
)

if TYPE_CHECKING:
    from collections.abc import Sequence


def sectors_in(mask: int) -> int:
    """Return the number of sectors, of the four of a line, in a mask."""
    return (mask & 1) + (mask >> 1 & 1) + (mask >> 2 & 1) + (mask >> 3 & 1)


def parts_in(mask: int) -> int:
    """Return the number of parts, of at most sixteen of a granule, in a mask."""
    pairs = mask - (mask >> 1 & 0x5555)
    fours = (pairs & 0x3333) + (pairs >> 2 & 0x3333)
    eights = fours + (fours >> 4) & 0x0F0F
    return eights + (eights >> 8) & 0x1F


def parity(ones: int) -> int:
    """Return whether a number, of a line as a rule, has an odd number of ones."""
    ones ^= ones >> 32
    ones ^= ones >> 16
    ones ^= ones >> 8
    ones ^= ones >> 4
    ones ^= ones >> 2
    return (ones ^ ones >> 1) & 1


class Granules:
    """
    Content of an L2 whose hits are found without timing: granules, and the parts of them that it holds.

    A granule is what is evicted at once; the least recently used one is. Those that are held are a ring in the order of
    use, which begins and ends at the granule after the last.
    """

    def __init__(self, capacity: int, count: int) -> None:
        """Hold at most ``capacity`` bytes of ``count`` granules, or one granule that is larger."""
        slots = pages(GRANULE_WIDTH * (count + 1))
        self.parts, self.size, self.older, self.newer = slots, slots[1:], slots[2:], slots[3:]
        self.turn, self.touched, self.coming = slots[4:], slots[5:], slots[6:]
        self.capacity, self.end = capacity, GRANULE_WIDTH * count
        self.older[self.end] = self.newer[self.end] = self.end
        self.held = self.count = 0

    def unlink(self, at: int) -> None:
        """Take a granule out of the ring."""
        older, newer = self.older[at], self.newer[at]
        self.newer[older], self.older[newer] = newer, older

    def touch(self, granule: int, parts: int, size: int) -> int:
        """Make parts of a granule, of ``size`` bytes each, the most recently used; return the mask of those missing."""
        at = GRANULE_WIDTH * granule
        known = self.parts[at]
        missing = parts & ~known
        brought = parts_in(missing) * size
        if known:
            self.unlink(at)
        else:
            self.count += 1
        latest = self.older[self.end]
        self.older[at], self.newer[at] = latest, self.end
        self.newer[latest] = self.older[self.end] = at
        self.parts[at] = known | missing
        self.size[at] += brought
        self.held += brought
        while self.held > self.capacity and self.count > 1:
            oldest = self.newer[self.end]
            self.unlink(oldest)
            self.held -= self.size[oldest]
            self.parts[oldest] = self.size[oldest] = 0
            self.count -= 1
        return missing

    def walk(
        self, touched: "Sequence[memoryview[int]]", turn_of: "memoryview[int]", found: "Sequence[memoryview[int]]"
    ) -> None:
        """
        Touch granules one after the other, and add what each row of touches finds to ``found``, in bytes.

        Args:
            touched: Columns of equal length: the row of each touch, the granule, the mask of its parts, a part's size.
            turn_of: Turn of each row, at least 1. What is touched or missed twice in one is told by the granule.
            found: By row: bytes asked for; missing; missing, or missed in this turn before; touched first in this turn.
        """
        row_of, granule_of, parts_of, size_of = touched
        asked, missed, slow, fresh = found
        for one in range(len(row_of)):
            row, granule, parts, size = row_of[one], granule_of[one], parts_of[one], size_of[one]
            at = GRANULE_WIDTH * granule
            if self.turn[at] != turn_of[row]:
                self.turn[at], self.touched[at], self.coming[at] = turn_of[row], 0, 0
            missing = self.touch(granule, parts, size)
            self.coming[at] |= missing
            asked[row] += parts_in(parts) * size
            missed[row] += parts_in(missing) * size
            slow[row] += parts_in(parts & self.coming[at]) * size
            fresh[row] += parts_in(parts & ~self.touched[at]) * size
            self.touched[at] |= parts


class Lines:
    """
    Lines of a cache with the cycle they are there and the sectors held, in order of use: a hash and a log.

    Each use of a line is logged. An entry of the log whose line was used again since is stale: the search for the
    victim skips it, and the log drops it when it is full.
    """

    def __init__(self, most: int) -> None:
        """Hold at most ``most`` lines."""
        buckets = 1
        while buckets < BUCKETS_A_LINE * most:
            buckets *= 2
        self.mask = buckets - 1
        self.head = pages(buckets)  # slots from 1 on; 0 where there is none
        # The integers of a slot lie side by side: whoever finds a line uses most of them.
        slots = pages(SLOT_WIDTH * (most + 2))
        self.line, self.chain, self.use, self.held, self.ready = slots, slots[1:], slots[2:], slots[3:], slots[4:]
        # What an L2 remembers that is simulated itself, and one whose hits are known beforehand: no cache is both.
        self.dirty, self.seen, self.crossed = slots[5:], slots[6:], slots[7:]
        self.asker, self.lands, self.pending = slots[5:], slots[6:], slots[7:]
        self.free, self.fresh, self.count = -1, 0, 0
        self.room = USES_A_LINE * (most + 2)
        self.log, self.oldest, self.uses = pages(self.room), 0, 0

    def bucket(self, line: int) -> int:
        """
        Return the bucket of a line: all its bits count, as tensors and waves differ in high ones only.

        Neighbours in a tensor, which are asked for soon after one another, have neighbouring buckets; those of
        different tensors and waves lie apart.
        """
        block = line >> NEIGHBOURS
        spread = (block ^ block >> PLACE_BITS) + (block >> 2 * PLACE_BITS) * APART
        return (spread << NEIGHBOURS | line & (1 << NEIGHBOURS) - 1) & self.mask

    def lookup(self, line: int) -> int:
        """Look up the tag of a line; return its slot, or -1."""
        slot = self.head[self.bucket(line)] - 1
        while slot >= 0 and self.line[slot] != line:
            slot = self.chain[slot]
        return slot

    def log_use(self, slot: int) -> None:
        """Make a slot the most recently used."""
        if self.uses == self.room:
            self.drop_stale_uses()
        self.log[self.uses] = slot
        self.use[slot] = self.uses
        self.uses += 1

    def drop_stale_uses(self) -> None:
        """Drop all uses of each line but its last one from the log."""
        kept = 0
        for at in range(self.oldest, self.uses):
            slot = self.log[at]
            if self.use[slot] == at:
                self.log[kept] = slot
                self.use[slot] = kept
                kept += 1
        self.oldest, self.uses = 0, kept

    def victim(self) -> int:
        """Return the least recently used slot; there is one."""
        while self.use[self.log[self.oldest]] != self.oldest:
            self.oldest += 1
        return self.log[self.oldest]

    def allocate(self, line: int) -> int:
        """Add a line that is not there as the most recently used, without sectors; return its slot."""
        slot = self.free
        if slot >= 0:
            self.free = self.chain[slot]
        else:
            slot = self.fresh
            self.fresh += SLOT_WIDTH
        bucket = self.bucket(line)
        self.chain[slot] = self.head[bucket] - 1
        self.head[bucket] = slot + 1
        self.line[slot] = line
        self.held[slot] = self.ready[slot] = 0
        self.dirty[slot] = self.seen[slot] = self.crossed[slot] = 0
        self.log_use(slot)
        self.count += 1
        return slot

    def touch(self, line: int) -> int:
        """Make a line the most recently used, allocated on a miss; return its slot."""
        slot = self.lookup(line)
        if slot < 0:
            return self.allocate(line)
        if self.use[slot] != self.uses - 1:
            self.log_use(slot)
        return slot

    def evict(self) -> None:
        """Remove the least recently used line."""
        slot = self.victim()
        self.oldest += 1
        bucket = self.bucket(self.line[slot])
        at = self.head[bucket] - 1
        if at == slot:
            self.head[bucket] = self.chain[slot] + 1
        else:
            while self.chain[at] != slot:
                at = self.chain[at]
            self.chain[at] = self.chain[slot]
        self.chain[slot] = self.free
        self.free = slot
        self.count -= 1
