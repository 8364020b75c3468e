"""Laws of the mma.sync fragments and of the order of instructions."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpusim.errors import BadInput
from gpusim.tile.mma import SHAPES, accumulator_map, fragment_map, ldmatrix_sources, mma_order, warp_coordinates


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: "m{}n{}k{}".format(*shape))
@pytest.mark.parametrize("operand", ["a", "b", "c"])
def test_a_fragment_holds_every_element_once(shape, operand):
    m, n, k = shape
    extent = {"a": (m, k), "b": (k, n), "c": (m, n)}[operand]
    places = fragment_map(shape, operand).reshape(-1, 2)

    np.testing.assert_array_equal(np.sort(places[:, 0] * extent[1] + places[:, 1]), np.arange(extent[0] * extent[1]))


def test_m16n8k16_fragments_of_lane_5():
    """
    PTX: groupID = 5 / 4 = 1, threadID_in_group = 5 mod 4 = 1.
    """
    a, b, c = (fragment_map((16, 8, 16), operand)[5].tolist() for operand in ("a", "b", "c"))

    assert a == [[1, 2], [1, 3], [9, 2], [9, 3], [1, 10], [1, 11], [9, 10], [9, 11]]
    assert b == [[2, 1], [3, 1], [10, 1], [11, 1]]
    assert c == [[1, 2], [1, 3], [9, 2], [9, 3]]


def test_ldmatrix_gives_lane_i_a_quarter_of_row_i_div_4():
    row, elements = ldmatrix_sources()

    assert row.tolist() == [lane // 4 for lane in range(32)]
    assert elements.tolist() == [[2 * (lane % 4), 2 * (lane % 4) + 1] for lane in range(32)]


def test_other_shapes_are_refused():
    with pytest.raises(BadInput, match=r"must be one of \(\(16, 8, 16\), \(16, 8, 8\)\), got \(8, 8, 4\)"):
        fragment_map((8, 8, 4), "a")


@given(tiles_m=st.integers(1, 9), tiles_n=st.integers(1, 9))
def test_serpentine_visits_every_tile_once_and_moves_to_a_neighbour(tiles_m, tiles_n):
    order = mma_order(tiles_m, tiles_n)

    assert sorted(map(tuple, order.tolist())) == [(m, n) for m in range(tiles_m) for n in range(tiles_n)]
    assert np.all(np.abs(np.diff(order, axis=0)).sum(axis=1) == 1)


@given(tiles_m=st.integers(1, 8), tiles_n=st.integers(1, 8))
def test_the_accumulators_cover_the_warp_tile_once(tiles_m, tiles_n):
    rows, columns = 16 * tiles_m, 8 * tiles_n
    places = accumulator_map(rows, columns, (16, 8, 16))

    assert places.shape == (32, rows * columns // 32, 2)
    np.testing.assert_array_equal(
        np.sort((places[..., 0] * columns + places[..., 1]).ravel()), np.arange(rows * columns)
    )


def test_accumulators_of_an_instruction_tile_are_its_fragment():
    by_tile = accumulator_map(64, 32, (16, 8, 16)).reshape(32, 4, 4, 4, 2)
    fragment = fragment_map((16, 8, 16), "c")

    for n, m in np.ndindex(4, 4):
        np.testing.assert_array_equal(by_tile[:, n, m], fragment + np.array([16 * m, 8 * n]))


def test_warps_run_along_m_then_n_then_k():
    assert warp_coordinates((2, 2, 2)).tolist() == [
        [0, 0, 0],
        [1, 0, 0],
        [0, 1, 0],
        [1, 1, 0],
        [0, 0, 1],
        [1, 0, 1],
        [0, 1, 1],
        [1, 1, 1],
    ]
