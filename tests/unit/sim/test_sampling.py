"""The CTAs of a sampled run: a smaller chip's, in the grid's proportions."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpusim.sim.sampling import LEAST_SMS, hangs_on_a_few, take_sample

SMS = 132


def sample_of(kinds, *, slots=2, instructions=100_000_000, is_even=True):
    return take_sample(kinds, working=min(SMS, len(kinds)), slots=slots, instructions=instructions, is_even=is_even)


def test_a_large_grid_is_sampled_on_few_sms_in_its_waves():
    """1024 CTAs on 132 SMs are 7 rounds and 100 CTAs; four SMs of 33 take 4 of each round, and 3 of the rest."""
    sample = sample_of(["gemm"] * 1024)

    assert (sample.sms, sample.share) == (LEAST_SMS, 33)
    assert Counter(cta // SMS for cta in sample.ctas) == {**dict.fromkeys(range(7), 4), 7: 3}
    assert sample.ctas[:4] == (16, 49, 82, 115)


def test_left_over_ctas_are_sampled_as_many_as_an_sm_takes_at_once():
    """24 CTAs beyond a wave of 264: on eleven SMs, two of them."""
    sample = sample_of(["gemm"] * 288)

    assert sample.sms >= 11
    assert sum(cta >= 2 * SMS for cta in sample.ctas) >= 2


@pytest.mark.parametrize(
    ("ctas", "expected"),
    [
        *((132, False), (133, True), (198, True), (199, False)),
        *((264, False), (265, True), (396, True), (397, False)),
        *((3 * 264 + 132, True), (3 * 264 + 133, False), (4 * 264, False), (4 * 264 + 1, False)),
    ],
)
def test_a_launch_hangs_on_a_few_left_over_ctas(ctas, expected):
    """Two on each SM: one more than one on each, up to half of the SMs; beyond a wave up to one on each SM."""
    assert hangs_on_a_few(ctas, working=SMS, slots=2) == expected


@pytest.mark.parametrize(
    ("ctas", "expected"), [(540, True), (648, False), (325, True), (324, False), (324 + 217, False)]
)
def test_with_three_ctas_a_sm_they_are_those_that_leave_room_for_one_on_each(ctas, expected):
    """
    108 SMs, waves of 324. Of 540 CTAs 216 are left over: where an SM's three end together it takes three, and 72 SMs
    take all of them, while a sample gives each of its SMs two.
    """
    assert hangs_on_a_few(ctas, working=108, slots=3) == expected


@pytest.mark.parametrize(("ctas", "expected"), [(132 + 33, True), (132 + 34, False)])
def test_with_one_cta_a_sm_they_are_a_quarter_of_a_wave(ctas, expected):
    """No SM takes two of them: each has ended one CTA when they begin."""
    assert hangs_on_a_few(ctas, working=SMS, slots=1) == expected


@pytest.mark.parametrize(("ctas", "expected"), [(264, False), (265, True), (330, True), (331, False), (395, False)])
def test_below_a_wave_of_three_a_sm_they_are_those_beyond_two_on_each(ctas, expected):
    assert hangs_on_a_few(ctas, working=SMS, slots=3) == expected


def test_a_small_grid_is_sampled_on_some_of_the_sms_that_have_work():
    sample = sample_of(["gemm"] * 64, instructions=1_200_000)

    assert (sample.sms, sample.share, len(sample.ctas)) == (16, 4, 16)


def test_unequal_ctas_take_more_sms():
    even, uneven = (sample_of(["gemm"] * 1024, is_even=is_even) for is_even in (True, False))

    assert len(uneven.ctas) > len(even.ctas)


def test_kinds_are_sampled_in_proportion():
    """Each of 16 kinds in turn, 1056 CTAs: every kind a sixteenth of the sample."""
    sample = sample_of([cta % 16 for cta in range(1056)], instructions=17_000_000, is_even=False)

    assert {kind: 16 * count for kind, count in Counter(cta % 16 for cta in sample.ctas).items()} == dict.fromkeys(
        range(16), pytest.approx(len(sample.ctas), abs=32)
    )


def test_a_kind_that_is_a_quarter_of_the_grid_is_a_quarter_of_the_sample():
    """Four SMs of 132 take 4 CTAs of each of eight rounds, 32: every fourth CTA of the grid is of another kind."""
    sample = sample_of(["whole", "whole", "whole", "ragged"] * 264)

    assert Counter(("whole", "whole", "whole", "ragged")[cta % 4] for cta in sample.ctas) == {"whole": 24, "ragged": 8}


def test_a_grid_of_one_cta_is_simulated_whole():
    assert sample_of(["gemm"], instructions=100).ctas == (0,)


@given(ctas=st.integers(1, 3000), slots=st.integers(1, 8), cost=st.integers(1, 100_000), is_even=st.booleans())
def test_every_sample_is_of_the_grid_and_stands_for_all_of_it(ctas, slots, cost, is_even):
    sample = sample_of(["gemm"] * ctas, slots=slots, instructions=ctas * cost, is_even=is_even)
    working = min(SMS, ctas)

    assert 1 <= sample.sms <= working
    assert sorted(set(sample.ctas)) == list(sample.ctas)
    assert set(sample.ctas) <= set(range(ctas))
    assert sample.sms <= len(sample.ctas)
    assert abs(sample.sms * sample.share - working) <= 0.02 * working


def test_slices_that_wait_for_each_other_are_taken_together():
    """Four tiles of two slices: CTA 4 + t waits for CTA t."""
    sample = take_sample(
        ["gemm"] * 8, working=8, slots=2, instructions=100_000_000, is_even=True, first=[0, 1, 2, 3, 0, 1, 2, 3]
    )

    assert len(sample.ctas) == sample.sms
    assert {cta for cta in sample.ctas if cta < 4} == {cta - 4 for cta in sample.ctas if cta >= 4}
