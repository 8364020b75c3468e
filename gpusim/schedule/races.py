"""
Finds the accesses of a CTA that race: they share a byte, at least one writes it, and they are unordered.

This module knows the order and the bytes of accesses. It never knows the op or the instruction behind an access.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from gpusim.arrays import IntArray
from gpusim.schedule.happens_before import HappensBefore
from gpusim.schedule.warp_events import Effect


class Races(NamedTuple):
    """
    Pairs of accesses that race, each pair once.

    Attributes:
        first, second: Numbers of the accesses in their ``HappensBefore``, in order of Lamport time, and of warps at
            equal times.
    """

    first: IntArray
    second: IntArray


def find_races(order: HappensBefore, overlaps: "Overlaps") -> Races:
    """
    Find for each write the nearest accesses that race with it, in each warp.

    These are the last access of each kind before it, and the first read after it, in order of Lamport time. So each
    write that races with a read is found, and the result is empty only without a race. An atomic operation counts as a
    write.

    Args:
        order: The accesses, and their order.
        overlaps: Pairs of overlapping footprints.

    Returns:
        The races in order of ``second``, then ``first``.
    """
    pairs = [np.zeros((2, 0), np.int64)]
    for kind in Effect:
        shelf = _Shelf(order, overlaps, kind)
        no_rivals = (Effect.READ, Effect.ATOMIC) if kind is Effect.ATOMIC else (Effect.READ,)
        writes = np.flatnonzero(~np.isin(order.kind, no_rivals))
        for warp in range(order.warps):
            pairs += shelf.races_with(writes, warp, later=kind is Effect.READ)
    either = np.concatenate(pairs, axis=1)
    swapped = _time_keys(order)[either[0]] > _time_keys(order)[either[1]]
    first, second = np.where(swapped, either[::-1], either)
    codes = np.unique(second * len(order.begin) + first)
    return Races(codes % max(1, len(order.begin)), codes // max(1, len(order.begin)))


def _time_keys(order: HappensBefore) -> IntArray:
    """Return numbers that order all accesses by Lamport time, and by warp at equal times."""
    return order.time * order.warps + order.warp


class Overlaps:
    """
    Pairs of footprints that share a byte.

    Attributes:
        count: Number of footprints.
        first, second: All pairs of footprints that share a byte, in order of ``first``. A footprint shares its bytes
            with itself.
    """

    def __init__(self, footprints: Sequence[IntArray]) -> None:
        """
        Compare footprints.

        Args:
            footprints: Addresses of the bytes of each, without repetitions.
        """
        self.count = len(footprints)
        owner = np.repeat(np.arange(self.count), [len(one) for one in footprints])
        place = np.concatenate([np.zeros(0, np.int64), *footprints])
        by_byte = np.lexsort((owner, place))
        owner, place = owner[by_byte], place[by_byte]
        codes = [np.unique(owner) * (self.count + 1)]
        apart = 1
        while (alike := place[apart:] == place[:-apart]).any():
            one, other = owner[:-apart][alike], owner[apart:][alike]
            codes += [np.unique(one * self.count + other), np.unique(other * self.count + one)]
            apart += 1
        self.first, self.second = np.divmod(np.unique(np.concatenate(codes)), max(1, self.count))


class _Shelf:
    """
    The accesses of one kind, by the footprints with which they share a byte.

    A list holds the accesses that share a byte with a footprint. Footprints with the same neighbours have one list. The
    entries are sorted by list, and by time within a list.
    """

    def __init__(self, order: HappensBefore, overlaps: Overlaps, kind: Effect) -> None:
        self.order = order
        accesses = np.flatnonzero(order.kind == kind)
        by_footprint = accesses[np.argsort(order.footprint[accesses], kind="stable")]
        bounds = np.searchsorted(order.footprint[by_footprint], np.arange(overlaps.count + 1))
        sizes = np.diff(bounds)
        used = sizes[overlaps.second] > 0
        first, second = overlaps.first[used], overlaps.second[used]
        # Footprints with the same neighbours of this kind share a list.
        self.list_of = np.full(overlaps.count, -1)
        lists: dict[bytes, int] = {}
        members: list[IntArray] = []
        cuts = np.searchsorted(first, np.arange(overlaps.count + 1))
        for footprint in range(overlaps.count):
            own = second[cuts[footprint] : cuts[footprint + 1]]
            if len(own):
                number = self.list_of[footprint] = lists.setdefault(own.tobytes(), len(lists))
                if number == len(members):
                    members.append(own)
        self.list = np.repeat(np.arange(len(members)), [int(sizes[own].sum()) for own in members])
        entries = [by_footprint[bounds[one] : bounds[one + 1]] for own in members for one in own.tolist()]
        self.access = np.concatenate([np.zeros(0, np.int64), *entries])
        sorted_ = np.lexsort((_time_keys(order)[self.access], self.list))
        self.list, self.access = self.list[sorted_], self.access[sorted_]

    def races_with(self, writes: IntArray, warp: int, *, later: bool) -> list[IntArray]:
        """
        Return pairs (write, access of this kind in a warp) that race: the nearest earlier one, and if ``later`` holds
        the nearest later one.
        """
        order = self.order
        here = order.warp[self.access] == warp
        lists, access = self.list[here], self.access[here]
        wanted = self.list_of[order.footprint[writes]]
        writes, wanted = writes[wanted >= 0], wanted[wanted >= 0]

        def count(values: IntArray, bound: IntArray) -> IntArray:
            """Return how many entries lie in lists before the wanted one, or in it below a bound."""
            stride = int(max(values.max(initial=0), bound.max(initial=0))) + 1
            found: IntArray = np.searchsorted(lists * stride + values, wanted * stride + bound)
            return found

        # Of the accesses of a warp that share a byte, those before the write come first, and those after it last.
        unordered = count(order.end[access], order.known(writes, warp))
        after = count(order.begin[access], order.after(writes, warp))
        middle = count(_time_keys(order)[access], _time_keys(order)[writes])
        earlier = middle > unordered
        pairs = [np.stack([writes[earlier], access[middle[earlier] - 1]])]
        if later:
            behind = middle < after
            pairs.append(np.stack([writes[behind], access[middle[behind]]]))
        return pairs
