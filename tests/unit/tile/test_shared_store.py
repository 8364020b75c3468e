"""Laws of the shared-memory stores of an operand tile."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpusim.errors import BadInput
from gpusim.families.gemm.gemm import GemmProblem
from gpusim.layout.congruous import CongruousLayout
from gpusim.layout.crosswise import CrosswiseLayout
from gpusim.scenario.gemm import GemmScenario
from gpusim.scenario.kernel import Kernel, SharedLayouts
from gpusim.tile.shared_store import (
    SwizzledStoreIterator,
    map_store_offsets,
    store_offsets,
    write_walk,
)
from gpusim.tile.thread_map import congruous_thread_map, crosswise_thread_map

LAYOUTS = ["crosswise", "row_major", "padded<8>", "Swizzle<3,3,3>"]


def scenario_of(threadblock=(128, 64, 64), layout="crosswise", alignment=None, stages=3):
    return GemmScenario(
        machine="h200",
        problem=GemmProblem(m=256, n=256, k=256, alignment_a=alignment, alignment_b=alignment),
        kernel=Kernel(
            threadblock=threadblock,
            warp=(64, 32, threadblock[2]),
            stages=stages,
            shared=SharedLayouts(a=layout, b=layout),
        ),
    )


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("operand", ["a", "b"])
@pytest.mark.parametrize("alignment", [8, 4, 2])
def test_a_tile_is_written_exactly_once(layout, operand, alignment):
    scenario = scenario_of(layout=layout, alignment=alignment)
    tile = scenario.operand(operand).shared
    k, row = np.meshgrid(np.arange(tile.contiguous), np.arange(tile.strided))

    for stage in range(tile.stages):
        first = store_offsets(scenario.operand(operand), stage)
        assert first.shape[1] * first.shape[2] * alignment * scenario.kernel.threads == tile.contiguous * tile.strided
        written = np.sort((first[..., None] + np.arange(alignment)).ravel())
        np.testing.assert_array_equal(written, np.sort(tile.offset(k, row, stage).ravel()))


def test_narrow_copies_follow_one_another_inside_the_access():
    wide = store_offsets(scenario_of().operand("a"), 1)
    narrow = store_offsets(scenario_of(alignment=2).operand("a"), 1)

    np.testing.assert_array_equal(narrow, wide + np.array([0, 2, 4, 6]))


@given(
    k=st.sampled_from([32, 64]),
    row_groups=st.integers(1, 4),
    warps=st.sampled_from([1, 2, 4, 8]),
    stages=st.integers(2, 6),
)
def test_two_base_pointers_and_additions_reach_every_offset_of_the_layout(k, row_groups, warps, stages):
    rows = 32 * 8 // k * warps * row_groups
    thread_map = crosswise_thread_map(k, rows, 32 * warps, 16)
    layout = CrosswiseLayout(element_bits=16, contiguous=k, strided=rows, stages=stages, crosswise=k)

    for k_tile, walked in enumerate(write_walk(thread_map, layout, 2 * stages + 1)):
        expected = map_store_offsets(thread_map, layout, k_tile % stages, 8)[..., 0]
        np.testing.assert_array_equal(walked, expected)


@given(
    bits=st.sampled_from([16, 32]),
    lines=st.integers(1, 4),
    groups=st.sampled_from([1, 2, 4]),
    warps=st.sampled_from([1, 2, 4]),
    stages=st.integers(2, 6),
)
def test_a_congruous_operand_needs_no_other_pointers(bits, lines, groups, warps, stages):
    contiguous, depth = lines * 1024 // bits, 4 * groups * warps
    thread_map = congruous_thread_map(contiguous, depth, 32 * warps, bits)
    layout = CongruousLayout(element_bits=bits, contiguous=contiguous, strided=-(-depth // 8) * 8, stages=stages)

    for k_tile, walked in enumerate(write_walk(thread_map, layout, 2 * stages + 1)):
        expected = map_store_offsets(thread_map, layout, k_tile % stages, 128 // bits)[..., 0]
        np.testing.assert_array_equal(walked, expected)


def test_the_write_iterator_returns_to_its_begin():
    layout = CrosswiseLayout(element_bits=16, contiguous=64, strided=128, stages=3, crosswise=64)
    iterator = SwizzledStoreIterator(crosswise_thread_map(64, 128, 128, 16), layout)
    begin = iterator.get()
    for _ in range(layout.stages):
        iterator.add_tile_offset(1)
    assert np.all(iterator.get() == begin + 3 * 64)
    iterator.add_tile_offset(-layout.stages)

    np.testing.assert_array_equal(iterator.get(), begin)


def test_an_unknown_layout_is_refused():
    with pytest.raises(BadInput, match="got 'zigzag'"):
        store_offsets(scenario_of(layout="zigzag").operand("a"), 0)
