"""What captions say of a scenario: one line of its problem, one of its kernel."""

import pytest

from gpusim.families.registry import family_of, parse_scenario

GEMM = {"kind": "gemm", "m": 4096, "n": 2048, "k": 1024}
FUSED = {"layout_a": "column", "split_k_slices": 4, "split_k": "parallel", "bias": True, "activation": "relu"}
CONV = {"kind": "conv2d_fprop", "n": 1, "h": 64, "w": 64, "c": 64, "k": 64, "r": 3, "s": 3, "padding": [1, 1]}
ATTENTION = {"kind": "attention", "batch": 2, "heads": 8, "queries": 512, "keys": 256, "head_dim": 64, "head_dim_v": 32}
F32 = "f16, f32 accumulate, f32 out"


def words_of(problem, kernel=None):
    scenario = parse_scenario({"machine": "h200", "problem": problem, "kernel": kernel or {}}, "test")
    return family_of(scenario).words(scenario)


@pytest.mark.parametrize(
    ("problem", "kernel", "line"),
    [
        (GEMM, {}, f"gemm 4096x2048x1024, a row, b column, {F32}"),
        (GEMM | {"split_k_slices": 4}, {}, f"gemm 4096x2048x1024, a row, b column, serial split-K 4, {F32}"),
        (GEMM | FUSED, {}, f"gemm 4096x2048x1024, a column, b column, parallel split-K 4, bias, relu, {F32}"),
        (CONV, {}, f"conv2d_fprop 1x64x64x64, 64 filters 3x3, padding 1x1, {F32}"),
        (
            ATTENTION | {"mask": "causal_top_left", "key_lengths": [256, 100]},
            {"mainloop": "attention"},
            f"attention 2 x 8 heads of 64x32, 512 queries, 256 keys, causal top left mask, ragged, {F32}",
        ),
    ],
)
def test_the_problem_in_one_line(problem, kernel, line):
    assert words_of(problem, kernel).problem == line


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
        (ATTENTION, {"mainloop": "flash"}, "flash, 128 queries x 64 keys, mma m16n8k16, 2 stages"),
    ],
)
def test_the_kernel_in_one_line(problem, kernel, line):
    assert words_of(problem, kernel).kernel == line
