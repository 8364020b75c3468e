"""What a program decides of shared memory is decided once, and holds for every later batch of CTAs."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpusim.functional.shared_memory import SharedMemory
from gpusim.functional.visibility import LONGEST_RUN, Visibility, longest_runs

WARPS, THREADS = 2, 64
MINE = np.arange(THREADS)[:, None]
SWAPPED = MINE[::-1]
VALUES = np.arange(THREADS, dtype=np.float32)[None, :, None]


def exchanged(memory, values):
    """What the threads load of each other's values before and after a barrier, and whether a store came too early."""
    shared = memory.allocate("x", len(values), THREADS, WARPS)
    early = shared.store(MINE, values)
    before = shared.load(SWAPPED)
    shared.barrier()
    after = shared.load(SWAPPED)
    return early, before, after, shared.store(MINE, values)


def test_a_later_batch_is_told_what_the_first_was():
    memory = SharedMemory()
    for values in (VALUES, np.concatenate([VALUES + 100, VALUES + 200])):
        early, before, after, late = exchanged(memory, values)
        assert (early, late) == (False, True)
        assert np.isnan(before).all()
        assert np.array_equal(after, values[:, ::-1])


def test_a_batch_that_goes_another_way_is_refused():
    memory = SharedMemory()
    exchanged(memory, VALUES)
    with pytest.raises(ValueError, match="accesses shared memory otherwise"):
        memory.allocate("x", 1, THREADS, WARPS).store(MINE[:32], VALUES[:, :32])


def test_a_barrier_shows_nothing_that_was_never_written_or_is_in_flight():
    visibility = Visibility(THREADS, WARPS)
    visibility.store(MINE)
    visibility.invalidate(MINE[:32])
    visibility.barrier()
    hidden = visibility.load(MINE).hidden
    assert np.array_equal(hidden[:, 0], np.arange(THREADS) < 32)


class DecidedAnew(Visibility):
    """One that knows nothing of earlier turns of a loop."""

    def _decide(self, decide, offsets):
        return decide(offsets)

    def barrier(self):
        self._writer[self._writer >= -2] = -1  # everyone's, but what was never written (-3)
        self._readers[:] = False


KINDS = ("invalidate", "store", "atomic", "load", "barrier")
PLACES = (
    np.arange(4).reshape(2, 2),
    np.arange(4)[::-1].reshape(2, 2),
    np.arange(2, 6).reshape(2, 2),
    np.array([[0], [5]]),
)


@given(
    turns=st.lists(st.lists(st.tuples(st.sampled_from(KINDS), st.integers(0, 3)), max_size=5), min_size=1, max_size=3),
    order=st.lists(st.integers(0, 2), min_size=1, max_size=12),
)
@settings(deadline=None, max_examples=300)
def test_turns_of_a_loop_are_answered_as_if_each_were_the_first(turns, order):
    """Up to three different turns, in any order and as often as they come, of two warps on six elements."""
    known, anew = Visibility(6, 2), DecidedAnew(6, 2)
    for turn in order:
        for kind, place in turns[turn % len(turns)]:
            if kind == "barrier":
                known.barrier()
                anew.barrier()
                continue
            answer, expected = (getattr(one, kind)(PLACES[place]) for one in (known, anew))
            assert answer.overwrites == expected.overwrites
            assert (answer.hidden is None) == (expected.hidden is None)
            assert answer.hidden is None or np.array_equal(answer.hidden, expected.hidden)


def test_a_loop_decides_as_often_as_its_ring_turns():
    """
    A store and a load of one of three slots in turn, 300 turns.

    With no slot written a store is decided, with one and with two a load and a store, with all three of each: 11.
    """
    visibility, slots = Visibility(6, 2), [np.array([[slot], [slot + 3]]) for slot in range(3)]
    answers = []
    for turn in range(300):
        answers.append(visibility.store(slots[turn % 3]))
        visibility.barrier()
        answers.append(visibility.load(slots[turn % 3][::-1]))
        visibility.barrier()

    assert len(set(map(id, answers))) == 1 + 2 + 2 + 6


@pytest.mark.parametrize(
    ("offsets", "width"),
    [
        (np.arange(64).reshape(2, 32), 16),
        (np.arange(64).reshape(8, 8), 8),
        (np.arange(64).reshape(2, 32) + 8, 8),
        (np.arange(64).reshape(2, 32)[:, ::-1], 1),
        (np.arange(64).reshape(2, 16, 2)[:, ::-1].reshape(2, 32), 2),
        (np.arange(6).reshape(2, 3), 1),
    ],
    ids=["whole", "rows of 8", "off by half a run", "backwards", "pairs", "odd"],
)
def test_runs_are_as_long_as_they_can_be_and_cover_the_offsets_in_order(offsets, width):
    runs = longest_runs(offsets)
    elements = runs.index[:, None] * runs.width + np.arange(runs.width)
    assert runs.width == width <= LONGEST_RUN
    assert np.array_equal(elements.reshape(-1), offsets.reshape(-1))
