"""What boxes touch: sectors by their rows' alignment, and banks by the swizzle."""

import pytest

from gpusim.tile.tma.cost import box_cost
from gpusim.tile.tma.tensor_map import TensorMap


def test_an_aligned_box_touches_the_sectors_of_its_bytes():
    """128 rows of 128 bytes, each a line: four sectors and one line a row."""
    cost = box_cost(TensorMap(2, (4096, 4096), (8192,), (64, 128), "128B"))

    assert (cost.bytes, cost.sectors, cost.most_sectors, cost.ideal_sectors, cost.lines) == (16384, 512, 512, 512, 128)


def test_rows_between_sectors_touch_one_sector_more():
    """Every second row of 1,424 bytes begins in the middle of a sector: 64 rows of four sectors, 64 of five."""
    cost = box_cost(TensorMap(2, (712, 2048), (1424,), (64, 128), "128B"))

    assert (cost.sectors, cost.ideal_sectors) == (64 * 4 + 64 * 5, 512)


@pytest.mark.parametrize(
    ("swizzle", "width", "wavefronts"),
    [("none", 64, 8), ("128B", 64, 1), ("64B", 32, 1), ("32B", 16, 1), ("none", 8, 1), ("none", 16, 2)],
)
def test_a_swizzle_as_wide_as_the_row_spreads_eight_rows_over_the_banks(swizzle, width, wavefronts):
    """Without one, rows of 128 bytes begin in the same banks, rows of 32 bytes two by two; eight of 16 fill a line."""
    assert box_cost(TensorMap(2, (4096, 64), (8192,), (width, 8), swizzle)).column_wavefronts == wavefronts


def test_what_is_not_legal_has_no_cost():
    with pytest.raises(ValueError, match=r"^box\[1\] must be 1 to 256, got 512$"):
        box_cost(TensorMap(2, (4096, 4096), (8192,), (64, 512)))
