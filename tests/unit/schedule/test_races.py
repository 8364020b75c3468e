"""Races: each pair that is found races, and so does nothing if nothing is found; brute force says which pairs race."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from gpusim.schedule.happens_before import happens_before
from gpusim.schedule.races import Overlaps, find_races
from gpusim.schedule.warp_events import Arrive, AwaitCopies, CommitCopies, Effect, MemoryAccess, Sync

READ, WRITE, COPY, ATOMIC = Effect
SYNC = Sync(0)

FOOTPRINTS = [np.array(addresses) for addresses in ([0, 1], [1, 2], [3], [0, 3], [])]

events = st.one_of(
    st.builds(MemoryAccess, st.sampled_from(Effect), st.integers(0, len(FOOTPRINTS) - 1)),
    st.sampled_from([CommitCopies(), AwaitCopies(0), AwaitCopies(1), SYNC, Arrive(1, 1)]),
)
programs = st.lists(st.lists(events, max_size=10), min_size=1, max_size=3)


def races_of(*warps):
    """The races as pairs of events (warp, position)."""
    order = happens_before(warps)
    event = list(zip(order.warp.tolist(), order.begin.tolist(), strict=True))
    found = find_races(order, Overlaps(FOOTPRINTS))
    return [(event[one], event[other]) for one, other in zip(found.first.tolist(), found.second.tolist(), strict=True)]


def by_brute_force(order):
    """All pairs of accesses that share a byte, one of them written, neither before the other."""
    count = len(order.begin)
    first, second = np.divmod(np.arange(count * count), max(1, count))
    before = order.precedes(first, second).reshape(count, count)
    touched = [set(FOOTPRINTS[footprint].tolist()) for footprint in order.footprint.tolist()]
    return {
        (one, other)
        for one in range(count)
        for other in range(one)
        if not before[one, other]
        and not before[other, one]
        and touched[one] & touched[other]
        and {order.kind[one], order.kind[other]} not in ({READ}, {ATOMIC})
    }


@given(programs)
def test_the_races_are_those_of_brute_force(warps):
    """Of many that one write has with reads or writes, the nearest are found."""
    order = happens_before(warps)
    found = find_races(order, Overlaps(FOOTPRINTS))
    pairs = {(max(pair), min(pair)) for pair in zip(found.first.tolist(), found.second.tolist(), strict=True)}
    every = by_brute_force(order)

    assert len(found.first) == len(pairs)
    assert pairs <= every
    assert bool(pairs) == bool(every)
    with_reads = [pair for pair in every if READ in order.kind[list(pair)]]
    racing = {access for pair in pairs for access in pair}
    assert {access for pair in with_reads for access in pair if order.kind[access] != READ} <= racing


@given(programs)
def test_accesses_of_one_warp_race_only_with_copies_in_flight(warps):
    order = happens_before(warps)
    for pair in np.stack(find_races(order, Overlaps(FOOTPRINTS)), axis=1):
        assert order.warp[pair[0]] != order.warp[pair[1]] or COPY in order.kind[pair]


def test_two_warps_that_write_a_byte_race():
    assert races_of([MemoryAccess(WRITE, 0)], [MemoryAccess(WRITE, 1)]) == [((0, 0), (1, 0))]


def test_two_warps_that_read_a_byte_do_not():
    assert races_of([MemoryAccess(READ, 0)], [MemoryAccess(READ, 1)]) == []


def test_atomic_operations_race_with_all_but_each_other():
    atomic = MemoryAccess(ATOMIC, 0)

    assert races_of([atomic], [atomic]) == []
    for kind in (READ, WRITE, COPY):
        assert races_of([atomic], [MemoryAccess(kind, 0)]) == [((0, 0), (1, 0))]


def test_accesses_without_a_common_byte_do_not_race():
    assert races_of([MemoryAccess(WRITE, 0)], [MemoryAccess(WRITE, 2)]) == []


def test_a_copy_races_with_what_its_own_warp_reads_before_the_wait():
    copy, read = MemoryAccess(COPY, 2), MemoryAccess(READ, 2)

    assert races_of([copy, CommitCopies(), read, AwaitCopies(0), read]) == [((0, 0), (0, 2))]


def test_a_write_names_the_nearest_reads_on_either_side():
    """The reads of warp 1 are at 0, 1, 3 and 4 of its time, the write of warp 0 is at 2."""
    read, other = MemoryAccess(READ, 0), MemoryAccess(READ, 2)
    found = races_of([other, other, MemoryAccess(WRITE, 0)], [read, read, other, read, read])

    assert found == [((1, 1), (0, 2)), ((0, 2), (1, 3))]


def test_a_buffer_that_is_handed_over_without_a_way_back_is_overwritten():
    """The producer arrives and goes on: its second write races with the consumer's read of the first."""
    write, read = MemoryAccess(WRITE, 0), MemoryAccess(READ, 0)

    assert races_of([write, Arrive(1, 2), write], [Sync(1, 2), read]) == [((0, 2), (1, 1))]
    assert races_of([write, Arrive(1, 2), Sync(2, 2), write], [Sync(1, 2), read, Arrive(2, 2)]) == []
