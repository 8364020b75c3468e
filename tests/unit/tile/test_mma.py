"""Laws of the mma.sync fragments and of the order of instructions."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpusim.element_types import walks_vertically
from gpusim.errors import BadInput
from gpusim.tile.mma import (
    SHAPES,
    accumulator_map,
    fragment_map,
    fragment_registers,
    ldmatrix_sources,
    mma_order,
    warp_coordinates,
)

EVERY = [(bits, shape) for bits, shapes in SHAPES.items() for shape in shapes]


@pytest.mark.parametrize(("bits", "shape"), EVERY, ids=str)
@pytest.mark.parametrize("operand", ["a", "b", "c"])
def test_a_fragment_holds_every_element_once(bits, shape, operand):
    m, n, k = shape
    extent = {"a": (m, k), "b": (k, n), "c": (m, n)}[operand]
    places = fragment_map(shape, operand, bits).reshape(-1, 2)

    np.testing.assert_array_equal(np.sort(places[:, 0] * extent[1] + places[:, 1]), np.arange(extent[0] * extent[1]))


def test_m16n8k16_fragments_of_lane_5():
    """
    PTX: groupID = 5 / 4 = 1, threadID_in_group = 5 mod 4 = 1.
    """
    a, b, c = (fragment_map((16, 8, 16), operand)[5].tolist() for operand in ("a", "b", "c"))

    assert a == [[1, 2], [1, 3], [9, 2], [9, 3], [1, 10], [1, 11], [9, 10], [9, 11]]
    assert b == [[2, 1], [3, 1], [10, 1], [11, 1]]
    assert c == [[1, 2], [1, 3], [9, 2], [9, 3]]


def pieces(first, count):
    return list(range(first, first + count))


@pytest.mark.parametrize(
    ("bits", "shape", "a_rows", "a_columns", "b_rows"),
    [
        # PTX with groupID 1 and threadID_in_group 1 (lane 5): rows 1 and 9 of A; columns t, t + 4 of tf32; 2t + (0..1),
        # 4t + (0..3), 8t + (0..7) and a half of the instruction's K further of 16-, 8- and 4-bit elements.
        (32, (16, 8, 8), [1, 9, 1, 9], [1, 1, 5, 5], [1, 5]),
        (16, (16, 8, 8), [1] * 2 + [9] * 2, [2, 3] * 2, [2, 3]),
        (8, (16, 8, 32), ([1] * 4 + [9] * 4) * 2, pieces(4, 4) * 2 + pieces(20, 4) * 2, pieces(4, 4) + pieces(20, 4)),
        (8, (8, 8, 16), [1] * 4, pieces(4, 4), pieces(4, 4)),
        (4, (16, 8, 64), ([1] * 8 + [9] * 8) * 2, pieces(8, 8) * 2 + pieces(40, 8) * 2, pieces(8, 8) + pieces(40, 8)),
        (4, (8, 8, 32), [1] * 8, pieces(8, 8), pieces(8, 8)),
    ],
    ids=str,
)  # fmt: skip
def test_fragments_of_lane_5_in_the_words_of_ptx(bits, shape, a_rows, a_columns, b_rows):
    a, b = (fragment_map(shape, operand, bits)[5] for operand in ("a", "b"))

    assert a[:, 0].tolist() == a_rows
    assert a[:, 1].tolist() == a_columns
    assert b[:, 0].tolist() == b_rows
    assert set(b[:, 1].tolist()) == {1}
    assert a.shape[0] * bits == 32 * fragment_registers(shape, "a", bits)
    assert b.shape[0] * bits == 32 * fragment_registers(shape, "b", bits)


def test_accumulators_of_turing_integers_are_one_8x8_matrix():
    assert fragment_map((8, 8, 16), "c", 8)[5].tolist() == [[1, 2], [1, 3]]


@pytest.mark.parametrize("bits", SHAPES)
def test_ldmatrix_gives_a_lane_32_bits_whatever_they_mean(bits):
    row, elements = ldmatrix_sources(bits)

    assert row.tolist() == [[lane // 4] * (32 // bits) for lane in range(32)]
    assert elements.tolist() == [pieces(32 // bits * (lane % 4), 32 // bits) for lane in range(32)]


def test_ldmatrix_trans_gives_lane_i_a_column_and_its_own_rows():
    """
    PTX: the register of lane i holds rows 2(i mod 4) and 2(i mod 4) + 1 of column i / 4.
    """
    row, elements = ldmatrix_sources(trans=True)

    assert row.tolist() == [[2 * (lane % 4), 2 * (lane % 4) + 1] for lane in range(32)]
    assert elements.tolist() == [[lane // 4] * 2 for lane in range(32)]


def test_only_16_bit_elements_are_transposed():
    with pytest.raises(BadInput, match=r"^ldmatrix.trans moves elements of 16 bits, got 8$"):
        ldmatrix_sources(8, trans=True)


def test_the_vertical_walk_turns_back_on_odd_columns():
    assert mma_order(3, 2, vertical=True).tolist() == [[0, 0], [1, 0], [2, 0], [2, 1], [1, 1], [0, 1]]
    assert [walks_vertically(capability) for capability in (75, 80, 86, 89, 90)] == [True, False, False, True, False]


def test_ldmatrix_gives_lane_i_a_quarter_of_row_i_div_4():
    row, elements = ldmatrix_sources()

    assert row.tolist() == [[lane // 4] * 2 for lane in range(32)]
    assert elements.tolist() == [[2 * (lane % 4), 2 * (lane % 4) + 1] for lane in range(32)]


def test_other_shapes_are_refused():
    with pytest.raises(
        BadInput, match=r"16-bit operands must be one of \(\(16, 8, 16\), \(16, 8, 8\)\), got \(8, 8, 4\)"
    ):
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
