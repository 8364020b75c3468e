"""The names of shared layouts: what each stands for, and what is refused in which words."""

import re

import numpy as np
import pytest

from gpusim.errors import BadInput
from gpusim.layout.crosswise import CrosswiseLayout
from gpusim.layout.cute import Layout, Swizzle, SwizzledLayout
from gpusim.layout.linear import PaddedLayout
from gpusim.layout.named import (
    CongruousSpec,
    CrosswiseSpec,
    CuteSpec,
    PaddedSpec,
    layout_names,
    parse_layout_spec,
    shared_layout,
)

NAMES = ["crosswise", "row_major", "padded<8>", "padded<16>", "Swizzle<3,3,3>", "Swizzle<2,3,3>", "Swizzle<2,3,-3>"]


def offsets(layout):
    stage, strided, contiguous = np.ogrid[: layout.stages, : layout.strided, : layout.contiguous]
    return layout.offset(contiguous, strided, stage)


@pytest.mark.parametrize("stages", [1, 3])
@pytest.mark.parametrize("contiguous", [32, 64])
@pytest.mark.parametrize("name", NAMES)
def test_every_named_layout_is_injective_and_keeps_vectors(name, contiguous, stages):
    layout = shared_layout(name, 16, contiguous, 128, stages)
    all_offsets = offsets(layout)
    vectors = all_offsets.reshape(-1, 8)

    assert len(np.unique(all_offsets)) == all_offsets.size == stages * 128 * contiguous
    assert all_offsets.min() == 0
    assert all_offsets.max() < layout.elements
    assert not np.any(vectors[:, 0] % 8)
    assert np.all(np.diff(vectors) == 1)


@pytest.mark.parametrize("name", [name for name in NAMES if not name.startswith("padded")])
def test_layouts_without_padding_are_bijections(name):
    layout = shared_layout(name, 16, 64, 128, 3)

    assert np.array_equal(np.sort(offsets(layout), axis=None), np.arange(layout.elements))


def test_padding_lengthens_every_row():
    layout = shared_layout("padded<8>", 16, 64, 128, 3)

    assert (layout.elements, layout.shared_bytes) == (3 * 128 * 72, 3 * 128 * 144)
    assert layout.offset(5, 2, 1) == 128 * 72 + 2 * 72 + 5
    assert layout.byte_address(5, 2, 1) == 2 * (128 * 72 + 2 * 72 + 5)


def test_row_major_is_padding_by_nothing():
    assert shared_layout("row_major", 16, 64, 128, 3) == PaddedLayout(16, 64, 128, 3, padding=0)


def test_swizzles_lie_over_row_major_stages_one_after_another():
    layout = shared_layout("Swizzle<3,3,3>", 16, 64, 128, 3)
    plain = shared_layout("row_major", 16, 64, 128, 3)

    assert isinstance(layout, SwizzledLayout)
    assert np.array_equal(offsets(layout), Swizzle(3, 3, 3).apply(offsets(plain)))


def test_crosswise_takes_the_k_extent_of_the_operand():
    assert shared_layout("crosswise", 16, 32, 128, 4) == CrosswiseLayout(16, 32, 128, 4, crosswise=32)


def test_a_row_of_64_fp16_as_crosswise_is_swizzle_3_3_3():
    crosswise, swizzle = (shared_layout(name, 16, 64, 128, 1) for name in ("crosswise", "Swizzle<3,3,3>"))

    assert np.array_equal(offsets(crosswise), offsets(swizzle))


def test_a_stated_layout_gives_the_strides():
    """Column-major blocks of 8 elements: vector v of row r lies at v * 16 * 8 + r * 8."""
    layout = shared_layout("(16,(8,4)):(8,(1,128))", 16, 32, 16, 1)

    assert layout.offset(17, 3) == 2 * 128 + 3 * 8 + 1


@pytest.mark.parametrize(
    ("text", "spec"),
    [
        ("crosswise", CrosswiseSpec()),
        ("crosswise<16,64>", CrosswiseSpec(16, 64)),
        ("congruous", CongruousSpec()),
        ("TensorOpMultiplicandCongruous<16, 64>", CongruousSpec(16, 64)),
        ("cutlass::layout::TensorOpMultiplicandCrosswise<16, 32>", CrosswiseSpec(16, 32)),
        ("row_major", PaddedSpec(0)),
        ("padded<8>", PaddedSpec(8)),
        ("Swizzle<3,4,3>", CuteSpec(Swizzle(3, 4, 3))),
        ("(8,64):(64,1)", CuteSpec(Swizzle(0, 0, 0), Layout((8, 64), (64, 1)))),
        ("Swizzle<3,3,3> o (8,64):(64,1)", CuteSpec(Swizzle(3, 3, 3), Layout((8, 64), (64, 1)))),
    ],
)
def test_layout_specs_are_read(text, spec):
    assert parse_layout_spec(text) == spec


def test_layout_names_are_those_of_a_scenario():
    assert layout_names() == ("crosswise", "congruous", "row_major", "padded<N>", "Swizzle<B,M,S>")


@pytest.mark.parametrize(
    ("name", "extents", "message"),
    [
        (
            "swizzled",
            (16, 64, 128, 3),
            "shared layout must be one of crosswise, congruous, row_major, padded<N>, Swizzle<B,M,S>, got 'swizzled'",
        ),
        (
            "crosswise",
            (16, 128, 128, 3),
            (
                "crosswise<16,128>: a row of 256 bytes exceeds one 128-byte shared-memory line (kFactor would be 0); "
                "at most 64 elements of 16 bits"
            ),
        ),
        ("crosswise", (16, 48, 128, 3), "crosswise<16,48>: crosswise must be one of 8, 16, 32, 64, got 48"),
        (
            "crosswise",
            (16, 32, 127, 3),
            "crosswise<16,32>: strided extent must be a multiple of kFactor 2, got 127",
        ),
        (
            "crosswise<16,64>",
            (16, 96, 128, 3),
            "crosswise<16,64>: contiguous extent must be a multiple of 64, got 96",
        ),
        (
            "crosswise<8,64>",
            (16, 64, 128, 3),
            "crosswise<8,64>: element bits must be those of the operand, 16, got 8",
        ),
        (
            "congruous<16,32>",
            (16, 64, 32, 3),
            "congruous<16,32>: crosswise must be 64, a whole 128-byte line, got 32",
        ),
        ("crosswise", (64, 16, 128, 3), "crosswise<64,16>: element bits must be one of 4, 8, 16, 32, got 64"),
        ("row_major", (12, 64, 128, 3), "row_major: element bits must be one of 4, 8, 16, 32, 64, got 12"),
        ("row_major", (16, 64, 128, 0), "row_major: stages must be at least 1, got 0"),
        (
            "row_major",
            (16, 60, 128, 3),
            "row_major: contiguous extent must be a multiple of 8 elements of 16 bits (128-bit vectors), got 60",
        ),
        (
            "padded<4>",
            (16, 64, 128, 3),
            (
                "padded<4>: padding must be a multiple of 8 elements of 16 bits, so that rows start at 128-bit "
                "vectors, got 4"
            ),
        ),
        (
            "Swizzle<3,2,3>",
            (16, 64, 128, 3),
            "Swizzle<3,2,3>: M must be at least 3, so that 8 elements stay together, got 2",
        ),
        ("Swizzle<3,3,1>", (16, 64, 128, 3), "Swizzle<3,3,1>: |S| must be at least B, got S = 1 with B = 3"),
        (
            "(128,64):(1,128)",
            (16, 64, 128, 3),
            "(128,64):(1,128): (128,64):(1,128) must keep vectors of 8 contiguous elements together and aligned",
        ),
        (
            "(128,64):(8,1)",
            (16, 64, 128, 3),
            "(128,64):(8,1): (128,64):(8,1) gives two coordinates the same offset",
        ),
    ],
)
def test_illegal_layouts_are_refused_in_one_line(name, extents, message):
    with pytest.raises(BadInput, match=f"^{re.escape(message)}$"):
        shared_layout(name, *extents)
