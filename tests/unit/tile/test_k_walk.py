"""The walk of an implicit GEMM over K: its order, its steps, and what its split-K slices have of the summed extent."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpusim.tile.extents import ConvShape, implicit_gemm_extents
from gpusim.tile.k_walk import KWalk, implicit_gemm_walk

TILES_K = st.sampled_from([16, 32, 64])
EXTENTS = st.integers(1, 600)
SLICES = st.integers(1, 8)
TAPS = st.integers(1, 4)


def test_a_walk_of_two_filter_rows_of_three():
    """(r, s): 00 01 02 10 11 12, next channels 00. Six steps: s s r s s c."""
    walk = KWalk(rows=2, columns=3, summed=64, tile_k=32)

    assert [tuple(map(int, walk.at(number))) for number in range(7)] == [
        *((0, 0, 0, 0), (0, 1, 0, 1), (0, 2, 0, 2), (0, 3, 1, 0), (0, 4, 1, 1), (0, 5, 1, 2), (1, 0, 0, 0)),
    ]
    assert [tuple(map(int, walk.steps(number))) for number in range(7)] == [
        *((0, 0, 0), (1, 0, 0), (2, 0, 0), (2, 1, 0), (3, 1, 0), (4, 1, 0), (4, 1, 1)),
    ]


@given(rows=TAPS, columns=TAPS, number=st.integers(0, 100))
def test_the_steps_lead_to_the_position(rows, columns, number):
    """A step to a next row goes back over all columns but one, a step to a next interval over all rows, too."""
    walk = KWalk(rows, columns, summed=64, tile_k=32)
    at, steps = walk.at(number), walk.steps(number)

    assert sum(steps) == number
    assert at.interval == steps.to_interval
    assert at.row == steps.to_row - (rows - 1) * steps.to_interval
    assert at.column == steps.to_column - (columns - 1) * (steps.to_row + steps.to_interval)
    assert at.place == at.row * columns + at.column


@given(rows=TAPS, columns=TAPS, summed=EXTENTS, tile_k=TILES_K, slices=SLICES)
def test_all_slices_sum_every_index_once_at_every_filter_position(rows, columns, summed, tile_k, slices):
    walk = KWalk(rows, columns, summed, tile_k, slices)
    times = np.zeros((rows, columns, summed), dtype=int)
    for slice_ in range(slices):
        for number in range(walk.k_tiles):
            at, begin = walk.at(number), int(walk.begin(number, np.asarray(slice_)))
            end = begin + int(walk.inside(np.asarray(begin)))
            times[at.row, at.column, begin:end] += 1
            assert (walk.slice_of_summed[begin:end] == slice_).all()

    assert (times == 1).all()


@given(summed=EXTENTS, tile_k=TILES_K, slices=SLICES, beyond=st.integers(0, 10))
def test_past_the_last_k_tile_nothing_exists(summed, tile_k, slices, beyond):
    walk = KWalk(3, 2, summed, tile_k, slices)

    assert not walk.inside(walk.begin(walk.k_tiles + beyond, np.arange(slices))).any()


@given(c=EXTENTS, tile_k=TILES_K, slices=SLICES)
def test_slices_reach_every_channel_tile_and_no_more_than_needed(c, tile_k, slices):
    shape = ConvShape(1, 8, 8, c, 8, 3, 2, 8, 8, (1, 1), (1, 1), (1, 1), split_k_slices=slices)
    intervals = implicit_gemm_walk(shape, "fprop", tile_k).k_tiles // (3 * 2)

    assert (intervals - 1) * slices * tile_k < c <= intervals * slices * tile_k


def test_a_ragged_channel_count_costs_a_whole_tile_at_every_filter_position():
    shape = ConvShape(1, 8, 8, 72, 8, 3, 3, 8, 8, (1, 1), (1, 1), (1, 1))

    assert implicit_gemm_walk(shape, "fprop", 64).k_tiles == 9 * 2
    assert implicit_gemm_extents(shape).k == 9 * 72


@pytest.mark.parametrize(
    ("operator", "positions", "summed"), [("fprop", 6, 40), ("dgrad", 6, 24), ("wgrad", 1, 2 * 5 * 7)]
)
def test_each_operator_sums_what_is_in_both_of_its_operands(operator, positions, summed):
    """N = 2 images, C = 40, K = 24, R x S = 3 x 2, P x Q = 5 x 7."""
    walk = implicit_gemm_walk(ConvShape(2, 5, 6, 40, 24, 3, 2, 5, 7, (1, 1), (1, 1), (1, 1)), operator, 32)

    assert (walk.positions, walk.summed) == (positions, summed)
