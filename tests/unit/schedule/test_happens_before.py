"""The happens-before order: vector clocks say what reachability over the graph of events says, for any programs."""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from gpusim.errors import BadInput
from gpusim.schedule.happens_before import NEVER_COMPLETE, EarlyArrival, StuckWarp, happens_before
from gpusim.schedule.warp_events import (
    Arrive,
    AwaitCopies,
    AwaitPhase,
    CommitCopies,
    Effect,
    MemoryAccess,
    Sync,
)

READ, WRITE, COPY, _ = (MemoryAccess(kind, 0) for kind in Effect)
COMMIT, LANDED, SYNC = CommitCopies(), AwaitCopies(0), Sync(0)

events = st.one_of(
    st.sampled_from([READ, WRITE, COPY, COMMIT, LANDED, AwaitCopies(1), SYNC]),
    st.builds(Arrive, st.just(1), st.just(1)),
    st.builds(AwaitPhase, st.integers(1, 2)),
    st.builds(Arrive, st.just(2), st.just(2)),
    st.builds(Sync, st.just(2), st.just(2)),
)
programs = st.lists(st.lists(events, max_size=8), min_size=1, max_size=4)


def ordered(order, first, second):
    """Whether the access at an event (warp, position) precedes that at another."""
    numbers = {
        (warp, at): number
        for number, (warp, at) in enumerate(zip(order.warp.tolist(), order.begin.tolist(), strict=True))
    }
    return bool(order.precedes(np.array([numbers[first]]), np.array([numbers[second]]))[0])


def interleaved(warps, draw):
    """
    Run the warps in a random interleaving.

    Returns:
        For each event at a barrier the phase in which it has arrived and the phase for which it has waited, each with
        the barrier, or None. And the events of each warp that have happened.
    """
    at, phases = [0] * len(warps), {}
    complete, arrived, awaited = {}, {}, {}
    inside = [False] * len(warps)
    while True:
        able = []
        for warp, program in enumerate(warps):
            if at[warp] == len(program):
                continue
            event = program[at[warp]]
            waits = isinstance(event, AwaitPhase) or inside[warp]
            if not waits or awaited.get((warp, event.barrier), 0) < complete.get(event.barrier, 0):
                able.append(warp)
        if not able:
            return phases, at
        warp = draw.choice(able)
        event, key = warps[warp][at[warp]], (warp, at[warp])
        if isinstance(event, Arrive | Sync) and not inside[warp]:
            phase = complete.get(event.barrier, 0)
            awaited[warp, event.barrier] = phase
            phases[key] = (event.barrier, phase), None
            arrived[event.barrier] = arrived.get(event.barrier, 0) + 1
            if arrived[event.barrier] == (event.expected or len(warps)):
                complete[event.barrier], arrived[event.barrier] = phase + 1, 0
            inside[warp] = isinstance(event, Sync)
        elif isinstance(event, AwaitPhase | Sync):
            phase = awaited.get((warp, event.barrier), 0)
            awaited[warp, event.barrier] = phase + 1
            phases[key] = phases.get(key, (None,))[0], (event.barrier, phase)
            inside[warp] = False
        at[warp] += not inside[warp]


def edges_of(warp, events):
    """
    Yield the edges between the events of a warp.

    An access has two nodes: its issue, which is in program order, and its end. That of a copy is after its issue alone.
    """
    open_group, groups = [], []
    for position, event in enumerate(events):
        issue, done, following = ("issue", warp, position), ("done", warp, position), ("issue", warp, position + 1)
        yield issue, following
        if isinstance(event, MemoryAccess):
            yield issue, done
        if isinstance(event, MemoryAccess) and event != COPY:
            yield done, following
        if event == COPY:
            open_group.append(done)
        elif isinstance(event, CommitCopies):
            groups.append(open_group)
            open_group = []
        elif isinstance(event, AwaitCopies):
            covered = groups[: max(0, len(groups) - event.pending)]
            yield from ((copy, following) for group in covered for copy in group)


def reachable(warps, phases):
    """Return the accesses (warp, position), and the pairs of them of which the second can be reached from the first."""
    edges = [edge for warp, events in enumerate(warps) for edge in edges_of(warp, events)]
    for (one, at), (arrives, _) in phases.items():
        for (other, behind), (_, awaits) in phases.items():
            if arrives is not None and arrives == awaits:
                edges.append((("issue", one, at), ("issue", other, behind + 1)))
    after = {}
    for one, other in edges:
        after.setdefault(one, []).append(other)
    accesses = [
        (warp, position)
        for warp, events in enumerate(warps)
        for position, event in enumerate(events)
        if isinstance(event, MemoryAccess)
    ]
    pairs = set()
    for access in accesses:
        seen, todo = set(), [("done", *access)]
        while todo:
            new = [node for node in after.get(todo.pop(), []) if node not in seen]
            seen.update(new)
            todo += new
        pairs |= {(access, other) for other in accesses if ("issue", *other) in seen}
    return accesses, pairs


@settings(max_examples=300)
@given(programs, st.randoms(use_true_random=False))
def test_vector_clocks_say_what_reachability_says(warps, draw):
    """The graph has the phases of a random interleaving. They are those of all, unless an arrival may come early."""
    order = happens_before(warps)
    assume(not order.early)
    phases, happened = interleaved(warps, draw)
    accesses, pairs = reachable([program[:count] for program, count in zip(warps, happened, strict=True)], phases)

    assert list(zip(order.warp.tolist(), order.begin.tolist(), strict=True)) == accesses
    count = len(accesses)
    first, second = np.divmod(np.arange(count * count), max(1, count))
    found = order.precedes(first, second).tolist()
    assert {(accesses[a], accesses[b]) for a, b, one in zip(first, second, found, strict=True) if one} == pairs


@given(programs)
def test_lamport_times_agree_with_the_order(warps):
    order = happens_before(warps)
    count = len(order.begin)
    first, second = np.divmod(np.arange(count * count), max(1, count))
    before = order.precedes(first, second)

    assert (order.time[first] < order.time[second])[before].all()


@given(programs)
def test_what_comes_after_an_access_in_a_warp_are_all_events_from_a_position_on(warps):
    order = happens_before(warps)
    every = np.arange(len(order.begin))
    for warp in range(order.warps):
        others = np.flatnonzero(order.warp == warp)
        after = order.begin[others] >= order.after(every, warp)[:, None]
        known = order.end[others] < order.known(every, warp)[:, None]

        assert (after == order.precedes(every[:, None], others)).all()
        assert (known == order.precedes(others, every[:, None])).all()


def test_a_barrier_orders_what_lies_before_it_with_what_lies_behind_it():
    order = happens_before([[WRITE, SYNC, WRITE], [READ, SYNC, READ]])

    assert ordered(order, (0, 0), (1, 2))
    assert ordered(order, (1, 0), (0, 2))
    assert not ordered(order, (0, 0), (1, 0))
    assert not ordered(order, (0, 2), (1, 2))


def test_an_arrival_does_not_wait():
    """The producer's second write is ordered with nothing that the consumer does."""
    order = happens_before([[WRITE, Arrive(1, 2), WRITE], [READ, Sync(1, 2), READ]])

    assert ordered(order, (0, 0), (1, 2))
    assert not ordered(order, (1, 0), (0, 2))
    assert not ordered(order, (0, 2), (1, 2))


def test_warps_of_two_roles_hand_a_buffer_to_and_fro():
    """Full is barrier 1, empty barrier 2. The producer refills the buffer when the consumer has read it."""
    full, empty = Sync(1, 2), Sync(2, 2)
    producer = [WRITE, Arrive(1, 2), empty, WRITE, Arrive(1, 2)]
    consumer = [full, READ, Arrive(2, 2), full, READ]
    order = happens_before([producer, consumer])

    assert ordered(order, (0, 0), (1, 1))
    assert ordered(order, (1, 1), (0, 3))
    assert ordered(order, (0, 3), (1, 4))
    assert order.early == order.stuck == ()


def test_a_copy_is_complete_at_the_first_wait_that_covers_its_group():
    """Two groups: a wait that leaves one in flight covers the first, a wait that leaves none the second."""
    order = happens_before([[COPY, COMMIT, COPY, COMMIT, AwaitCopies(1), READ, AwaitCopies(0), READ, COPY]])

    assert order.end.tolist() == [4, 6, 5, 7, NEVER_COMPLETE]
    assert ordered(order, (0, 0), (0, 5))
    assert not ordered(order, (0, 2), (0, 5))
    assert not ordered(order, (0, 0), (0, 2))
    assert ordered(order, (0, 2), (0, 7))


def test_a_wait_covers_the_copies_of_its_own_warp_alone():
    order = happens_before([[COPY, COMMIT, SYNC, LANDED, READ], [COPY, COMMIT, SYNC, LANDED, READ]])

    assert ordered(order, (0, 0), (0, 4))
    assert not ordered(order, (0, 0), (1, 4))


def test_a_wait_without_an_arrival_is_for_one_phase_after_the_other():
    order = happens_before([[WRITE, Arrive(1, 1), WRITE, Arrive(1, 1)], [AwaitPhase(1), READ, AwaitPhase(1), READ]])

    assert [ordered(order, (0, at), (1, 1)) for at in (0, 2)] == [True, False]
    assert [ordered(order, (0, at), (1, 3)) for at in (0, 2)] == [True, True]


def test_an_arrival_that_nothing_orders_after_the_phase_before_may_come_early():
    """Three warps arrive at a barrier of two. Which two complete its phase, no program says."""
    order = happens_before([[Arrive(1, 2)], [Arrive(1, 2)], [Arrive(1, 2)]])

    assert order.early == (EarlyArrival(warp=2, position=0, barrier=1, phase=1),)


def test_a_warp_that_waits_forever_is_named_and_goes_no_further():
    order = happens_before([[WRITE, Sync(3, 2), READ], [READ]])

    assert order.stuck == (StuckWarp(warp=0, position=1, barrier=3, arrived=1, expected=2),)
    assert order.kind.tolist() == [Effect.WRITE, Effect.READ]


def test_a_wait_behind_an_endless_one_covers_nothing():
    order = happens_before([[COPY, COMMIT, Sync(0, 2), LANDED]])

    assert order.end.tolist() == [NEVER_COMPLETE]


def test_arrivals_of_a_phase_that_expect_different_numbers_are_refused():
    with pytest.raises(BadInput) as refused:
        happens_before([[Sync(1, 2)], [Sync(1, 3)]])

    assert str(refused.value) == (
        "barrier 1 must expect as many warps at each arrival of a phase: warp 1 expects 3, others 2"
    )


def test_without_a_warp_there_is_no_access():
    assert len(happens_before([[]]).begin) == 0
