"""Laws of the fragment loads: what ldmatrix delivers is what mma.sync wants, and the XOR walk is the layout."""

from itertools import pairwise

import numpy as np
import pytest

from gpusim.element_types import element_bits
from gpusim.errors import BadInput
from gpusim.families.gemm.gemm import GemmProblem
from gpusim.layout.banks import ldmatrix_wavefronts
from gpusim.scenario.gemm import GemmScenario
from gpusim.scenario.kernel import Kernel, SharedLayouts
from gpusim.scenario.models import DTypes
from gpusim.tile.ldmatrix import (
    FragmentLoads,
    congruous_fragment_loads,
    crosswise_fragment_loads,
    fragment_loads,
    fragment_offsets,
    ldmatrix_offsets,
    xor_walk,
)
from gpusim.tile.mma import fragment_map, warp_coordinates
from gpusim.tile.shared_store import store_offsets

LAYOUTS = ["crosswise", "row_major", "padded<8>", "Swizzle<3,3,3>"]
TILES = [
    ((128, 128, 64), (64, 64, 64)),
    ((128, 128, 32), (64, 64, 32)),
    ((64, 64, 64), (32, 32, 64)),
    ((128, 256, 32), (64, 64, 32)),
    ((64, 128, 64), (32, 64, 64)),
    ((32, 32, 64), (16, 8, 64)),
    ((64, 64, 64), (64, 64, 32)),
    ((64, 64, 64), (32, 32, 16)),
]


def scenario_of(threadblock, warp, layout="crosswise", stages=3):
    return GemmScenario(
        machine="h200",
        problem=GemmProblem(m=256, n=256, k=256),
        kernel=Kernel(threadblock=threadblock, warp=warp, stages=stages, shared=SharedLayouts(a=layout, b=layout)),
    )


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize(("threadblock", "warp"), TILES)
@pytest.mark.parametrize("operand", ["a", "b"])
def test_ldmatrix_delivers_exactly_the_fragments(operand, threadblock, warp, layout):
    """
    Shared memory holds the index of each element of the tile; every fragment element must be its own.
    """
    scenario = scenario_of(threadblock, warp, layout)
    shared = scenario.operand(operand).shared
    k, row = np.meshgrid(np.arange(shared.contiguous), np.arange(shared.strided))
    memory = np.full(shared.elements, -1)
    memory[shared.offset(k, row, 1)] = row * shared.contiguous + k

    axis = 0 if operand == "a" else 1
    instruction = scenario.kernel.instruction
    fragments = memory[fragment_offsets(scenario.operand(operand), 1)]
    warps = warp_coordinates(scenario.kernel.warps)
    k_groups, tiles = scenario.kernel.k_groups, warp[axis] // instruction[axis]
    assert fragments.shape[:3] == (len(warps), k_groups, tiles)
    # (row along M or N, k) of each register element of one instruction tile
    places = fragment_map(instruction, operand) if operand == "a" else fragment_map(instruction, "b")[..., ::-1]
    for warp_index, group, tile in np.ndindex(fragments.shape[:3]):
        first_row = warps[warp_index, axis] * warp[axis] + tile * instruction[axis]
        first_k = (warps[warp_index, 2] * k_groups + group) * instruction[2]
        expected = (places[..., 0] + first_row) * shared.contiguous + places[..., 1] + first_k
        np.testing.assert_array_equal(fragments[warp_index, group, tile], expected)


OTHER_OPERANDS = [
    *((("f16", (16, 8, 16)), other, layout) for other in ("a", "b") for layout in ("congruous", *LAYOUTS[1:])),
    *((("f16", (16, 8, 8)), other, "congruous") for other in ("a", "b")),
    *((("tf32", (16, 8, 8)), other, layout) for other in ("a", "b") for layout in ("congruous", "padded<4>")),
    *(((name, shape), None, None) for name, shape in (
        ("tf32", (16, 8, 8)), ("s8", (16, 8, 32)), ("s8", (8, 8, 16)), ("s4", (16, 8, 64)), ("u4", (8, 8, 32)))),
]  # fmt: skip
"""Element type and instruction, the operand that is contiguous along M or N, and its shared layout."""


@pytest.mark.parametrize(("kind", "along_mn", "layout"), OTHER_OPERANDS, ids=str)
@pytest.mark.parametrize("operand", ["a", "b"])
@pytest.mark.parametrize("warp", [(64, 64), (32, 32), (32, 64)])
def test_what_the_copies_stored_is_what_the_fragments_hold(operand, warp, kind, along_mn, layout):
    """
    Every copy stores the tile coordinate of its elements; every element of every fragment must be its own.
    """
    dtype, instruction = kind
    bits = element_bits(dtype)
    depth = 512 // bits
    scenario = GemmScenario(
        machine="h200",
        problem=GemmProblem(
            m=256,
            n=256,
            k=512,
            layout_a="column" if along_mn == "a" else "row",
            layout_b="row" if along_mn == "b" else "column",
            dtype=DTypes(ab=dtype),
        ),
        kernel=Kernel(
            threadblock=(128, 128, depth),
            warp=(*warp, depth),
            instruction=instruction,
            shared=SharedLayouts(**({along_mn: layout} if along_mn else {})),
        ),
    )
    shared, thread_map = scenario.operand(operand).shared, scenario.operand(operand).thread_map
    contiguous, strided = np.moveaxis(thread_map.offsets(), -1, 0)
    vector = np.arange(thread_map.elements_per_access)
    memory = np.full((shared.elements, 2), -1)
    stored = store_offsets(scenario.operand(operand), 1)[:, :, 0, None] + vector
    memory[stored, 0], memory[stored, 1] = contiguous[..., None] + vector, strided[..., None]

    along_contiguous, along_strided = np.moveaxis(memory[fragment_offsets(scenario.operand(operand), 1)], -1, 0)

    own = (
        (along_strided, along_contiguous)
        if scenario.problem.k_contiguous(operand)
        else (along_contiguous, along_strided)
    )
    places = fragment_map(instruction, operand, bits)
    mn_place, k_place = np.moveaxis(places if operand == "a" else places[..., ::-1], -1, 0)
    axis = 0 if operand == "a" else 1
    first = warp_coordinates(scenario.kernel.warps)[:, axis] * warp[axis]
    tiles = np.arange(warp[axis] // instruction[axis]) * instruction[axis]
    expected_mn = first[:, None, None, None, None] + tiles[:, None, None] + mn_place
    expected_k = np.arange(scenario.kernel.k_groups)[:, None, None, None] * instruction[2] + k_place
    np.testing.assert_array_equal(own[0], np.broadcast_to(expected_mn, own[0].shape))
    np.testing.assert_array_equal(own[1], np.broadcast_to(expected_k, own[1].shape))


@pytest.mark.parametrize("stages", [2, 3, 5])
@pytest.mark.parametrize(("threadblock", "warp"), TILES)
@pytest.mark.parametrize("operand", ["a", "b"])
def test_xor_per_k_group_and_addition_per_tile_is_the_layout(operand, threadblock, warp, stages):
    scenario = scenario_of(threadblock, warp, stages=stages)
    walked = xor_walk(scenario.operand(operand), 2 * stages + 1)

    for k_tile, offsets in enumerate(walked):
        np.testing.assert_array_equal(offsets, ldmatrix_offsets(scenario.operand(operand), k_tile % stages))


def test_k_group_steps_of_crosswise_64_are_2_6_2_vectors():
    offsets = ldmatrix_offsets(scenario_of((128, 128, 64), (64, 64, 64)).operand("a"), 0)[0, :, 0] // 8

    assert [np.unique(a ^ b).tolist() for a, b in pairwise(offsets)] == [[2], [6], [2]]


@pytest.mark.parametrize(
    ("warp_strided", "instruction_k", "expected"),
    [
        (64, 16, FragmentLoads(2, 2, 4, trans=False)),
        (32, 16, FragmentLoads(2, 2, 2, trans=False)),
        (16, 16, FragmentLoads(2, 2, 1, trans=False)),
        (8, 16, FragmentLoads(2, 1, 1, trans=False)),
        (64, 8, FragmentLoads(1, 4, 2, trans=False)),
        (16, 8, FragmentLoads(1, 2, 1, trans=False)),
        (8, 8, FragmentLoads(1, 1, 1, trans=False)),
    ],
)
def test_an_instruction_loads_as_many_matrices_as_the_warp_tile_fills(warp_strided, instruction_k, expected):
    assert crosswise_fragment_loads(warp_strided, instruction_k, bits=16) == expected


def test_lanes_past_an_x2_go_on_with_the_same_arithmetic():
    scenario = scenario_of((32, 32, 64), (16, 8, 64))
    row_major = scenario_of((32, 32, 64), (16, 8, 64), "row_major")

    assert fragment_loads(scenario.operand("b")).matrices == 2
    lanes = ldmatrix_offsets(row_major.operand("b"), 0)[0, 0, 0]
    np.testing.assert_array_equal(lanes[16:], lanes[:16] + 8 * 64)


def test_a_warp_tile_with_a_rest_is_refused():
    with pytest.raises(BadInput, match=r"24 is not a whole number of ldmatrix.x4; it must be a multiple of 16"):
        crosswise_fragment_loads(24, 16, bits=16)


def test_8_bit_elements_contiguous_along_n_have_no_fragment_loads():
    with pytest.raises(BadInput, match=r"^operand b must be contiguous along K: ldmatrix.trans moves 16-bit elements"):
        congruous_fragment_loads(64, (16, 8, 32), "b", 8)


def test_the_xor_walk_is_refused_for_other_layouts():
    with pytest.raises(BadInput, match=r"kernel.shared.b: the XOR walk exists for crosswise only, got 'padded<8>'"):
        xor_walk(scenario_of((64, 64, 64), (32, 32, 64), "padded<8>").operand("b"), 1)


@pytest.mark.parametrize(
    ("layout", "wavefronts"), [("crosswise", 4), ("padded<8>", 4), ("Swizzle<3,3,3>", 4), ("row_major", 32)]
)
@pytest.mark.parametrize("operand", ["a", "b"])
def test_wavefronts_of_every_ldmatrix_of_a_64_wide_tile(operand, layout, wavefronts):
    """
    A row of 64 fp16 spans all banks: in row-major order the 8 rows of each matrix share 4 banks, 4 * 8 = 32.
    """
    scenario = scenario_of((128, 128, 64), (64, 64, 64), layout)
    addresses = ldmatrix_offsets(scenario.operand(operand), 2) * 2

    assert np.unique(ldmatrix_wavefronts(addresses, 4)).tolist() == [wavefronts]
