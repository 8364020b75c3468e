"""``gpusim name``: the profiler's name of a scenario."""

import json

KERNEL = "cutlass_tensorop_f16_s16816gemm_f16_64x64_32x4_tn_align8"
KERNEL_EXTENTS = ("--set", "problem.m=64", "--set", "problem.n=64", "--set", "problem.k=64")


def test_name_prints_the_profiler_s_name_and_what_it_does_not_state(gpusim):
    answer = gpusim("name", "conv_s6_crosswise")

    assert answer.code == 0
    assert answer.out == "cutlass_tensorop_s16816fprop_analytic_f16_128x128_64x3_nhwc_align8\n"
    assert "threadblock_swizzle identity<4>, the scenario identity<1>" in answer.err
    assert gpusim("name", "--cutlass", KERNEL, *KERNEL_EXTENTS).out == f"{KERNEL}\n"
    assert json.loads(gpusim("name", "gemm_4096", "--json").out)["threadblock_swizzle"] == "identity<8>"


def test_a_kernel_without_a_name_is_one_line_and_exit_2(gpusim):
    answer = gpusim("name", "conv_s6_padded")

    assert answer.is_refusal
    assert 'shared.a must be "crosswise", as in cutlass_tensorop_s16816fprop' in answer.err
