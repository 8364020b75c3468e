"""The walk of a grid's CTAs through the L2 at the times at which a sample says that they run."""

from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpusim.sim.cta_scheduler import CtaLife
from gpusim.sim.timed_kernel import Touched
from gpusim.sim.timed_walk import bytes_missed, progress_of_chip

TURNS, SIZE = 8, 100


def kernel_of(keys, capacity, *, stored=0, touched=None):
    """CTAs that fetch a tile each, named by a key: eight fetches of 100 bytes, or parts of 32 of a granule."""

    def parts(_tensor, asked, _begin, _end):
        none, masks = np.zeros(len(asked), dtype=np.int64), np.array([touched[key] for key in asked])
        return Touched(len(asked), none, np.arange(len(asked)), none, masks, none + 32)

    return SimpleNamespace(
        machine=SimpleNamespace(l2=SimpleNamespace(bytes=2 * capacity, partitions=2)),
        launched=range(len(keys)),
        walked=lambda cta: (keys[cta],),
        own_bytes=lambda _tensor, _key: None if touched else np.full(TURNS, SIZE, dtype=np.int64),
        stored_bytes=stored * len(keys),
        granules=lambda _tensor: 1,
        turns=lambda _tensor, _key: 1,
        most_granules=lambda _tensor: 1,
        touched=parts,
    )


def lives(*spans):
    """CTAs of one SM each: (sm, launched, finished)."""
    return [CtaLife(cta, *span) for cta, span in enumerate(spans)]


def test_each_sm_of_the_chip_does_what_one_of_the_sample_does():
    """Two SMs for four: the first and third run a CTA for 10 cycles and one for 20, the others one for 30."""
    progress = progress_of_chip(lives((0, 0, 10), (1, 0, 30), (0, 10, 30)), 4, 6)

    assert [(one.at[0], one.at[-1]) for one in progress] == [(0, 10), (0, 30), (0, 10), (0, 30), (10, 30), (10, 30)]


def test_the_older_of_two_ctas_comes_along_faster():
    """
    CTAs of 100 cycles begin 50 behind one another on an SM: each is the younger one first, and then the older.

    The first is alone for 50 cycles and the last, too. If r is a young one's rate and R an old one's, the first does
    100 R = 1, so R = .01; the second 50 r + 50 R = 1, so r = .01: no faster. With 90 cycles for the first one,
    R = 1 / 90, and 50 - 10 = 40 cycles as the younger leave 60 as the older: 40 r = 1 - 60 / 90, r = 1 / 120.
    """
    first, second = progress_of_chip(lives((0, 0, 90), (0, 50, 150)), 1, 2)

    assert first.done[-1] == second.done[-1] == 1
    assert np.interp(90, second.at, second.done) == pytest.approx(40 / 120)


def test_ctas_that_keep_step_bring_their_data_once():
    progress = progress_of_chip(lives((0, 0, 80), (1, 0, 80)), 2, 2)

    assert bytes_missed(kernel_of("aa", 3 * SIZE), progress) == [TURNS * SIZE]


def test_ctas_that_run_one_behind_the_other_bring_it_twice_where_it_does_not_stay():
    """Half of a tile is between two uses of the same data: 400 bytes, and 100 more for themselves."""
    progress = progress_of_chip(lives((0, 0, 80), (1, 40, 120)), 2, 2)

    assert bytes_missed(kernel_of("aa", 8 * SIZE), progress, (100, 30)) == [8 * SIZE, 16 * SIZE]


def test_what_is_stored_takes_room():
    """The tile of 800 bytes stays in 1000 for the CTA that comes next, unless the first one has stored 800."""
    progress = progress_of_chip(lives((0, 0, 80), (0, 80, 160)), 1, 2)

    assert bytes_missed(kernel_of("aa", 1000), progress) == [8 * SIZE]
    assert bytes_missed(kernel_of("aa", 1000, stored=800), progress) == [16 * SIZE]


def test_parts_of_a_granule_are_brought_once():
    """The first tile touches parts 0 and 1 of a granule, the other one 1 and 2: three parts of 32 bytes."""
    touched = {"a": 0b011, "b": 0b110}
    progress = progress_of_chip(lives((0, 0, 80), (1, 0, 80)), 2, 2)

    assert bytes_missed(kernel_of("ab", 1000, touched=touched), progress) == [3 * 32]


SPANS = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 500), st.integers(1, 300)), min_size=1, max_size=12)


@given(SPANS, st.lists(st.sampled_from("abcd"), min_size=12, max_size=12), st.integers(100, 4000))
def test_all_data_is_brought_at_least_once_and_at_most_as_often_as_it_is_asked_for(spans, keys, capacity):
    """And no more of it with more room: what a smaller cache holds of the last used data, a larger one holds, too."""
    ctas = len(spans)
    sample = [CtaLife(cta, sm, begin, begin + cycles) for cta, (sm, begin, cycles) in enumerate(spans)]
    progress = progress_of_chip(sample, 4, ctas)

    much, little = bytes_missed(kernel_of(keys[:ctas], capacity), progress, (100, 50))

    assert len(set(keys[:ctas])) * TURNS * SIZE <= much <= little <= ctas * TURNS * SIZE
