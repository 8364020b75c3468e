"""The search of layouts without conflicts, against an enumeration that knows nothing of its bounds."""

import re
from collections import defaultdict

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from gpusim.errors import BadInput
from gpusim.layout.accesses import one_instruction
from gpusim.layout.address_bits import bit_sources, render_address_bits
from gpusim.layout.bank_map import describe_layout, tile_layout
from gpusim.layout.cute import Layout, Swizzle
from gpusim.layout.search import find_conflict_free
from gpusim.layout.search_report import render_search, search_layout

STORE_AND_LDMATRIX = [("store", "16B"), ("ldmatrix", "x4")]


def lanes_of_a_phase(addresses, width):
    """128 bytes' lanes; twice as many where all lanes of a load share addresses with a neighbour."""
    lanes = min(32, 128 // width)
    paired = any(all(addresses[lane] == addresses[lane ^ apart] for lane in range(32)) for apart in (1, 2))
    return min(32, 2 * lanes) if paired else lanes


def wavefronts(addresses, width):
    """The wavefronts of one load, counted word by word."""
    lanes = lanes_of_a_phase(addresses, width)
    total = 0
    for first in range(0, 32, lanes):
        words = defaultdict(set)
        for address in addresses[first : first + lanes]:
            for byte in range(address, address + width):
                words[byte // 4 % 32].add(byte // 4)
        total += max(map(len, words.values()))
    return total


def every_swizzle(elements):
    """Every swizzle that stays within a tile whose size is a power of two."""
    top = elements.bit_length() - 1
    for bits in range(top + 1):
        for base in range(top + 1):
            for shift in (*range(-top, -bits + 1), *range(bits, top + 1)):
                swizzle = Swizzle(bits, base, shift)
                if swizzle.span <= elements:
                    yield swizzle


def keeps_vectors(swizzle, elements, vector):
    moved = swizzle.apply(np.arange(elements)).reshape(-1, vector)
    return not np.any(moved[:, 0] % vector) and bool(np.all(np.diff(moved) == 1))


@st.composite
def questions(draw):
    """A small tile with one or two accesses, whose lanes lie on a few of its vectors."""
    bits = draw(st.sampled_from([16, 32]))
    contiguous, strided = draw(st.sampled_from([(32, 16), (64, 8), (16, 32), (8, 16)]))
    accesses = []
    for _ in range(draw(st.integers(1, 2))):
        width = draw(st.sampled_from([4, 8, 16]))
        vector = width * 8 // bits
        # A lane's coordinates are linear in the bits of its number, as in real accesses.
        place = np.zeros(32, dtype=np.int64)
        for bit in range(5):
            place ^= (np.arange(32) >> bit & 1) * draw(st.integers(0, contiguous * strided // vector - 1))
        run, row = place % (contiguous // vector) * vector, place // (contiguous // vector)
        accesses.append(one_instruction("drawn", "load", width, contiguous=run, strided=row))
    return accesses, (contiguous, strided), bits


SHARED_IN_PAIRS = one_instruction(
    "drawn", "load", 8, contiguous=np.zeros(32, dtype=np.int64), strided=np.arange(32) // 16 * 2
)
"""Two addresses of a load, each of 16 lanes, in the same banks: its two phases are one, and conflict."""


@settings(max_examples=60)
@given(question=questions())
@example(question=([SHARED_IN_PAIRS], (32, 16), 16))
def test_what_is_found_has_no_conflict_and_nothing_is_missed(question):
    accesses, (contiguous, strided), bits = question
    search = find_conflict_free(accesses, (contiguous, strided), bits)
    vector = max(access.width_bytes for access in accesses) * 8 // bits
    plain = [access.strided[0] * contiguous + access.contiguous[0] for access in accesses]

    def free(move):
        moved = [
            ((move(offsets) * bits // 8).tolist(), access.width_bytes)
            for offsets, access in zip(plain, accesses, strict=True)
        ]
        return all(wavefronts(*each) == 32 // lanes_of_a_phase(*each) for each in moved)

    elements = contiguous * strided
    swizzles = [s for s in every_swizzle(elements) if keeps_vectors(s, elements, vector) and free(s.apply)]
    paddings = [
        padding
        for padding in range(vector, 2 * 1024 // bits, vector)
        if free(lambda offsets, padding=padding: offsets + offsets // contiguous * padding)
    ]

    by_kind = {kind: [c for c in search.found if c.kind == kind] for kind in ("plain", "swizzle", "padding")}
    assert all(free(candidate.swizzle.apply) for candidate in by_kind["plain"] + by_kind["swizzle"])
    assert all(candidate.padding in paddings for candidate in by_kind["padding"])
    assert bool(swizzles) == bool(by_kind["plain"] or by_kind["swizzle"])
    assert bool(paddings) == bool(by_kind["padding"])
    if swizzles:
        assert min(swizzle.bits for swizzle in swizzles) == search.found[0].swizzle.bits


@settings(max_examples=60)
@given(question=questions())
def test_no_swizzle_goes_below_the_bound(question):
    accesses, extents, bits = question
    search = find_conflict_free(accesses, extents, bits)

    assert search.ideal_wavefronts <= search.lower_bound <= search.best.wavefronts
    assert search.best.conflicts <= search.plain.conflicts


@pytest.mark.parametrize(
    ("tile", "bits", "accesses", "found"),
    [
        ((64, 64), 16, STORE_AND_LDMATRIX, ["Swizzle<3,3,3>", "padded<8>"]),
        ((32, 64), 16, STORE_AND_LDMATRIX, ["Swizzle<2,3,3>", "Swizzle<3,3,3>"]),
        ((40, 64), 16, STORE_AND_LDMATRIX, ["row_major"]),
        ((128, 8), 32, [("store", "16B"), ("lds", "m16n8k8.tf32.b.mn")], ["Swizzle<2,3,4>", "Swizzle<3,2,4>"]),
        (
            (32, 32),
            32,
            [("access", "4B@" + ",".join(f"0:{row}" for row in range(32)))],
            ["Swizzle<5,0,5>", "padded<1>"],
        ),
    ],
)
def test_the_cheapest_come_first(tile, bits, accesses, found):
    names = [candidate.name for candidate in search_layout("row_major", bits, *tile, accesses=accesses).found]

    assert names[: len(found)] == found


def test_every_name_that_is_found_is_a_layout_without_conflicts():
    for name, tile in (
        ("row_major", (64, 64)),
        ("(128,32):(1,128)", (128, 32)),
        ("Sw<1,3,3> o _0 o (64,64):(64,1)", None),
    ):
        search = search_layout(name, 16, *(tile or (None, None)), accesses=[("ldmatrix", "x4")])

        assert len(search.found) > 2
        for candidate in search.found:
            extents = tile or (64, 64)
            (access,) = describe_layout(candidate.name, 16, *extents, accesses=[("ldmatrix", "x4")]).accesses
            assert access.conflicts == 0, candidate.name


def test_a_stated_layout_keeps_its_own_form():
    search = search_layout("(128,32):(1,128)", 16, accesses=[("ldmatrix", "x4")])

    assert [candidate.name for candidate in search.found][:2] == [
        "Swizzle<3,3,4> o (128,32):(1,128)",
        "(128,32):(1,136)",
    ]


def test_a_column_of_whole_vectors_cannot_be_freed_and_the_bound_says_why():
    """A word's place in its 16 bytes leaves it 8 banks, so 32 rows of one column need 4 wavefronts."""
    column = ("access", "4B@" + ",".join(f"0:{row}" for row in range(32)))
    search = search_layout("row_major", 32, 32, 32, accesses=[("store", "16B"), column])

    assert (search.found, search.lower_bound, search.ideal_wavefronts, search.best.wavefronts) == ((), 8, 5, 8)
    assert [name for _, name in search.alone] == ["row_major", None]
    assert (
        "No layout can: vectors of 16 bytes stay whole, so each of their 4 words has 8 of the 32 banks, and these "
        "accesses need at least 8 wavefronts (ideal 5)\n"
    ) in render_search(search, 32, (32, 32))


def test_text_of_what_is_found():
    search = search_layout("row_major", 16, 64, 8, accesses=[("ldmatrix", "x1")])

    assert render_search(search, 16, (64, 8)) == (
        "Search: 30 layouts tried; row_major has 7 conflicts in 8 wavefronts\n"
        "No conflict, cheapest: Swizzle<3,3,3> (no more memory)\n"
        "also: padded<8> (+128 bytes), padded<24> (+384 bytes), padded<40> (+640 bytes), padded<56> (+896 bytes)\n"
        "\n"
        "address bit   9  8  7 |  6  5  4  3  2 |  1  0\n"
        "holds        s2 s1 s0 | c5 c4 c3 c2 c1 | c0  .\n"
        "XOR with              | s2 s1 s0       |\n"
        "bank = bits 6-2 = c5^s2 c4^s1 c3^s0 c2 c1\n"
        "s: strided coordinate (row), c: contiguous coordinate, -: always 0, .: byte within an element\n"
    )


def test_address_bits_of_a_layout_along_m():
    layout = tile_layout("Sw<3,3,4> o _0 o (128,8):(1,128)", 16)

    assert bit_sources(layout.layout) == ("c0", "c1", "c2", "c3", "c4", "c5", "c6", "s0", "s1", "s2")
    assert "bank = bits 6-2 = c5^s2 c4^s1 c3^s0 c2 c1\n" in render_address_bits(layout)


def test_padded_rows_are_no_concatenation_of_bits():
    assert bit_sources(Layout((8, 64), (72, 1))) is None
    assert (
        render_address_bits(tile_layout("padded<8>", 16, 64, 8)) == "rows 0 to 7 start at banks 0 4 8 12 16 20 24 28\n"
    )


def test_a_search_needs_accesses():
    with pytest.raises(BadInput, match=f"^{re.escape('a search needs at least one access')}$"):
        find_conflict_free([], (64, 8), 16)
