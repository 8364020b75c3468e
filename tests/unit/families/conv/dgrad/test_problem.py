"""The data gradient of a convolution: what a scenario file may ask, and the product that it means."""

import tomllib
from itertools import product

import numpy as np
import pytest

from gpusim.errors import BadInput
from gpusim.families.registry import family_of, parse_scenario
from gpusim.numerics.tensors import make_tensors
from gpusim.scenario.text import write_toml

PROBLEM = {"kind": "conv2d_dgrad", "n": 2, "h": 5, "w": 7, "c": 16, "k": 24, "r": 3, "s": 2, "padding": [1, 0]}
KERNEL = {"threadblock": [64, 64, 32], "warp": [32, 32, 32], "stages": 3}


def scenario(kernel=KERNEL, **problem):
    return parse_scenario({"machine": "h200", "problem": PROBLEM | problem, "kernel": kernel}, "test")


def test_extents_are_those_of_the_implicit_gemm():
    """N * H * W = 70, C = 16, K * R * S = 144."""
    assert scenario().problem.extents == (70, 16, 144)


def test_outputs_follow_the_forward_formula():
    problem = scenario(dilation=[2, 1]).problem

    assert (problem.output_p, problem.output_q) == (3, 6)


@pytest.mark.parametrize("mode", ["cross_correlation", "convolution"])
@pytest.mark.parametrize("given", [{}, {"dilation": [2, 3], "padding": [3, 2]}, {"p": 4, "q": 5}], ids=str)
def test_the_product_is_the_gradient_of_the_forward_sum(mode, given):
    """
    dx[n, h, w, c] is the sum of dy[n, p, q, k] * filter[k, r, s, c] over every (p, q, r, s, k) whose forward product
    reads x[n, h, w, c]: h = p - pad_h + r' * dilation_h, r' flipped in convolution mode.
    """
    asked = scenario(mode=mode, **given)
    problem, tensors = asked.problem, make_tensors(asked, seed=3)
    dy = np.asarray(tensors.a, np.float64).reshape(problem.n, problem.output_p, problem.output_q, problem.k)
    filters = np.asarray(tensors.b, np.float64).reshape(problem.k, problem.r, problem.s, problem.c)
    expected = np.zeros((problem.n, problem.h, problem.w, problem.c))
    for p, q, r, s in product(range(problem.output_p), range(problem.output_q), range(problem.r), range(problem.s)):
        flipped = (problem.r - 1 - r, problem.s - 1 - s) if mode == "convolution" else (r, s)
        h = p - problem.padding[0] + flipped[0] * problem.dilation[0]
        w = q - problem.padding[1] + flipped[1] * problem.dilation[1]
        if 0 <= h < problem.h and 0 <= w < problem.w:
            expected[:, h, w] += dy[:, p, q] @ filters[:, r, s]

    pairs = problem.factors(tensors.a, tensors.b, slice(0, problem.k), np)
    found = sum(left @ right for left, right in pairs)

    assert np.allclose(found, expected.reshape(-1, problem.c), rtol=0, atol=1e-9)


@pytest.mark.parametrize(
    ("problem", "kernel", "message"),
    [
        ({"stride": [2, 1]}, {}, r"^stride must be \[1, 1\] for conv2d_dgrad: strided .*, got \[2, 1\]"),
        ({}, {"iterator": "optimized"}, r'^iterator must be "analytic" for conv2d_dgrad, got "?optimized'),
        (
            {"dtype": {"ab": "s8", "accumulator": "s32", "output": "s32"}, "c": 32, "k": 32},
            {"instruction": [16, 8, 32], "threadblock": [64, 64, 64], "warp": [32, 32, 64]},
            r"^dtype\.ab must be of 16 or 32 bits for conv2d_dgrad",
        ),
        ({"k": 23}, {}, r"^k must be a multiple"),
        ({"c": 13}, {}, r"^c must be a multiple"),
        ({"split_k_slices": 2}, {}, r"^split_k_slices must be 1\.\.1, the channel tiles to share, got 2"),
        ({"r": 9}, {}, r"^r must be at most 7, so that it fits the padded h, got 9"),
    ],
    ids=["stride", "iterator", "integers", "odd filters", "odd channels", "slices", "filter"],
)
def test_what_the_kernel_does_not_compute_is_refused(problem, kernel, message):
    with pytest.raises(BadInput, match=message):
        scenario(KERNEL | kernel, **problem)


def test_its_family_is_that_of_convolutions_which_takes_the_gemms_stages():
    family = family_of(scenario())

    assert family.folder == "gpusim.families.conv"
    assert family.stage("schedule").__name__ == "gpusim.families.gemm.schedule"
    assert family.stage("timed").__name__ == "gpusim.families.conv.timed"


def test_the_filter_lies_along_columns_and_the_output_gradient_along_k():
    asked = scenario()

    assert (asked.shared_layout("a"), asked.shared_layout("b")) == ("crosswise", "congruous")


def test_its_name_in_cutlass_says_that_the_stride_is_one():
    assert scenario().problem.profiler_words("analytic") == ("dgrad_analytic", "nhwc_unity_stride")


def test_a_resolved_scenario_reads_back_to_itself():
    resolved = scenario(mode="convolution", dilation=[1, 2]).resolved()

    assert parse_scenario(tomllib.loads(write_toml(resolved)), "test").resolved() == resolved
