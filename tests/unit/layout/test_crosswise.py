"""Laws of the crosswise layout over all coordinates, and the accesses it was made for."""

import numpy as np
import pytest

from gpusim.layout.banks import access_wavefronts, ldmatrix_wavefronts
from gpusim.layout.crosswise import CrosswiseLayout
from gpusim.layout.cute import Swizzle, SwizzledLayout, row_major

LANE = np.arange(32)
SHAPES = [(bits, 128 * 8 // bits >> halvings) for bits in (4, 8, 16, 32) for halvings in range(4)]


def offsets(layout):
    """[stage, strided, contiguous]."""
    stage, strided, contiguous = np.ogrid[: layout.stages, : layout.strided, : layout.contiguous]
    return layout.offset(contiguous, strided, stage)


@pytest.fixture(params=[(*shape, stages) for shape in SHAPES for stages in (1, 2, 3, 5)], ids=str)
def layout(request):
    bits, crosswise, stages = request.param
    return CrosswiseLayout(bits, crosswise, 64, stages, crosswise=crosswise)


def test_every_coordinate_has_its_own_offset_and_none_is_wasted(layout):
    assert np.array_equal(np.sort(offsets(layout), axis=None), np.arange(layout.elements))


def test_vectors_of_16_bytes_stay_together_and_aligned(layout):
    vector = 128 // layout.element_bits
    vectors = offsets(layout).reshape(-1, vector)

    assert not np.any(vectors[:, 0] % vector)
    assert np.all(np.diff(vectors) == 1)


def test_a_stage_is_one_line_column_of_the_allocation(layout):
    """The swizzle permutes within a 128-byte line: stage t keeps lines t, t + stages, ... to itself."""
    line = offsets(layout) * layout.element_bits // 8 // 128

    assert np.array_equal(line % layout.stages, np.broadcast_to(np.arange(layout.stages)[:, None, None], line.shape))


def test_one_stage_reads_as_a_cute_swizzle(layout):
    """A whole line: Swizzle<3,M,3> over row-major rows; shorter rows: two of the three bits, Swizzle<2,M,3>."""
    single = CrosswiseLayout(layout.element_bits, layout.crosswise, 64, 1, crosswise=layout.crosswise)
    base = (128 // layout.element_bits).bit_length() - 1
    swizzle = Swizzle(bits=3 if layout.factor == 1 else 2, base=base, shift=3)
    cute = SwizzledLayout(layout.element_bits, layout.crosswise, 64, 1, swizzle, row_major(64, layout.crosswise))

    assert np.array_equal(offsets(single), offsets(cute))


def test_store_column_is_lane_mod_8_xor_lane_div_8():
    """Eight lanes store one row of 64 fp16: lane i has vector i mod 8 of row i div 8."""
    crosswise = CrosswiseLayout(16, 64, 128, 1, crosswise=64)

    stored = crosswise.offset(LANE % 8 * 8, LANE // 8)

    assert (stored % 64 // 8).tolist() == (LANE % 8 ^ LANE // 8).tolist()
    assert access_wavefronts(stored * 2, 16) == 4


def test_stores_and_fragment_loads_are_free_of_conflicts(layout):
    """Any 32 vectors stored in order, and any 8 rows of one vector column read as a matrix."""
    vector = 128 // layout.element_bits
    vectors = layout.contiguous // vector
    place = np.arange(layout.strided * vectors).reshape(-1, 32)
    column, row = np.ogrid[:vectors, : layout.strided]

    stores = layout.byte_address(place % vectors * vector, place // vectors)
    rows = layout.byte_address(column * vector, row).reshape(vectors, -1, 32)

    assert np.all(access_wavefronts(stores, 16) == 4)
    assert np.all(ldmatrix_wavefronts(rows, 4) == 4)
