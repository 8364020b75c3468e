"""Slices as lanes that overlap nowhere, and counts of what is open."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from gpusim.report.span_lanes import Slice, lanes, open_counts


@given(st.lists(st.tuples(st.integers(0, 60), st.integers(0, 20)), max_size=40))
def test_lanes_keep_every_slice_and_overlap_nowhere(spans):
    pieces = [Slice(begin, begin + length, str(number)) for number, (begin, length) in enumerate(spans)]

    spread = lanes(pieces)

    assert sorted(piece.name for lane in spread for piece in lane) == sorted(piece.name for piece in pieces)
    for lane in spread:
        assert all(before.end <= after.begin for before, after in pairwise(lane))


def test_open_counts_name_only_changes():
    spans = [(5, 9, 1), (7, 12, 1), (9, 12, 1), (20, 20, 1)]

    assert open_counts(spans) == ((5, 1), (7, 2), (12, 0))


def test_open_counts_add_up_weights():
    assert open_counts([(0, 4, 100), (2, 6, 10)]) == ((0, 100), (2, 110), (4, 10), (6, 0))
