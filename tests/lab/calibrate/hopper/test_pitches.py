"""Lines and sectors that boxes touch, by hand; every pitch is one that the copy engine takes."""

import pytest

from gpusim.lab.calibrate.hopper.boxes import BoxCase
from gpusim.lab.calibrate.hopper.pitches import FIRSTS, PITCHES, _cases, touched


def box(pitch, first, inner=128, rows=64):
    return BoxCase("ring", "L2", rows, inner, 128, pitch, first, 4, 1)


def test_pitches_and_first_bytes_are_multiples_of_16():
    assert all(number % 16 == 0 for number in (*PITCHES, *FIRSTS))


def test_all_boxes_of_a_row_lie_within_it():
    for case in _cases(132, quick=False):
        assert case.first + 3 * 128 + case.inner <= case.pitch


@pytest.mark.parametrize(
    ("pitch", "first", "sectors", "lines"),
    [(1024, 0, 4, 1), (1536, 16, 5, 2), (1536, 32, 4, 2), (1440, 0, 4, 1.75), (1424, 0, 4.5, 1.875)],
)
def test_a_row_of_a_line_touches_more_where_it_begins_within_one(pitch, first, sectors, lines):
    """1440 is a quarter of a line more than eleven: three of four rows touch two lines. 1424 is an eighth more."""
    assert touched(box(pitch, first), 32) == 64 * sectors
    assert touched(box(pitch, first), 128) == 64 * lines
