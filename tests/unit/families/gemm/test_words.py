"""What captions say of a GEMM or convolution: one line of its problem, one of its kernel."""

import pytest

from gpusim.families.gemm.words import words
from gpusim.families.registry import parse_gemm_scenario

GEMM = {"kind": "gemm", "m": 4096, "n": 2048, "k": 1024}
FUSED = {"layout_a": "column", "split_k_slices": 4, "split_k": "parallel", "bias": True, "activation": "relu"}
CONV = {"kind": "conv2d_fprop", "n": 1, "h": 64, "w": 64, "c": 64, "k": 64, "r": 3, "s": 3, "padding": [1, 1]}
F32 = "f16, f32 accumulate, f32 out"


def parsed(problem, kernel):
    return parse_gemm_scenario({"machine": "h200", "problem": problem, "kernel": kernel}, "test")


@pytest.mark.parametrize(
    ("problem", "kernel", "line"),
    [
        (GEMM, {}, f"gemm 4096x2048x1024, a row, b column, {F32}"),
        (GEMM | {"split_k_slices": 4}, {}, f"gemm 4096x2048x1024, a row, b column, serial split-K 4, {F32}"),
        (GEMM | FUSED, {}, f"gemm 4096x2048x1024, a column, b column, parallel split-K 4, bias, relu, {F32}"),
        (CONV, {}, f"conv2d_fprop 1x64x64x64, 64 filters 3x3, padding 1x1, {F32}"),
    ],
)
def test_the_problem_in_one_line(problem, kernel, line):
    assert words(parsed(problem, kernel)).problem == line


@pytest.mark.parametrize(
    ("problem", "kernel", "line"),
    [
        (
            GEMM,
            {"stages": 4, "shared": {"a": "padded<8>"}},
            "multistage, 128x128x64, warp 64x64x64, mma m16n8k16, 4 stages, a padded<8>, b crosswise",
        ),
        (
            CONV,
            {"iterator": "optimized"},
            (
                "multistage, optimized iterators, 128x128x64, warp 64x64x64, mma m16n8k16, 3 stages, a crosswise,"
                " b crosswise"
            ),
        ),
    ],
)
def test_the_kernel_in_one_line(problem, kernel, line):
    assert words(parsed(problem, kernel)).kernel == line
