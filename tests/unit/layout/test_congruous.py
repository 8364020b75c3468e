"""Laws of the congruous layout over all coordinates, and the accesses it was made for."""

import numpy as np
import pytest

from gpusim.errors import BadInput
from gpusim.layout.banks import access_wavefronts, ldmatrix_wavefronts
from gpusim.layout.congruous import CongruousLayout
from gpusim.layout.crosswise import line_elements

LANE = np.arange(32)


def offsets(layout):
    """[stage, strided, contiguous]."""
    stage, strided, contiguous = np.ogrid[: layout.stages, : layout.strided, : layout.contiguous]
    return layout.offset(contiguous, strided, stage)


@pytest.fixture(
    params=[
        (bits, lines, k, stages) for bits in (4, 8, 16, 32) for lines in (1, 2, 4) for k, stages in ((16, 3), (32, 2))
    ],
    ids=str,
)
def layout(request):
    bits, lines, k, stages = request.param
    return CongruousLayout(bits, lines * line_elements(bits), k, stages)


def test_every_coordinate_has_its_own_offset_and_none_is_wasted(layout):
    assert np.array_equal(np.sort(offsets(layout), axis=None), np.arange(layout.elements))


def test_vectors_of_16_bytes_stay_together_and_aligned(layout):
    vector = 128 // layout.element_bits
    vectors = offsets(layout).reshape(-1, vector)

    assert not np.any(vectors[:, 0] % vector)
    assert np.all(np.diff(vectors) == 1)


def test_stages_are_alike_and_follow_one_another(layout):
    first = offsets(layout)[0]

    for stage, other in enumerate(offsets(layout)):
        assert np.array_equal(other, first + stage * layout.stage_elements)


def test_the_swizzle_stays_inside_its_128_byte_line(layout):
    line = line_elements(layout.element_bits)
    contiguous, strided = np.arange(layout.contiguous), np.arange(layout.strided)[:, None]

    assert np.array_equal(
        layout.offset(contiguous, strided) // line, (strided * layout.contiguous + contiguous) // line
    )


def test_a_warp_stores_4_rows_of_a_line_without_conflict(layout):
    vector = 128 // layout.element_bits
    stored = layout.byte_address(LANE % 8 * vector, LANE // 8)

    assert access_wavefronts(stored, 16) == 4


def test_a_transposed_matrix_of_16_bit_elements_reads_8_rows_from_different_banks():
    layout = CongruousLayout(16, 128, 32, 1)
    for first, vector in np.ndindex(4, 16):
        rows = layout.byte_address(vector * 8, first * 8 + LANE % 8)
        assert ldmatrix_wavefronts(rows, 1) == 1


def test_words_of_8_neighbours_in_4_rows_lie_in_different_banks():
    """
    Lane i of an m16n8k8 fragment loads element i / 4 of row i mod 4. Unswizzled the 4 rows would share 8 banks.
    """
    layout = CongruousLayout(32, 128, 16, 1)
    for first, neighbours in np.ndindex(4, 16):
        assert access_wavefronts(layout.byte_address(neighbours * 8 + LANE // 4, first * 4 + LANE % 4), 4) == 1
    assert access_wavefronts((LANE % 4 * 128 + LANE // 4) * 4, 4) == 4


def test_rows_that_are_no_whole_lines_are_refused():
    with pytest.raises(BadInput, match=r"^congruous<16,64>: contiguous extent must be a multiple of 64, the elements"):
        CongruousLayout(16, 96, 32, 1)


def test_64_bit_elements_have_another_layout():
    with pytest.raises(BadInput, match=r"^congruous: element bits must be one of 4, 8, 16, 32, got 64$"):
        CongruousLayout(64, 64, 32, 1)
