"""The cases of scattered accesses: each lane in a sector of its own line, and all bytes within the memory."""

import pytest

from gpusim.lab.calibrate.own.scattered import OWN_RESIDENT, OWN_STREAMED, _cases
from gpusim.units import LINE_BYTES, SECTOR_BYTES

SMS = 132
CASES = list(_cases(SMS, quick=False))


def test_an_access_fits_a_warp_and_its_parts_fit_a_sector():
    for case in CASES:
        assert case.lines * case.sectors * case.parts <= 32
        assert 4 * case.words * case.parts <= SECTOR_BYTES
        assert case.sectors * SECTOR_BYTES <= LINE_BYTES


def test_accesses_stay_within_the_memory_of_their_sm_and_the_next_line():
    """The last lane of the last access; only accesses of rows may end in the line behind them."""
    for case in CASES:
        step = case.step or case.lines * case.pitch
        begin = case.span - step
        end = begin + (case.lines - 1) * case.pitch + case.sectors * SECTOR_BYTES
        own = max(case.span, 32 * case.pitch, OWN_RESIDENT)

        assert case.span % step == 0
        assert end <= own + LINE_BYTES * (case.step > 0)
        assert own <= OWN_STREAMED


@pytest.mark.parametrize("kind", ["store", "load"])
def test_a_word_of_32_lines_and_whole_sectors_are_measured_in_the_l2_and_beyond_it(kind):
    for lines, sectors, parts, words in ((32, 1, 1, 1), (16, 1, 2, 4), (4, 4, 2, 4)):
        for span, sms in ((OWN_RESIDENT, 1), (OWN_RESIDENT, SMS), (OWN_STREAMED, SMS)):
            assert any(case[:7] == (kind, lines, sectors, parts, words, span, sms) for case in CASES)
