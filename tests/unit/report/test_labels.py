"""Boxes that may be turned, and which of some places is free of others."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpusim.report.labels import Box, freest, text_size

LENGTHS = st.floats(0.1, 3.0)
BOXES = st.builds(Box, st.floats(-2, 2), st.floats(-2, 2), LENGTHS, LENGTHS, st.floats(-180, 180))


@pytest.mark.parametrize(
    ("other", "depth"),
    [
        (Box(1.5, 0, 2, 2), 0.5),
        (Box(2, 0, 2, 2), 0.0),
        (Box(3, 0, 2, 2), -1.0),
        (Box(1 + math.sqrt(0.5), 0, 1, 1, 45), 0.0),
    ],
    ids=["half an inch in", "beside", "an inch off", "a corner touches"],
)
def test_how_far_a_box_of_two_inches_reaches_into_another(other, depth):
    assert Box(0, 0, 2, 2).depth(other) == pytest.approx(depth, abs=1e-9)


@given(BOXES, BOXES)
def test_boxes_reach_into_one_another_equally_far(one, other):
    assert one.depth(other) == pytest.approx(other.depth(one), abs=1e-9)


@given(BOXES, BOXES)
def test_boxes_that_are_apart_have_no_corner_within_each_other(one, other):
    if one.depth(other) < 0:
        for x, y in one.corners():
            assert Box(x, y, 0, 0).depth(other) < 1e-9


def test_the_first_free_place_is_taken_else_the_one_that_meets_least():
    taken = [Box(0, 0, 2, 2)]

    assert freest([Box(0, 0, 1, 1), Box(3, 0, 1, 1), Box(5, 0, 1, 1)], taken) == 1
    assert freest([Box(0, 0, 1, 1), Box(1, 0, 1, 1), Box(0.5, 0, 1, 1)], taken) == 1


def test_a_text_is_as_wide_as_its_letters():
    """Ten digits are ten times as wide as one, but for what the first and the last one leave free."""
    one, ten = (text_size("0" * count, 72)[0] for count in (1, 10))

    assert ten == pytest.approx(10 * one, rel=0.25)
    assert text_size("0", 36)[1] == 0.5
