"""
Tags of a cache: the lines and sectors that it holds, and the line that it evicts next.

In silicon: the tag array of an L1 or of the L2, with LRU replacement. ``Lines`` simulates it line by line. ``Granules``
is a coarser L2 without timing, for the walk that finds a sample's hits. It evicts whole granules: a granule is the data
that a kernel accesses together (D14).
Figures: the number of lines, or of bytes, that the cache holds.
State: ``Lines`` is a hash table of slots with a log of their uses. ``Granules`` is a ring in order of use.
Timing: none. ``Lines`` stores for each line the cycle at which its data arrives.

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
    BUCKETS_A_LINE,
    GRANULE_WIDTH,
    NEIGHBOURS,
    PLACE_BITS,
    SLOT_WIDTH,
    TENSOR_BUCKETS,
    USES_A_LINE,
)

if TYPE_CHECKING:
    from collections.abc import Sequence


def sectors_in(mask: int) -> int:
    """Return the number of sectors in a mask of a line's four sectors."""
    return (mask & 1) + (mask >> 1 & 1) + (mask >> 2 & 1) + (mask >> 3 & 1)


def parts_in(mask: int) -> int:
    """Return the number of parts in a mask of a granule's parts, of which there are at most sixteen."""
    pairs = mask - (mask >> 1 & 0x5555)
    fours = (pairs & 0x3333) + (pairs >> 2 & 0x3333)
    eights = fours + (fours >> 4) & 0x0F0F
    return eights + (eights >> 8) & 0x1F


def parity(ones: int) -> int:
    """Return the parity of a 64-bit number: 1 if it has an odd number of ones, else 0."""
    ones ^= ones >> 32
    ones ^= ones >> 16
    ones ^= ones >> 8
    ones ^= ones >> 4
    ones ^= ones >> 2
    return (ones ^ ones >> 1) & 1


class Granules:
    """
    An L2 without timing that holds parts of granules.

    A granule is the unit of eviction: the least recently used one is evicted whole. The granules in the L2 form a ring
    in order of use. The ring's sentinel is the last row of the columns.
    """

    def __init__(self, capacity: int, count: int) -> None:
        """Build an L2 of ``capacity`` bytes for ``count`` granules. A granule above that capacity is held alone."""
        slots = pages(GRANULE_WIDTH * (count + 1))
        self.parts, self.size, self.older, self.newer = slots, slots[1:], slots[2:], slots[3:]
        self.step, self.touched, self.coming = slots[4:], slots[5:], slots[6:]
        self.capacity, self.end = capacity, GRANULE_WIDTH * count
        self.older[self.end] = self.newer[self.end] = self.end
        self.held = self.count = 0

    def unlink(self, at: int) -> None:
        """Remove the granule in row ``at`` from the ring."""
        older, newer = self.older[at], self.newer[at]
        self.newer[older], self.older[newer] = newer, older

    def touch(self, granule: int, parts: int, size: int) -> int:
        """Access parts of a granule, each of ``size`` bytes, and make it the newest; return the missing parts."""
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
        self, touched: "Sequence[memoryview[int]]", step_of: "memoryview[int]", found: "Sequence[memoryview[int]]"
    ) -> None:
        """
        Access granules one after another, and add up their requested and missing bytes in the rows of ``found``.

        Args:
            touched: Columns of equal length, one entry for each access: its row in ``found``, the granule, the mask of
                its parts, and the size of a part in bytes.
            step_of: Step of the walk that each row belongs to, at least 1. A granule records the parts that are
                accessed and missed in one step. The first access in another step clears this record.
            found: Columns of bytes by row: requested; missing; missing now or earlier in this step; accessed for the
                first time in this step.
        """
        row_of, granule_of, parts_of, size_of = touched
        asked, missed, slow, fresh = found
        for one in range(len(row_of)):
            row, granule, parts, size = row_of[one], granule_of[one], parts_of[one], size_of[one]
            at = GRANULE_WIDTH * granule
            if self.step[at] != step_of[row]:
                self.step[at], self.touched[at], self.coming[at] = step_of[row], 0, 0
            missing = self.touch(granule, parts, size)
            self.coming[at] |= missing
            asked[row] += parts_in(parts) * size
            missed[row] += parts_in(missing) * size
            slow[row] += parts_in(parts & self.coming[at]) * size
            fresh[row] += parts_in(parts & ~self.touched[at]) * size
            self.touched[at] |= parts


class Lines:
    """
    Lines of a cache, each with its sectors and the cycle at which its data arrives.

    The lines are slots of a hash table. A log records each use of a line. A log entry is stale if its line was used
    again later. The search for a victim skips stale entries, and a full log drops them.
    """

    def __init__(self, most: int) -> None:
        """Build an empty cache that can hold ``most`` lines."""
        buckets = 1
        while buckets < BUCKETS_A_LINE * most:
            buckets *= 2
        self.mask = buckets - 1
        self.head = pages(buckets)  # first slot of each bucket, plus 1; 0 if the bucket is empty
        # The integers of a slot are neighbours in memory, because a lookup that hits uses most of them.
        slots = pages(SLOT_WIDTH * (most + 2))
        self.line, self.chain, self.use, self.held, self.ready = slots, slots[1:], slots[2:], slots[3:], slots[4:]
        # ``L2`` uses the first three columns, ``L2Sampled`` the last three. They share memory: no cache serves both.
        self.dirty, self.seen, self.crossed = slots[5:], slots[6:], slots[7:]
        self.requester, self.lands, self.pending = slots[5:], slots[6:], slots[7:]
        self.free, self.fresh, self.count = -1, 0, 0
        self.room = USES_A_LINE * (most + 2)
        self.log, self.oldest, self.uses = pages(self.room), 0, 0

    def bucket(self, line: int) -> int:
        """
        Return the hash bucket of a line.

        The hash uses all bits of the line's number, because lines of different tensors, or of different waves of CTAs,
        may differ in high bits only. Neighbouring lines are used together, so they have neighbouring buckets.
        """
        block = line >> NEIGHBOURS
        spread = (block ^ block >> PLACE_BITS) + (block >> 2 * PLACE_BITS) * TENSOR_BUCKETS
        return (spread << NEIGHBOURS | line & (1 << NEIGHBOURS) - 1) & self.mask

    def lookup(self, line: int) -> int:
        """Look up a line's tag; return its slot, or -1 on a miss."""
        slot = self.head[self.bucket(line)] - 1
        while slot >= 0 and self.line[slot] != line:
            slot = self.chain[slot]
        return slot

    def log_use(self, slot: int) -> None:
        """Log a use of a slot, which makes it the most recently used one."""
        if self.uses == self.room:
            self.drop_stale_uses()
        self.log[self.uses] = slot
        self.use[slot] = self.uses
        self.uses += 1

    def drop_stale_uses(self) -> None:
        """Keep only the last use of each line in the log."""
        kept = 0
        for at in range(self.oldest, self.uses):
            slot = self.log[at]
            if self.use[slot] == at:
                self.log[kept] = slot
                self.use[slot] = kept
                kept += 1
        self.oldest, self.uses = 0, kept

    def victim(self) -> int:
        """Return the least recently used slot of a cache that is not empty."""
        while self.use[self.log[self.oldest]] != self.oldest:
            self.oldest += 1
        return self.log[self.oldest]

    def allocate(self, line: int) -> int:
        """Allocate a missing line, without sectors, as the most recently used one; return its slot."""
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
        """Make a line the most recently used one, and allocate it on a miss; return its slot."""
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
