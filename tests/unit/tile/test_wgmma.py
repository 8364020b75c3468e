"""Laws of wgmma, for every instruction, and what is refused in which words."""

import re
from itertools import product

import numpy as np
import pytest

from gpusim.errors import BadInput
from gpusim.tile.mma import fragment_map
from gpusim.tile.wgmma import (
    WgmmaInstruction,
    accumulator_layout,
    parse_wgmma,
    register_a_layout,
    thread_values,
    wgmma_columns,
    wgmma_depth,
)

KINDS = {
    "f16": ("f32", "f16"),
    "bf16": ("f32",),
    "tf32": ("f32",),
    "e4m3": ("f32", "f16"),
    "e5m2": ("f32", "f16"),
    "s8": ("s32",),
    "u8": ("s32",),
}
EVERY = [
    WgmmaInstruction(n, ab, ab, accumulator, source)
    for ab, accumulators in KINDS.items()
    for accumulator, source in product(accumulators, ("SS", "RS"))
    for n in wgmma_columns(ab)
]


def test_there_are_32_columns_of_floats_and_18_of_integers():
    """8 to 256 in steps of 8; integers have 8, 24 and the sixteen multiples of 16."""
    assert {ab: len(wgmma_columns(ab)) for ab in KINDS} == {ab: 18 if ab in ("s8", "u8") else 32 for ab in KINDS}
    assert wgmma_columns("s8")[:5] == (8, 16, 24, 32, 48)


def test_32_bytes_lie_along_k():
    assert {ab: wgmma_depth(ab) for ab in KINDS} == {
        "f16": 16,
        "bf16": 16,
        "tf32": 8,
        **dict.fromkeys(("e4m3", "e5m2", "s8", "u8"), 32),
    }


@pytest.mark.parametrize("ab", KINDS)
def test_the_registers_of_a_warpgroup_hold_the_operands_and_the_result(ab):
    for wgmma in (each for each in EVERY if each.a == ab):
        m, n, k = wgmma.shape
        width = 16 if wgmma.accumulator == "f16" else 32

        assert wgmma.accumulator_registers * 128 * 32 == m * n * width
        assert wgmma.a_registers == (1 if wgmma.source == "SS" else m * k * wgmma.bits // 32 // 128)
        assert wgmma.descriptor_operands + (wgmma.source == "RS") == 2


def test_a_name_of_cute_is_read_back():
    assert [parse_wgmma(wgmma.cute_name) for wgmma in EVERY] == EVERY
    assert parse_wgmma("cute::SM90::GMMA::MMA_64x16x32_F16E5M2E4M3_RS_TN") == WgmmaInstruction(
        16, "e5m2", "e4m3", "f16", "RS"
    )


def test_a_name_of_ptx():
    assert WgmmaInstruction(128).ptx_name == "wgmma.mma_async.sync.aligned.m64n128k16.f32.f16.f16"


@pytest.mark.parametrize("n", wgmma_columns("f16"))
def test_every_accumulator_is_held_once(n):
    held = thread_values(accumulator_layout(n)).reshape(-1, 2)

    assert np.array_equal(np.sort(held[:, 0] * n + held[:, 1]), np.arange(64 * n))


@pytest.mark.parametrize("bits", [8, 16, 32])
def test_every_element_of_a_is_held_once(bits):
    depth = 256 // bits
    held = thread_values(register_a_layout(bits)).reshape(-1, 2)

    assert np.array_equal(np.sort(held[:, 0] * depth + held[:, 1]), np.arange(64 * depth))


@pytest.mark.parametrize(("bits", "shape"), [(8, (16, 8, 32)), (16, (16, 8, 16)), (32, (16, 8, 8))])
def test_a_warp_holds_its_16_rows_as_an_mma_sync_does(bits, shape):
    warps = thread_values(register_a_layout(bits)).reshape(4, 32, -1, 2)

    for number, warp in enumerate(warps):
        assert np.array_equal(warp, fragment_map(shape, "a", bits) + np.array((16 * number, 0)))


def test_accumulators_are_those_of_mma_sync_side_by_side():
    warp = thread_values(accumulator_layout(24))[:32].reshape(32, 3, 4, 2)

    for number in range(3):
        assert np.array_equal(warp[:, number], fragment_map((16, 8, 16), "c") + np.array((0, 8 * number)))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: WgmmaInstruction(128, a="s4"),
            "operand type of wgmma must be one of f16, bf16, tf32, e4m3, e5m2, s8, u8, got 's4'",
        ),
        (lambda: WgmmaInstruction(128, b="bf16"), "type of B beside f16 must be one of f16, got 'bf16'"),
        (
            lambda: WgmmaInstruction(128, "bf16", "bf16", "f16"),
            "accumulator of bf16 must be one of f32, got 'f16'",
        ),
        (lambda: WgmmaInstruction(132), "N of a wgmma of f16 must be a multiple of 8, at most 256, got 132"),
        (lambda: WgmmaInstruction(264), "N of a wgmma of f16 must be a multiple of 8, at most 256, got 264"),
        (
            lambda: WgmmaInstruction(40, "s8", "u8", "s32"),
            "N of a wgmma of s8 must be 8, 24 or a multiple of 16, at most 256, got 40",
        ),
        (
            lambda: WgmmaInstruction(128, "tf32", "tf32", major_b="MN"),
            "major of B must be one of K, got 'MN'",
        ),
        (lambda: WgmmaInstruction(128, source="RS", major_a="MN"), "A in registers must be K-major"),
        (lambda: parse_wgmma("HGMMA"), "wgmma must be named as MMA_64x128x16_F32F16F16_SS, got 'HGMMA'"),
        (
            lambda: parse_wgmma("MMA_64x128x8_F32F16F16_SS"),
            "MMA_64x128x8_F32F16F16_SS: K of a wgmma of f16 must be 16, got 8",
        ),
        (lambda: accumulator_layout(12), "N of a wgmma must be a multiple of 8 from 8 to 256, got 12"),
        (lambda: register_a_layout(4), "element bits of A in registers must be one of 8, 16, 32, got 4"),
    ],
)
def test_other_instructions_are_refused(make, message):
    with pytest.raises(BadInput, match=f"^{re.escape(message)}$"):
        make()
