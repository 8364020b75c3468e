"""Paths as segments: straight runs with their trips, and an exit of their own at the end."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpusim.own.paths import Paths, leaders_of, segments_of, stretches_of

LAST = np.array([-1, -1, -1, -1, -1, 6, 7])
"""Of a text of seven instructions, whose instructions 5 and 6 are exits."""


def segments(*executed):
    return [tuple(column.tolist()) for column in segments_of(np.array(executed), LAST)]


def unfolded(first, end, trips):
    """The entries of segments, one after another."""
    runs = zip(first, end, trips, strict=True)
    return [entry for begin, stop, times in runs for _ in range(times) for entry in range(begin, stop)]


def test_a_loop_is_one_segment_with_its_trips():
    """0 and 1, three times 2 to 4, then the exit 5, whose entry as a last instruction is 6."""
    assert segments(0, 1, 2, 3, 4, 2, 3, 4, 2, 3, 4, 5) == [(0, 2, 6), (5, 5, 7), (1, 2, 1)]


def test_a_jump_forward_begins_a_segment():
    assert segments(0, 3, 4, 6) == [(0, 3, 7), (1, 5, 8), (1, 1, 1)]


def test_a_path_of_one_exit_is_its_last_entry():
    assert segments(5) == [(6,), (7,), (1,)]


def test_an_exit_before_the_last_instruction_is_an_instruction_of_the_run():
    """Some lanes leave at 5; the others leave at 6."""
    assert unfolded(*segments(4, 5, 6)) == [4, 5, 7]


@given(st.lists(st.integers(0, 6), max_size=40), st.sampled_from([5, 6]))
def test_segments_unfold_to_the_path(body, leaves):
    assert unfolded(*segments(*body, leaves)) == [*body, LAST[leaves]]


def test_equal_paths_share_their_segments():
    paths = Paths(LAST)
    numbers = [paths.add(np.array(path)) for path in ((0, 1, 5), (0, 5), (0, 1, 5))]

    assert numbers == [0, 1, 0]
    assert paths.begins == [0, 2]
    parts = [(paths.first[own], paths.end[own], paths.trips[own]) for own in (slice(2), slice(2, None))]
    assert [len(unfolded(*part)) for part in parts] == [3, 2]
    assert paths.program(numbers) == [0, 2, 0]
    assert paths.first.tolist() == [0, 6, 0, 6]


def test_jumps_lead_to_the_beginnings_of_segments():
    assert leaders_of(np.array([0, 2, 2, 6])) == {0, 2, 6}


@pytest.mark.parametrize(
    ("first", "end", "stretches"),
    [
        ([0, 5], [5, 6], ((0, 5), (5, 6))),
        ([0, 2, 6], [4, 5, 7], ((0, 2), (2, 4), (4, 5), (5, 6), (6, 7), (7, 8))),
    ],
    ids=["one path", "paths that overlap"],
)
def test_no_segment_begins_or_ends_within_a_stretch(first, end, stretches):
    assert stretches_of(np.array(first), np.array(end), stretches[-1][1]) == stretches
