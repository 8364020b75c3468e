"""Laws of the epilogue: every output element gets its own accumulator, once, without bank conflicts."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpusim.errors import BadInput
from gpusim.families.conv.fprop.problem import Conv2dFpropProblem
from gpusim.families.gemm.gemm import GemmProblem
from gpusim.layout.banks import access_ideal, access_wavefronts
from gpusim.scenario.gemm import GemmScenario
from gpusim.scenario.kernel import Kernel
from gpusim.scenario.models import DTypes
from gpusim.tile.epilogue import EpilogueTile
from gpusim.tile.mma import warp_coordinates

SHAPES = [
    ((128, 128), (64, 64)),
    ((64, 64), (32, 32)),
    ((128, 256), (64, 64)),
    ((256, 128), (64, 64)),
    ((64, 128), (32, 64)),
    ((128, 64), (64, 32)),
    ((64, 256), (64, 64)),
    ((128, 128), (32, 64)),
    ((128, 128), (64, 32)),
    ((128, 32), (32, 32)),
    ((64, 256), (32, 128)),
    ((64, 96), (32, 32)),
    ((64, 256), (64, 32)),
]
TYPES = [("f16", 8), ("f16", 4), ("f16", 2), ("f16", 1), ("f32", 4), ("f32", 2), ("f32", 1)]


def tile_of(threadblock, warp, output, access, *, extent=(1000, 1000), leading=None):
    return EpilogueTile(
        threadblock=(*threadblock, 32),
        warp=(*warp, 32),
        instruction=(16, 8, 16),
        output_type=output,
        elements_per_access=access,
        extent=extent,
        leading=leading or extent[1],
    )


def legal_tiles():
    for (threadblock, warp), (output, access) in product(SHAPES, TYPES):
        try:
            yield tile_of(threadblock, warp, output, access)
        except BadInput:
            continue


LEGAL = list(legal_tiles())


def name(tile):
    m, n = tile.threadblock[:2]
    return f"{m}x{n}-w{tile.warp[0]}x{tile.warp[1]}-{tile.output_type}x{tile.elements_per_access}"


def run(tile, tile_m, tile_n):
    """One CTA's epilogue on index-valued accumulators: the output tensor, and how often each element was stored."""
    lanes = tile.accumulator_map()
    corners = warp_coordinates(tile.warps)[:, :2] * tile.warp[:2]
    place = (lanes[None] + corners[:, None, None, :]).reshape(tile.threads, -1, 2)
    row, column = place[..., 0] + tile_m * tile.threadblock[0], place[..., 1] + tile_n * tile.threadblock[1]
    accumulators = row * 100_000 + column
    output = np.full(tile.extent[0] * tile.leading, -1)
    times = np.zeros_like(output)
    for step in range(tile.steps):
        shared = np.full(tile.storage_bytes // 4, -1)
        shared[tile.store_offsets()] = accumulators[:, tile.store_elements(step)]
        vectors = shared[tile.load_offsets()].reshape(tile.threads, tile.accesses_per_step, -1)
        access = tile.output(step, tile_m, tile_n)
        element = access.offset[access.valid][:, None] + np.arange(tile.elements_per_access)
        output[element] = vectors[access.valid]
        np.add.at(times, element, 1)
    return output.reshape(tile.extent[0], tile.leading), times.reshape(tile.extent[0], tile.leading)


@pytest.mark.parametrize("tile", LEGAL, ids=name)
def test_every_in_range_element_gets_its_own_accumulator_once(tile):
    """
    One whole tile, and one cut by both edges; the leading dimension is wider than the output.
    """
    height, width = tile.threadblock[:2]
    cut = (height + height // 2 + 3, width + width // 2 + 8)
    for tile_m, tile_n in ((0, 0), (1, 1)):
        cut_tile = tile_of(
            tile.threadblock[:2],
            tile.warp[:2],
            tile.output_type,
            tile.elements_per_access,
            extent=cut,
            leading=cut[1] + 16,
        )
        output, times = run(cut_tile, tile_m, tile_n)
        row, column = np.indices(output.shape)
        mine = (row // height == tile_m) & (column // width == tile_n) & (column < cut[1])
        np.testing.assert_array_equal(times, mine)
        np.testing.assert_array_equal(output, np.where(mine, row * 100_000 + column, -1))


def test_the_widest_accesses_exist_for_every_shape():
    widest = {(tile.threadblock[:2], tile.warp[:2]) for tile in LEGAL if tile.access_bytes == 16}

    assert widest == set(SHAPES) - {((64, 96), (32, 32))}


def wavefronts(offsets, width):
    """Wavefronts of each warp instruction, [warps, instructions], from element offsets [threads, instructions, ...]."""
    lanes = offsets[..., 0].reshape(-1, 32, offsets.shape[1]).swapaxes(1, 2) * 4
    return access_wavefronts(lanes, width)


@pytest.mark.parametrize(
    "tile", [tile for tile in LEGAL if tile.access_bytes == 16 and tile.threadblock[1] >= 64], ids=name
)
def test_shared_stores_and_loads_meet_no_conflict(tile):
    assert np.all(wavefronts(tile.store_offsets(), tile.store_bytes) == access_ideal(tile.store_bytes))
    assert np.all(wavefronts(tile.load_offsets(), tile.load_bytes) == access_ideal(tile.load_bytes))


def test_32_columns_are_too_few_for_the_permutation_of_f16_vectors():
    """
    A phase of 8 lanes loads 16 bytes out of every 32, of 128 bytes of one row and 128 of the next, 160 bytes on:
    banks 0-3, 8-11, 16-19, 24-27 and again 8-11, 16-19, 24-27, 0-3. Each bank twice, 8 wavefronts.
    """
    tile = tile_of((128, 32), (32, 32), "f16", 8)

    assert np.all(wavefronts(tile.store_offsets(), tile.store_bytes) == 2)
    assert np.all(wavefronts(tile.load_offsets(), tile.load_bytes) == 8)


def test_bytes_of_each_access():
    mixed, plain, scalar = (tile_of((128, 128), (64, 64), *kind) for kind in (("f16", 8), ("f32", 4), ("f16", 1)))

    assert (mixed.store_bytes, mixed.load_bytes, mixed.access_bytes) == (8, 16, 16)
    assert (plain.store_bytes, plain.load_bytes, plain.access_bytes) == (8, 16, 16)
    assert (scalar.store_bytes, scalar.load_bytes, scalar.access_bytes) == (8, 4, 2)
    assert [tile.fragments_per_iteration for tile in (mixed, plain, scalar)] == [2, 2, 1]


def test_output_of_many_ctas_is_the_output_of_each():
    tile = tile_of((128, 128), (64, 64), "f16", 8, extent=(200, 264))
    tiles_m, tiles_n = np.array([0, 1, 1]), np.array([2, 0, 1])
    together = tile.output(3, tiles_m, tiles_n)

    assert together.offset.shape == (3, tile.threads, tile.accesses_per_step)
    for cta in range(3):
        alone = tile.output(3, int(tiles_m[cta]), int(tiles_n[cta]))
        np.testing.assert_array_equal(together.offset[cta], alone.offset)
        np.testing.assert_array_equal(together.valid[cta], alone.valid)


def test_a_map_that_leaves_a_rest_is_refused():
    message = "the epilogue's 4 warps with 8-element accesses do not cover 8 rows of 96 columns exactly"
    with pytest.raises(BadInput, match=message):
        tile_of((64, 96), (64, 24), "f16", 8)


def test_warps_along_k_are_refused():
    with pytest.raises(BadInput, match="the epilogue takes one warp along K, got 2"):
        EpilogueTile((64, 64, 64), (32, 32, 32), (16, 8, 16), "f16", 8, (64, 64), 64)


def brute_sectors(tile):
    rows, columns = tile.extent
    total = 0
    for tile_m, tile_n, step in product(
        range(-(-rows // tile.threadblock[0])), range(-(-columns // tile.threadblock[1])), range(tile.steps)
    ):
        access = tile.output(step, tile_m, tile_n)
        for warp, index in product(range(tile.threads // 32), range(tile.accesses_per_step)):
            touched = set()
            for thread in range(32 * warp, 32 * warp + 32):
                if access.valid[thread, index]:
                    begin = int(access.offset[thread, index]) * tile.output_bits // 8
                    touched |= {begin // 32, (begin + tile.access_bytes - 1) // 32}
            total += len(touched)
    return total


@settings(max_examples=15, deadline=None)
@given(
    rows=st.integers(1, 150),
    vectors=st.integers(1, 20),
    padding=st.integers(0, 3),
    kind=st.sampled_from(TYPES),
)
def test_sectors_are_those_counted_lane_by_lane(rows, vectors, padding, kind):
    access = kind[1]
    tile = tile_of((64, 64), (32, 32), *kind, extent=(rows, vectors * access), leading=(vectors + padding) * access)

    assert tile.sectors() == brute_sectors(tile)


def test_sectors_of_a_whole_tensor_are_its_bytes():
    problem = GemmProblem(m=8192, n=8192, k=64, dtype=DTypes(output="f16"))
    scenario = GemmScenario(machine="h200", problem=problem, kernel=Kernel())

    assert scenario.epilogue.all_sectors(1) == 8192 * 8192 * 2 // 32
    sliced = GemmScenario(machine="h200", problem=problem.model_copy(update={"split_k_slices": 3}), kernel=Kernel())
    assert sliced.epilogue.all_sectors(3) == 3 * scenario.epilogue.all_sectors(1)


def test_a_convolution_is_a_matrix_of_positions_by_filters():
    problem = Conv2dFpropProblem(n=2, h=10, w=9, c=64, k=72, r=3, s=3)
    tile = GemmScenario(machine="h200", problem=problem, kernel=Kernel()).epilogue

    assert tile.extent == (2 * 8 * 7, 72)
    assert (tile.leading, tile.elements_per_access, tile.output_type) == (72, 4, "f32")


def test_a_padded_output_keeps_its_leading_dimension():
    problem = GemmProblem(m=64, n=40, k=64, ldc=44, dtype=DTypes(output="f16"))
    tile = GemmScenario(machine="h200", problem=problem, kernel=Kernel()).epilogue

    assert (tile.leading, tile.elements_per_access, tile.mixed) == (44, 4, False)
