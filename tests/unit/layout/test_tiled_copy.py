"""Fragments and tiled copies: their instructions, their conflicts, and the forms they are written in."""

import re

import pytest

from gpusim.errors import BadInput
from gpusim.layout.bank_map import describe_layout
from gpusim.layout.tiled_copy import COPY_FORMS, parse_tiled_copy


def cost(name, *access, bits=16, tile=(None, None)):
    (report,) = describe_layout(name, bits, *tile, accesses=[access]).accesses
    return report.access.instructions, report.wavefronts, report.ideal_wavefronts, report.ways


@pytest.mark.parametrize(
    ("fragment", "bits", "expected"),
    [
        ("m16n8k8.tf32.a", 32, (4, 32, 4, 8)),
        ("m16n8k8.tf32.b", 32, (2, 16, 2, 8)),
        ("m16n8k16.f16.a", 16, (4, 32, 4, 8)),
        ("m16n8k16.f16.b", 16, (2, 16, 2, 8)),
        ("m16n8k32.s8.a", 8, (4, 32, 4, 8)),
    ],
)
def test_fragments_of_rows_of_128_bytes_conflict_8_ways(fragment, bits, expected):
    """One 32-bit word a lane: 8 rows of 4 words, and every row begins at bank 0."""
    assert cost("row_major", "lds", fragment, bits=bits, tile=(1024 // bits, 32)) == expected


def test_a_fragment_along_n_is_loaded_from_rows_of_k():
    """Four rows of k, 8 words of n each: 128 floats apart, so 4 lanes of one n meet in a bank."""
    assert cost("row_major", "lds", "m16n8k8.tf32.b.mn", bits=32, tile=(128, 8)) == (2, 8, 2, 4)
    assert cost("(128,8):(1,128)", "lds", "m16n8k8.tf32.b", bits=32) == (2, 8, 2, 4)
    assert cost("congruous", "lds", "m16n8k8.tf32.b", bits=32, tile=(64, 8))[0] == 2


def test_narrow_elements_along_n_move_one_by_one():
    instructions, *_ = cost("row_major", "lds", "m16n8k16.f16.b.mn", tile=(64, 16))

    assert instructions == 4


def test_accumulators_are_stored_in_pairs():
    """Two floats a lane: 8 rows of 4 pairs, 256 bytes apart."""
    assert cost("row_major", "sts", "m16n8k16.f16.c", tile=(128, 16)) == (2, 16, 2, 8)


def test_a_copy_of_rows_covers_the_tile():
    copy = "UniversalCopy<uint128_t>, (16,8):(8,1), (1,8)"

    assert cost("row_major", "copy-to", copy, tile=(64, 64)) == (16, 64, 64, 1)


def test_a_matrix_copy_covers_the_tile_with_every_warp():
    """128 x 32 of A by 2x2 warps: two warps along N load the same half."""
    copy = "SM75_U32x4_LDSM_N, SM80_16x8x16_F32F16F16F32_TN.A 2x2"

    assert cost("row_major", "copy-from", copy, tile=(32, 128)) == (32, 512, 128, 4)
    assert cost("Swizzle<2,3,3>", "copy-from", copy, tile=(32, 128)) == (32, 128, 128, 1)


@pytest.mark.parametrize("warps", ["", " 1x1", " 4x2"])
def test_warps_are_served_apart_so_their_number_changes_no_conflict(warps):
    copy = f"SM75_U32x4_LDSM_N, m16n8k16.f16.B{warps}"
    instructions, wavefronts, _, ways = cost("row_major", "copy-from", copy, tile=(64, 128))

    assert (wavefronts / instructions, ways) == (32, 8)


@pytest.mark.parametrize(
    ("name", "access", "message"),
    [
        ("row_major", ("copy-from", "LDSM"), f"tiled copy must be {COPY_FORMS}, got 'LDSM'"),
        (
            "row_major",
            ("copy-from", "TiledCopy\nTiledLayout_TV: (32,8):(8,1)"),
            (
                "tiled copy as CuTe prints it must have Tiler_MN, TiledLayout_TV, ValLayoutSrc, ValLayoutDst, "
                "ValLayoutRef; "
                "Tiler_MN, ValLayoutSrc, ValLayoutDst, ValLayoutRef is missing"
            ),
        ),
        (
            "row_major",
            ("copy-to", "SM75_U32x4_LDSM_N, m16n8k16.f16.A"),
            "copy to: SM75_U32x4_LDSM_N of m16n8k16.f16.A: ldmatrix does not write to shared memory",
        ),
        (
            "row_major",
            ("copy-from", "SM80_CP_ASYNC_CACHEGLOBAL<uint128_t>, (4,8):(8,1), (1,8)"),
            "copy from: SM80_CP_ASYNC_CACHEGLOBAL<uint128_t>: cp.async does not read from shared memory",
        ),
        (
            "row_major",
            ("copy-from", "UniversalCopy<uint128_t>, (32,1):(1,0), (8,1)"),
            "copy from: UniversalCopy<uint128_t>: copies tiles of 256x1, which must divide 64x64",
        ),
        (
            "row_major",
            ("copy-from", "UniversalCopy<uint128_t>, (4,8):(8,1), (8,1)"),
            (
                "copy from: UniversalCopy<uint128_t>: the values of one lane must lie side by side along the "
                "contiguous dimension"
            ),
        ),
        ("row_major", ("lds", "m16n8k8.tf32.a"), "lds m16n8k8.tf32.a: elements must have 32 bits, got 16"),
        ("row_major", ("copy-from", "UniversalCopy<uint128_t>, (4,4):(4,1), (1,8)"), None),
    ],
)
def test_copies_that_cannot_be_are_refused_in_one_line(name, access, message):
    message = message or "copy from: UniversalCopy<uint128_t>: must have whole warps of 32 threads, got 16"
    with pytest.raises(BadInput, match=f"^{re.escape(message)}$"):
        describe_layout(name, 16, 64, 64, accesses=[access])


def test_a_layout_of_threads_must_number_them():
    with pytest.raises(
        BadInput, match=r"^layout of threads must number its 32 coordinates from 0, got \(4,8\):\(1,1\)$"
    ):
        parse_tiled_copy("UniversalCopy<uint128_t>, (4,8):(1,1), (1,8)", 16)
