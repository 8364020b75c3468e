"""The rows of a CTA are found by its block index."""

import numpy as np
import pytest

from gpusim.tile.scheduler.cta_work import CtaWork, WorkUnit, whole_tiles

TILES = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0]])
# Of four CTAs in two columns, the second has no work and the third has two tiles.
WORK = CtaWork((2, 2, 1), np.array([0, 1, 1, 3, 3]), whole_tiles(TILES, 5))


def test_blocks_are_in_launch_order():
    assert WORK.blocks().tolist() == [[0, 0, 0], [1, 0, 0], [0, 1, 0], [1, 1, 0]]


def test_a_cta_has_its_rows_in_order():
    assert WORK.of(0, 0) == [WorkUnit(0, 0, 0, 0, 5, 0, 1, 0)]
    assert WORK.of(1, 0) == []
    assert [unit[:3] for unit in WORK.of(0, 1)] == [(1, 0, 0), (0, 1, 0)]
    assert WORK.of(1, 1) == []


@pytest.mark.parametrize("block", [(2, 0), (0, 2), (-1, 0), (0, 0, 1)])
def test_a_block_outside_the_grid_is_refused(block):
    with pytest.raises(IndexError, match=r"^blockIdx must be inside the grid \(2, 2, 1\), got \("):
        WORK.of(*block)
