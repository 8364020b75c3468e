"""Laws of tiles of GMMA atoms, for all atoms, shapes and orders, and what is refused in which words."""

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpusim.errors import BadInput
from gpusim.layout.gmma.atom import GMMA_BITS, GMMA_SWIZZLES, MAJORS, GmmaAtom
from gpusim.layout.gmma.tile import ALONG_K, ALONG_MN, GMMA_STEPS, tile_to_shape

atoms = st.builds(GmmaAtom, st.sampled_from(MAJORS), st.sampled_from(GMMA_SWIZZLES), st.sampled_from(GMMA_BITS))
TILE = tile_to_shape(GmmaAtom("K", "SW128", 16), (128, 128, 3))


@st.composite
def tiles(draw):
    atom = draw(atoms)
    along_mn, along_k, stages = (draw(st.integers(1, 4)) for _ in range(3))
    return tile_to_shape(atom, (atom.mn * along_mn, atom.k * along_k, stages), draw(st.sampled_from(GMMA_STEPS)))


def coordinates(tile):
    return np.ogrid[: tile.mn, : tile.k, : tile.stages]


@given(tiles())
def test_a_tile_is_a_bijection(tile):
    assert np.array_equal(np.sort(tile.offset(*coordinates(tile)), axis=None), np.arange(tile.elements))
    assert tile.size_bytes * 8 == tile.elements * tile.atom.element_bits


@given(tiles())
def test_every_atom_of_a_tile_is_the_atom(tile):
    row, column, stage = coordinates(tile)
    atom = tile.atom
    number = tile.offset(row // atom.mn * atom.mn, column // atom.k * atom.k, stage)

    assert np.all(number % atom.size == 0)
    assert np.array_equal(tile.offset(row, column, stage), number + atom.offset(row % atom.mn, column % atom.k))


@given(tiles())
def test_atoms_follow_one_another_in_the_order_of_the_step(tile):
    rows, columns = np.arange(0, tile.mn, tile.atom.mn), np.arange(0, tile.k, tile.atom.k)
    first = tile.offset(rows[:, np.newaxis], columns)
    order = first.T if tile.step == ALONG_MN else first

    assert order.ravel().tolist() == [number * tile.atom.size for number in range(first.size)]


@given(tiles())
def test_stages_lie_one_after_another(tile):
    row, column, stage = coordinates(tile)

    assert np.array_equal(tile.offset(row, column, stage), tile.offset(row, column) + stage * tile.mn * tile.k)


@given(tiles())
def test_a_shared_layout_has_the_same_places(tile):
    row, column, stage = coordinates(tile)
    shared = tile.shared
    contiguous, strided = (column, row) if tile.atom.major == "K" else (row, column)

    assert np.array_equal(shared.offset(contiguous, strided, stage), tile.offset(row, column, stage))
    assert (shared.elements, shared.shared_bytes) == (tile.elements, tile.size_bytes)


@given(tiles())
def test_without_a_pointer_cute_takes_the_swizzle_for_one_of_elements(tile):
    """Only for bytes, and without a swizzle, is it the same. A tile of one atom may be too small to show it."""
    where = coordinates(tile)
    same = np.array_equal(tile.unset_offset(*where), tile.offset(*where))

    assert same or (tile.atom.element_bits != 8 and tile.atom.swizzle != "INTER")


def test_a_step_is_that_of_cutlass_unless_it_is_given():
    steps = {major: tile_to_shape(GmmaAtom(major, "SW128", 16), (64, 64, 1)).step for major in MAJORS}

    assert steps == {"K": ALONG_MN, "MN": ALONG_K}


def test_places_of_a_tile_by_hand():
    """Row 1 starts at 64, and its vector 0 is in place 1. A column of atoms has 16, and column 64 is in the second."""
    assert TILE.offset(1, 0) == 64 + 8
    assert TILE.offset(8, 0) == 512
    assert TILE.offset(0, 64) == 512 * 16
    assert TILE.offset(0, 0, 2) == 2 * 128 * 128


def test_a_layout_is_printed_in_cutes_form():
    assert str(TILE.layout) == "((8,16),(64,2),3):((64,512),(1,8192),16384)"


@pytest.mark.parametrize(
    ("shape", "step", "message"),
    [
        (
            (128, 96, 3),
            None,
            "GMMA::Layout_K_SW128_Atom<16b>: M or N must be a multiple of 8 and K a multiple of 64, got 128 and 96",
        ),
        (
            (12, 64, 3),
            None,
            "GMMA::Layout_K_SW128_Atom<16b>: M or N must be a multiple of 8 and K a multiple of 64, got 12 and 64",
        ),
        ((128, 64, 0), None, "stages must be an integer of 1 to 1048576, got 0"),
        (
            (128, 64, 3),
            (3, 2, 1),
            "step must be (1, 2, 3), along M or N first, or (2, 1, 3), along K first, got (3, 2, 1)",
        ),
    ],
)
def test_other_tiles_are_refused(shape, step, message):
    with pytest.raises(BadInput, match=f"^{re.escape(message)}$"):
        tile_to_shape(GmmaAtom("K", "SW128", 16), shape, step)
