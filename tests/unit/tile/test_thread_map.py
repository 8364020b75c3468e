"""Laws of the thread maps, over every shape they accept."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpusim.tile.thread_map import StripMinedThreadMap, WarpThreadMap, congruous_thread_map, crosswise_thread_map

POWERS = st.sampled_from([1, 2, 4, 8, 16, 32])


@st.composite
def thread_maps(draw):
    """Any map CUTLASS accepts: warps stand along the contiguous dimension only where the strided one is used up."""
    lanes = draw(POWERS)
    elements = draw(st.sampled_from([1, 2, 4, 8, 16]))
    warps = draw(st.integers(1, 4)), draw(st.integers(1, 4))
    iterations = draw(st.integers(1, 3)), draw(st.integers(1, 3)) if warps[0] == 1 else 1
    return WarpThreadMap(
        shape=(lanes * elements * warps[0] * iterations[0], 32 // lanes * warps[1] * iterations[1]),
        threads=32 * warps[0] * warps[1],
        warp_arrangement=(lanes, 32 // lanes),
        elements_per_access=elements,
        striped=draw(st.booleans()),
    )


@st.composite
def strip_mined_maps(draw):
    """Strips of all threads that are longer, or shorter, than a row."""
    elements, threads, factor = draw(st.sampled_from([1, 2, 8])), 32 * draw(st.integers(1, 8)), draw(st.integers(1, 4))
    vectors, rows = (threads * factor, 1) if draw(st.booleans()) else (32, threads // 32)
    return StripMinedThreadMap((vectors * elements, rows * draw(st.integers(1, 3))), threads, elements)


@given(thread_maps() | strip_mined_maps())
def test_every_element_of_the_tile_belongs_to_exactly_one_access(thread_map):
    covered = np.zeros(thread_map.shape, dtype=int)
    contiguous, strided = np.moveaxis(thread_map.offsets(), -1, 0)
    for element in range(thread_map.elements_per_access):
        np.add.at(covered, (contiguous + element, strided), 1)

    assert (covered == 1).all()


@given(thread_maps())
def test_accesses_walk_the_contiguous_dimension_first(thread_map):
    iterations_contiguous, iterations_strided = thread_map.iterations
    expected = [
        (i * thread_map.delta[0], j * thread_map.delta[1])
        for j in range(iterations_strided)
        for i in range(iterations_contiguous)
    ]

    assert thread_map.access_offsets().tolist() == [list(offset) for offset in expected]


@given(thread_maps())
def test_lanes_of_a_warp_are_one_compact_block(thread_map):
    lanes = thread_map.initial_offsets().reshape(-1, 32, 2)
    extent = lanes.max(axis=1) - lanes.min(axis=1)
    contiguous, strided = thread_map.warp_arrangement

    assert (extent == [(contiguous - 1) * thread_map.elements_per_access, strided - 1]).all()


@pytest.mark.parametrize(("k", "bits", "arrangement"), [(32, 16, (4, 8)), (64, 16, (8, 4)), (16, 32, (4, 8))])
def test_crosswise_map_gives_a_row_as_many_lanes_as_it_has_vectors(k, bits, arrangement):
    assert crosswise_thread_map(k, 128, 128, bits).warp_arrangement == arrangement


def test_a_row_that_is_no_share_of_a_warp_is_refused():
    with pytest.raises(ValueError, match=r"^a row of 48 elements of 16 bits is not a whole share of a warp's 128-bit"):
        crosswise_thread_map(48, 128, 128, 16)


def test_a_tile_the_warps_do_not_cover_is_refused():
    with pytest.raises(
        ValueError, match=r"^tile \(64, 12\) is not covered by 4 warps of \(8, 4\) lanes with 8 elements each$"
    ):
        crosswise_thread_map(64, 12, 128, 16)


def test_an_arrangement_that_is_no_warp_is_refused():
    with pytest.raises(ValueError, match=r"^a warp must be 32 lanes and divide the threads"):
        WarpThreadMap(shape=(64, 64), threads=128, warp_arrangement=(8, 8), elements_per_access=8)


def test_strips_that_leave_a_rest_are_refused():
    with pytest.raises(
        ValueError, match=r"^tile \(96, 4\) is not covered by strips of 64 threads with 1 elements each$"
    ):
        StripMinedThreadMap((96, 4), 64, 1)


@pytest.mark.parametrize(
    ("tile", "threads", "bits", "iterations"),
    [
        ((128, 32), 128, 16, (2, 2)),
        ((256, 32), 256, 16, (4, 1)),
        ((128, 16), 256, 32, (2, 1)),
        ((64, 64), 128, 16, (1, 4)),
    ],
)
def test_a_congruous_map_iterates_along_both_dimensions(tile, threads, bits, iterations):
    """
    A warp access is 4 rows of one 128-byte line. 128x16 of 32 bits has 4 lines by 4 row groups: of 8 warps 4 stand
    along K and 2 side by side, each with 2 lines.
    """
    assert congruous_thread_map(*tile, threads, bits).iterations == iterations
