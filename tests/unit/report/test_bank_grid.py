"""The grid of a bank picture: as many wavefronts as are counted."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from gpusim.layout.banks import ACCESS_WIDTHS, access_wavefronts, ldmatrix_wavefronts
from gpusim.report.bank_grid import BankPicture, verdict, wavefronts

LANE = np.arange(32)
ROW_MAJOR = BankPicture("ldmatrix, 64 fp16 a row", LANE % 16 * 128 + LANE // 16 * 16, 16)
SWIZZLED = BankPicture("ldmatrix, swizzled", LANE % 16 * 128 + ((LANE // 16) ^ (LANE % 8)) * 16, 16)


def test_a_bank_picture_tells_row_major_from_swizzled():
    assert verdict(ROW_MAJOR) == "32 wavefronts, ideal 4: 28 bank conflicts"
    assert verdict(SWIZZLED) == "4 wavefronts, ideal 4: no bank conflict"


@given(
    vectors=st.lists(st.integers(0, 63), min_size=32, max_size=32),
    active=st.lists(st.booleans(), min_size=32, max_size=32).filter(any),
    width=st.sampled_from(ACCESS_WIDTHS),
    kind=st.sampled_from(["load", "store"]),
    shared=st.sampled_from([0, 1, 2]),
)
def test_the_grid_has_as_many_wavefronts_as_are_counted(vectors, active, width, kind, shared):
    """Lanes that differ in the bit ``shared`` alone have one address."""
    addresses, taking = np.array(vectors)[np.arange(32) & ~shared] * width, np.array(active)

    drawn = wavefronts(BankPicture("any", addresses, width, kind=kind, active=taking))

    assert len(drawn) == access_wavefronts(addresses, width, taking, loads=kind == "load")


@given(vectors=st.lists(st.integers(0, 63), min_size=32, max_size=32), matrices=st.sampled_from([1, 2, 4]))
def test_the_grid_of_an_ldmatrix_serves_every_row_in_its_own_phase(vectors, matrices):
    addresses = np.array(vectors) * 16

    drawn = wavefronts(BankPicture("any", addresses, 16, matrices=matrices))

    assert len(drawn) == ldmatrix_wavefronts(addresses, matrices)
    for lane in range(8 * matrices):
        serving = [cell for passed in drawn if passed.phase == lane // 8 for cell in passed.cells if lane in cell.lanes]
        assert sum(cell.end - cell.bank for cell in serving) == 4
