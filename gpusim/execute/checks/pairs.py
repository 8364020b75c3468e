"""
Finds pairs of accesses that race in a CTA's shared memory, and reads of granules that no thread has written.

Each access is compared with the nearest earlier and later accesses of its granule, in the order of execution, of every
kind that can race with it. The barriers allow this order. So if any accesses of a granule race, a race in it is found.
"""

from typing import Final, NamedTuple

import numpy as np

from gpusim.arrays import BoolArray, IntArray
from gpusim.execute.checks.accesses import LANE_BITS, ROW_BITS, ROW_MASK
from gpusim.schedule.warp_events import Effect
from gpusim.units import WARP_SIZE

READS, WRITES, UPDATES = range(3)
"""Kinds of access: an asynchronous copy writes, an atomic operation updates."""

KIND_OF_EFFECT: Final = np.array([{Effect.READ: READS, Effect.ATOMIC: UPDATES}.get(one, WRITES) for one in Effect])

RIVALS: Final = ((WRITES, READS), (READS, WRITES), (WRITES, WRITES), *((UPDATES, one) for one in (READS, WRITES)))
MORE_RIVALS: Final = ((READS, UPDATES), (WRITES, UPDATES))
"""Kinds that race with each other. Reads do not, nor do atomic operations."""


class AccessColumns(NamedTuple):
    """
    Accesses of a CTA, one entry for each row.

    Attributes:
        effect: Its ``Effect``.
        warp, step: Its warp, and its step among those of the CTA.
        end: The step that completes it.
        end_segment: Barriers that its warp met before ``end``.
        clock: Its row of ``clocks``.
        clocks: Vector clocks, as in ``WarpOrder``.
    """

    effect: IntArray
    warp: IntArray
    step: IntArray
    end: IntArray
    end_segment: IntArray
    clock: IntArray
    clocks: IntArray

    def race(self, first: IntArray, second: IntArray) -> BoolArray:
        """Return whether each pair of accesses is unordered. The first of a pair was executed before the second."""
        warp, other = self.warp[first], self.warp[second]
        apart = self.end_segment[first] >= self.clocks[self.clock[second], warp]
        return np.where(warp == other, self.end[first] > self.step[second], apart)


class FoundPairs(NamedTuple):
    """
    Entries of the accesses that were found.

    Attributes:
        first, second: Pairs that race.
        unwritten: Reads of granules that no thread has written before.
    """

    first: IntArray
    second: IntArray
    unwritten: IntArray


def rows_of_entries(entries: IntArray) -> IntArray:
    """Return the row of each entry."""
    return entries >> LANE_BITS & ROW_MASK


def granules_of(entries: IntArray) -> IntArray:
    """Return the granule of each entry."""
    return entries >> ROW_BITS + LANE_BITS


def lanes_of(entries: IntArray) -> IntArray:
    """Return the lane of each entry."""
    return entries & WARP_SIZE - 1


def find_pairs(entries: IntArray, accesses: AccessColumns) -> FoundPairs:
    """
    Find pairs that race, and reads of granules that no thread has written.

    Args:
        entries: Entries of the accesses, in any order.
        accesses: The accesses, one for each row.
    """
    entries = _sorted(entries)
    rows = rows_of_entries(entries)
    near = _Neighbours(entries, KIND_OF_EFFECT[accesses.effect[rows]])
    first, second = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
    for one, other in (*RIVALS, *MORE_RIVALS):
        if one in near.kinds and other in near.kinds:
            for before, behind in (near.last(one, other), near.following(one, other)):
                racing = accesses.race(rows[before], rows[behind])
                first.append(entries[before[racing]])
                second.append(entries[behind[racing]])
    return FoundPairs(np.concatenate(first), np.concatenate(second), entries[_unwritten(near)])


def entries_to_keep(entries: IntArray, accesses: AccessColumns) -> IntArray:
    """Return of each granule the last write, and behind it the last access of each kind by each warp."""
    entries = _sorted(entries)
    rows = rows_of_entries(entries)
    near = _Neighbours(entries, KIND_OF_EFFECT[accesses.effect[rows]])
    last_write = np.where(near.kind[near.end] == WRITES, near.end, near.last_of(WRITES)[near.end])
    alive = np.flatnonzero(near.places >= last_write)
    codes = (granules_of(entries[alive]) * len(KIND_OF_EFFECT) + near.kind[alive]) * WARP_SIZE + accesses.warp[
        rows[alive]
    ]
    _, from_behind = np.unique(codes[::-1], return_index=True)
    return entries[np.sort(alive[::-1][from_behind])]


def _sorted(entries: IntArray) -> IntArray:
    """Return entries by granule and row, one lane of each row for each granule."""
    ordered: IntArray = np.sort(entries)
    access = ordered >> LANE_BITS
    distinct: IntArray = ordered[np.append(True, access[1:] != access[:-1])[: len(ordered)]]
    return distinct


class _Neighbours:
    """The nearest entries of each kind, of entries that are sorted by granule and time."""

    def __init__(self, entries: IntArray, kind: IntArray) -> None:
        self.kind, self.kinds = kind, set(np.unique(kind).tolist())
        granule = granules_of(entries)
        self.places = np.arange(len(entries))
        new = np.append(True, granule[1:] != granule[:-1])[: len(entries)]
        self.begin = np.maximum.accumulate(np.where(new, self.places, 0))
        ends = np.append(new[1:], True)[: len(entries)]
        self.end = np.minimum.accumulate(np.where(ends, self.places, len(entries))[::-1])[::-1]
        self._last: dict[int, IntArray] = {}

    def last_of(self, kind: int) -> IntArray:
        """Return the last earlier place of a kind for each place; less than ``begin`` if its granule has none."""
        if kind not in self._last:
            here = np.where(self.kind == kind, self.places, -1)
            self._last[kind] = np.append(-1, np.maximum.accumulate(here))[: len(here)]
        return self._last[kind]

    def last(self, one: int, other: int) -> tuple[IntArray, IntArray]:
        """Return pairs: the last of one kind before each of another."""
        behind = np.flatnonzero(self.kind == other)
        before = self.last_of(one)[behind]
        there = before >= self.begin[behind]
        return before[there], behind[there]

    def following(self, one: int, other: int) -> tuple[IntArray, IntArray]:
        """Return pairs: each of one kind, and the first of another behind it."""
        before, behind = np.flatnonzero(self.kind == one), np.flatnonzero(self.kind == other)
        place = np.searchsorted(behind, before, side="right")
        behind = np.append(behind, len(self.kind))[place]
        there = behind <= self.end[before]
        return before[there], behind[there]


def _unwritten(near: _Neighbours) -> IntArray:
    """Return the places of reads that no write precedes."""
    reads = np.flatnonzero(near.kind != WRITES)
    written = np.zeros(len(reads), np.bool_)
    for kind in near.kinds & {WRITES, UPDATES}:
        written |= near.last_of(kind)[reads] >= near.begin[reads]
    return reads[~written]
