"""Laws of GMMA atoms, for all of them, and what is refused in which words."""

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpusim.errors import BadInput
from gpusim.layout.gmma.atom import GMMA_BITS, GMMA_SWIZZLES, MAJORS, GmmaAtom, widest_atom

ATOMS = [GmmaAtom(major, swizzle, bits) for major in MAJORS for swizzle in GMMA_SWIZZLES for bits in GMMA_BITS]
WIDTHS = {"INTER": 16, "SW32": 32, "SW64": 64, "SW128": 128}

every_atom = pytest.mark.parametrize("atom", ATOMS, ids=str)


def by_line(atom):
    """The offset of every element, by line and place in the line."""
    line, place = np.ogrid[:8, : atom.line]
    return atom.offset(line, place) if atom.major == "K" else atom.offset(place, line)


@every_atom
def test_an_atom_is_a_bijection(atom):
    assert np.array_equal(np.sort(by_line(atom), axis=None), np.arange(atom.size))


@every_atom
def test_an_atom_is_8_lines_of_the_width_of_its_swizzle(atom):
    assert atom.line * atom.element_bits == WIDTHS[atom.swizzle] * 8
    assert (atom.mn, atom.k) == ((8, atom.line) if atom.major == "K" else (atom.line, 8))
    assert atom.size_bytes == 8 * WIDTHS[atom.swizzle]
    assert atom.layout.size == atom.layout.cosize == atom.size


@every_atom
def test_a_line_keeps_its_place_and_vectors_of_16_bytes_stay_whole(atom):
    vector = 128 // atom.element_bits
    lines = by_line(atom)

    assert np.array_equal(lines // atom.line, np.broadcast_to(np.arange(8)[:, np.newaxis], lines.shape))
    assert np.array_equal(lines.reshape(-1, vector) % vector, np.tile(np.arange(vector), (atom.size // vector, 1)))


@every_atom
def test_the_vectors_of_a_line_are_xored_with_the_number_of_its_128_bytes(atom):
    """The rule of PTX in words of its own: line r of W bytes lies in block r * W / 128 of 128 bytes."""
    vector = 128 // atom.element_bits
    width = WIDTHS[atom.swizzle]
    line, place = np.ogrid[:8:1, : atom.line]
    block = line * width // 128
    moved = (place // vector) ^ (block % (width // 16))

    assert np.array_equal(by_line(atom), line * atom.line + moved * vector + place % vector)


@every_atom
def test_one_vector_of_each_line_covers_all_banks(atom):
    byte = by_line(atom)[:, 0] * atom.element_bits // 8

    assert sorted(byte // 16 % 8) == list(range(8))


@given(st.sampled_from(MAJORS), st.sampled_from(GMMA_BITS), st.integers(1, 4096))
def test_the_widest_atom_is_the_first_that_divides(major, bits, vectors):
    atom = widest_atom(major, bits, vectors * 128 // bits)
    dividing = [swizzle for swizzle, width in WIDTHS.items() if vectors * 16 % width == 0]

    assert atom == GmmaAtom(major, dividing[-1], bits)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: GmmaAtom("M", "SW128", 16), "major must be one of K, MN, got 'M'"),
        (lambda: GmmaAtom("K", "SW256", 16), "swizzle must be one of INTER, SW32, SW64, SW128, got 'SW256'"),
        (lambda: GmmaAtom("K", "SW128", 64), "element bits of a GMMA atom must be one of 4, 8, 16, 32, got 64"),
        (
            lambda: widest_atom("K", 16, 12),
            "extent along K must be a multiple of 8 elements of 16 bits, got 12",
        ),
        (
            lambda: widest_atom("MN", 8, 0),
            "extent along M or N must be a multiple of 16 elements of 8 bits, got 0",
        ),
    ],
)
def test_other_atoms_are_refused(make, message):
    with pytest.raises(BadInput, match=f"^{re.escape(message)}$"):
        make()
