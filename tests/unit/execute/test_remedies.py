"""Strides of lanes, and the paddings and swizzles that free them, worked by hand."""

import numpy as np
import pytest

from gpusim.execute.remedies import ConflictRemedy, WarpAccess, remedy_of
from gpusim.layout.banks import ldmatrix_lanes

LANE = np.arange(32)
ALL = np.ones(32, np.bool_)


def loaded(addresses, width=4, active=ALL):
    return WarpAccess(np.asarray(addresses), active, width, loads=True)


@pytest.mark.parametrize(
    ("access", "remedy"),
    [
        # A column of 32 floats a row: a word of padding moves each row by a bank.
        (loaded(128 * LANE), ConflictRemedy(128, 132, (5, 2, 5))),
        # Backwards, and in the fifth column.
        (loaded(20 + 128 * (31 - LANE)), ConflictRemedy(128, 132, (5, 2, 5))),
        # A column of 16 floats a row: two rows of 64 bytes in each row of the banks.
        (loaded(64 * LANE), ConflictRemedy(64, 68, (4, 2, 5))),
        # 8 rows of 4 words: 8 rows of 16 bytes fit the banks.
        (loaded(4 * (LANE % 4) + 128 * (LANE // 4)), ConflictRemedy(128, 144, (3, 4, 3))),
        # A column of float4: each phase of 8 lanes needs 8 different quarters of a row of banks.
        (loaded(64 * LANE, width=16), ConflictRemedy(64, 80, (2, 4, 3))),
        # Halves in rows of 64 bytes: a word of padding.
        (loaded(64 * LANE, width=2), ConflictRemedy(64, 66, (4, 2, 5))),
        # Rows of 80 bytes are read one by one: the second row begins in the middle of the banks.
        (loaded(16 * (LANE % 4) + 80 * (LANE // 4), width=16), ConflictRemedy(80, None, None)),
    ],
)
def test_the_stride_and_what_frees_it(access, remedy):
    assert remedy_of(access) == remedy


def test_the_rows_of_an_ldmatrix_have_a_stride():
    """Four matrices of 8 rows of 16 bytes, 64 bytes apart; each phase takes one matrix."""
    rows = WarpAccess(64 * (LANE % 16) + 16 * (LANE // 16), ldmatrix_lanes(4), 16, phase_lanes=8)

    assert (int(rows.wavefronts), int(rows.ideal_wavefronts)) == (16, 4)
    assert remedy_of(rows) == ConflictRemedy(64, 80, (2, 4, 3))


def test_lanes_that_take_no_part_have_no_say():
    active = LANE < 20

    assert remedy_of(loaded(np.where(active, 128 * LANE, 7), active=active)) == ConflictRemedy(128, 132, (5, 2, 5))


@pytest.mark.parametrize("addresses", [4 * (LANE * LANE), 128 * LANE + 4 * (LANE ^ LANE >> 1), 4 * LANE, 0 * LANE])
def test_addresses_without_a_stride_have_no_remedy(addresses):
    """Squares, a swizzle, adjacent words, and one word."""
    assert remedy_of(loaded(addresses)) is None


@pytest.mark.parametrize("stride", [8, 24, 32, 64, 96, 128, 160, 256, 512])
@pytest.mark.parametrize("width", [4, 8, 16])
def test_a_remedy_has_no_conflict_and_no_smaller_padding_has(stride, width):
    if stride % width or stride == width:
        return
    found = remedy_of(loaded(stride * LANE, width=width))

    free = [one for one in range(stride + width, stride + min(64, stride) + 1, width) if is_free(one * LANE, width)]
    assert found.stride == stride
    assert found.free_stride == (free[0] if free else None)
    if found.swizzle:
        bits, base, shift = found.swizzle
        address = stride * LANE
        assert is_free(address ^ (address >> base + shift & (1 << bits) - 1) << base, width)


def is_free(addresses, width):
    access = loaded(addresses, width)
    return int(access.wavefronts) == int(access.ideal_wavefronts)


def test_a_remedy_is_told_in_bytes():
    assert str(ConflictRemedy(128, 132, (5, 2, 5))) == (
        "lanes lie 128 bytes apart: with 132 or with Swizzle<5, 2, 5> of byte addresses there is no conflict"
    )
    assert str(ConflictRemedy(80, None, None)) == "lanes lie 80 bytes apart: no padding up to 64 bytes helps"
