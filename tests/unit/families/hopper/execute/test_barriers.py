"""An mbarrier's phases are PTX's, and a wait tells a role what those who arrived knew."""

import numpy as np

from gpusim.families.hopper.execute.barriers import MbarrierState, Meeting
from gpusim.families.hopper.program.ops import Mbarrier

PHASES, PRODUCER, CONSUMER = 2, 0, 1


def barrier(count):
    state = MbarrierState(Mbarrier("full", 0), PHASES, 3)
    state.initialise(count)
    return state


def clock(**known):
    made = np.zeros(3, np.int32)
    for name, value in known.items():
        made[{"producer": PRODUCER, "consumer": CONSUMER, "phases": PHASES}[name]] = value
    return made


def test_a_new_barrier_satisfies_a_wait_for_parity_1_and_one_without_a_count_none():
    assert [barrier(1).passes(parity) for parity in (0, 1)] == [False, True]
    assert [barrier(0).passes(parity) for parity in (0, 1)] == [False, False]


def test_a_phase_needs_all_arrivals_and_all_bytes():
    """
    Two arrivals and 96 bytes, in any order: 32 of them come before they are expected.
    """
    state = barrier(2)
    log = []
    for step in (
        lambda: state.bring(32),
        lambda: state.expect(96),
        lambda: state.arrive(PRODUCER, 1, clock()),
        lambda: state.bring(64),
        lambda: state.arrive(PRODUCER, 1, clock()),
    ):
        step()
        log.append((state.phase, state.pending, state.bytes))

    assert log == [(0, 2, -32), (0, 2, 64), (0, 1, 64), (0, 1, 0), (1, 2, 0)]
    assert (state.expected[0], state.brought[0]) == (96, 96)
    assert [state.passes(parity) for parity in (0, 1)] == [True, False]


def test_arrivals_beyond_a_phase_begin_the_next_one():
    state = barrier(2)
    state.arrive(PRODUCER, 3, clock())

    assert (state.phase, state.pending) == (1, 1)


def test_arrivals_while_only_bytes_are_missing_are_too_many():
    state = barrier(1)
    state.expect(16)
    state.arrive(PRODUCER, 1, clock())
    assert not state.surplus

    state.arrive(PRODUCER, 1, clock())

    assert state.surplus


def test_a_wait_tells_what_the_arrivals_of_its_phase_knew():
    state, waiter = barrier(1), clock()
    state.arrive(PRODUCER, 1, clock(producer=5))
    state.arrive(PRODUCER, 1, clock(producer=7))
    state.passed(0, waiter, CONSUMER, 1)

    assert waiter.tolist() == clock(producer=5, phases=1).tolist()


def test_a_wait_tells_the_least_that_its_parity_says():
    """Parity 1 holds before any phase is complete; so the wait tells nothing, though two phases are complete."""
    state, waiter = barrier(1), clock()
    for known in (5, 7):
        state.arrive(PRODUCER, 1, clock(producer=known))
    state.passed(1, waiter, CONSUMER, 1)

    assert waiter.tolist() == clock().tolist()
    assert state.lapped == {CONSUMER: (1, 0)}


def test_a_phase_that_does_not_know_a_wait_may_overtake_it():
    known, unknown = barrier(1), barrier(1)
    for state in (known, unknown):
        state.passed(1, clock(), CONSUMER, 4)
    known.arrive(PRODUCER, 1, clock(consumer=4))
    unknown.arrive(PRODUCER, 1, clock(consumer=3))

    assert known.lapped == {}
    assert unknown.lapped == {CONSUMER: (1, 0)}


def test_threads_that_only_partly_arrive_in_a_phase_tell_nothing():
    state, waiter = barrier(3), clock()
    state.arrive(PRODUCER, 2, clock(producer=1))
    state.arrive(CONSUMER, 2, clock(consumer=1))
    state.passed(0, waiter, CONSUMER, 1)

    assert waiter.tolist() == clock(producer=1, phases=1).tolist()


def test_roles_that_meet_know_what_all_knew():
    meeting = Meeting("named barrier 1", 3)
    first, second = clock(producer=3), clock(consumer=4)
    joined = meeting.arrive(PRODUCER, 128, 256, first)
    assert not meeting.passed(joined, first)

    assert meeting.passed(meeting.arrive(CONSUMER, 128, 256, second), second)

    assert meeting.passed(joined, first)
    assert first.tolist() == second.tolist() == [3, 4, 0]
