"""What CuTe prints is read: static integers, swizzles of bytes and of elements, nested shapes, and what is refused."""

import re

import pytest

from gpusim.errors import BadInput
from gpusim.layout.bank_map import describe_layout, tile_layout
from gpusim.layout.cute import Layout, Swizzle
from gpusim.layout.named import CuteSpec, PaddedSpec, parse_layout_spec, stated_extents
from gpusim.layout.printed import Composition, parse_composition, parse_layout

ATOM = Layout((8, 64), (64, 1))


@pytest.mark.parametrize(
    ("text", "composition"),
    [
        ("(_8,_64):(_64,_1)", Composition(Swizzle(0, 0, 0), ATOM)),
        ("Sw<3,3,3> o _0 o (_8,_64):(_64,_1)", Composition(Swizzle(3, 3, 3), ATOM)),
        ("S<3,3,3> o 0 o (8,64):(64,1)", Composition(Swizzle(3, 3, 3), ATOM)),
        ("Swizzle<3,3,3> o (8,64):(64,1)", Composition(Swizzle(3, 3, 3), ATOM)),
        ("Sw<3,4,3> o smem_ptr[16b](unset) o (_8,_64):(_64,_1)", Composition(Swizzle(3, 4, 3), ATOM, 16)),
        ("Sw<3,4,3> o smem_ptr[16b](0x7f00) o (_8,_64):(_64,_1)", Composition(Swizzle(3, 4, 3), ATOM, 16)),
        ("Sw<2,4,-3>", Composition(Swizzle(2, 4, -3), None)),
    ],
)
def test_compositions_are_read(text, composition):
    assert parse_composition(text) == composition


def test_nested_static_shapes_are_read():
    assert parse_layout("((_8,_16),(_64,_1)):((_64,_512),(_1,_0))") == Layout(((8, 16), (64, 1)), ((64, 512), (1, 0)))


@pytest.mark.parametrize(
    ("bits", "swizzle"),
    [(8, Swizzle(3, 4, 3)), (16, Swizzle(3, 3, 3)), (32, Swizzle(3, 2, 3)), (4, Swizzle(3, 5, 3))],
)
def test_a_swizzle_over_a_pointer_counts_bytes(bits, swizzle):
    """Swizzle<3,4,3> leaves 16 bytes together: 8 elements of 16 bits, 4 of 32."""
    spec = parse_layout_spec(f"Sw<3,4,3> o smem_ptr[{bits}b](unset) o (_8,_64):(_64,_1)")

    assert isinstance(spec, CuteSpec)
    assert (spec.swizzle, spec.pointer_bits) == (swizzle, bits)


@pytest.mark.parametrize(
    ("name", "extents"),
    [
        ("(8,64):(64,1)", (64, 8, 1)),
        ("(_128,_8):(_1,_128)", (128, 8, 1)),
        ("(64,8,(1,3)):(8,1,(0,512))", (8, 64, 3)),
        ("32:1", (32, 1, 1)),
        ("(1,64):(0,1)", (64, 1, 1)),
        ("Swizzle<3,3,3>", None),
        ("crosswise", None),
    ],
)
def test_a_stated_layout_has_its_extents(name, extents):
    assert stated_extents(name) == extents


def test_the_mode_with_the_smaller_stride_is_contiguous():
    layout = tile_layout("(128,8):(1,128)", 16)

    assert (layout.contiguous, layout.strided) == (128, 8)
    assert layout.offset(5, 2) == 2 * 128 + 5


def test_a_third_mode_is_stages():
    layout = tile_layout("Sw<3,3,3> o _0 o (_8,_64,_3):(_64,_1,_512)", 16)

    assert (layout.stages, layout.elements) == (3, 1536)
    assert layout.offset(0, 0, 2) == 1024


@pytest.mark.parametrize(
    "name",
    [
        "cutlass::layout::RowMajor",
        "::cutlass::layout::ColumnMajor",
        "row_major",
    ],
)
def test_cutlass_names_of_plain_layouts_are_read(name):
    assert parse_layout_spec(name) == PaddedSpec(0)


def test_cutlass_names_of_multiplicands_have_a_major():
    plain = parse_layout_spec("crosswise<16,64>")

    for major in ("RowMajor", "ColumnMajor", ""):
        assert parse_layout_spec(f"cutlass::layout::{major}TensorOpMultiplicandCrosswise<16, 64>") == plain


@pytest.mark.parametrize(
    ("name", "message"),
    [
        (
            "cutlass::layout::AffineRank2RowMajor",
            (
                "CUTLASS's shared layouts known here are RowMajor, ColumnMajor, {RowMajor,ColumnMajor,}"
                "TensorOpMultiplicandCrosswise<bits,crosswise> and {RowMajor,ColumnMajor,}"
                "TensorOpMultiplicandCongruous<bits,crosswise>, got 'cutlass::layout::AffineRank2RowMajor'"
            ),
        ),
        (
            "Sw<3,3,3> o _8 o (_8,_64):(_64,_1)",
            "between swizzle and layout must stand _0 or smem_ptr[16b](unset), got '_8'",
        ),
        ("Swizzle<9,9,30>", "Swizzle<9,9,30>: B + M + |S| must be at most 31, the bits of an offset"),
        (
            "Swizzle<9,9,9> o (64,64):(64,1)",
            "Swizzle<9,9,9>: permutes blocks of 262144 elements, which must be at most the 4096 elements of a stage",
        ),
        (
            "Sw<3,4,3> o smem_ptr[32b](unset) o (_8,_64):(_64,_1)",
            (
                "Sw<3,4,3> o smem_ptr[32b](unset) o (_8,_64):(_64,_1): element bits must be those of the operand, 16, "
                "got 32"
            ),
        ),
        (
            "(8,64,3):(64,1,600)",
            "(8,64,3):(64,1,600): stages must lie 512 elements apart, one after another, got 3:600",
        ),
        (
            "(8,64,3,2):(64,1,512,1536)",
            "(8,64,3,2):(64,1,512,1536): must have two modes, or three with the stages last, got 4",
        ),
        ("row_major", "row_major: needs the extents of a tile, which this name does not state"),
    ],
)
def test_layouts_that_cannot_be_are_refused_in_one_line(name, message):
    with pytest.raises(BadInput, match=f"^{re.escape(message)}$"):
        tile_layout(name, 16)


def test_a_base_shifts_every_bank():
    """64 bytes further on, lane 0's vector begins at bank 16; conflicts of row-major rows stay as they are."""
    plain, moved = (describe_layout("row_major", 16, 64, 64, accesses=[("ldmatrix", "x4")], base=b) for b in (0, 64))

    assert moved.bank_table()[0, 0] == 16
    assert moved.accesses[0].addresses[0] == 64
    assert moved.accesses[0].conflicts == plain.accesses[0].conflicts == 28


def test_a_base_off_a_line_splits_rows_over_two_lines():
    """A swizzle of offsets moves 16-byte vectors as wholes, so a base of 16 bytes only turns the banks."""
    access = describe_layout("Swizzle<3,3,3>", 16, 64, 64, accesses=[("ldmatrix", "x4")], base=16).accesses[0]

    assert (access.addresses[0], access.conflicts) == (16, 0)


@pytest.mark.parametrize(
    ("name", "base", "message"),
    [
        ("row_major", -16, "base must be an integer of 0 to 1000000, got -16"),
        (
            "Sw<3,4,3> o smem_ptr[16b](unset) o (_8,_64):(_64,_1)",
            128,
            (
                "Sw<3,4,3> o smem_ptr[16b](unset) o (_8,_64):(_64,_1): acts on addresses and reads their bits up to "
                "1024 bytes, so the base must be a multiple of 1024, got 128"
            ),
        ),
    ],
)
def test_bases_that_cannot_be_are_refused(name, base, message):
    with pytest.raises(BadInput, match=f"^{re.escape(message)}$"):
        describe_layout(name, 16, 64, 8, base=base)
