"""The float64 reference against the plain definitions, its bound against the output types' own spacing."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from problems.small import as_given

from gpusim.families.conv.fprop.problem import Conv2dFpropProblem
from gpusim.families.gemm.gemm import GemmProblem
from gpusim.numerics.elements import as_multiplied
from gpusim.numerics.reference import (
    F32_ROUNDOFF,
    Reference,
    agreement,
    agreement_of_blocks,
    half_step,
    reference,
)
from gpusim.numerics.tensors import Tensors, make_tensors
from gpusim.scenario.models import DTypes
from gpusim.tile.extents import gemm_k_ranges


@pytest.mark.parametrize(("layout_a", "layout_b"), [*itertools.product(["row", "column"], repeat=2)])
def test_gemm_reference_is_the_sum_over_k(layout_a, layout_b):
    problem = GemmProblem(m=3, n=4, k=5, layout_a=layout_a, layout_b=layout_b, lda=7, ldb=9, ldc=6, alpha=0.5, beta=2.0)
    tensors = make_tensors(as_given(problem), 1)
    a, b, c = (tensor.astype(np.float64) for tensor in (tensors.a, tensors.b, tensors.source))
    at_a = (lambda m, k: m * 7 + k) if layout_a == "row" else (lambda m, k: k * 7 + m)
    at_b = (lambda k, n: k * 9 + n) if layout_b == "row" else (lambda k, n: n * 9 + k)
    value = reference(as_given(problem), tensors).value
    for m, n in np.ndindex(3, 4):
        expected = 0.5 * sum(a[at_a(m, k)] * b[at_b(k, n)] for k in range(5)) + 2.0 * c[m * 6 + n]
        assert value[m, n] == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("mode", ["cross_correlation", "convolution"])
def test_convolution_reference_is_the_sum_over_the_filter(mode):
    problem = Conv2dFpropProblem(
        n=2, h=5, w=6, c=2, k=3, r=2, s=3, padding=(1, 2), stride=(2, 1), dilation=(2, 1), mode=mode
    )
    tensors = make_tensors(as_given(problem), 1)
    x = tensors.a.astype(np.float64).reshape(2, 5, 6, 2)
    f = tensors.b.astype(np.float64).reshape(3, 2, 3, 2)
    p_count, q_count = problem.output_p, problem.output_q
    value = reference(as_given(problem), tensors).value.reshape(2, p_count, q_count, 3)
    for n, p, q, k in np.ndindex(value.shape):
        total = 0.0
        for r, s in np.ndindex(2, 3):
            tap = (r, s) if mode == "cross_correlation" else (1 - r, 2 - s)
            h, w = p * 2 - 1 + tap[0] * 2, q - 2 + tap[1]
            if 0 <= h < 5 and 0 <= w < 6:
                total += x[n, h, w] @ f[k, r, s]
        assert value[n, p, q, k] == pytest.approx(total, abs=1e-12)


def test_output_extent_that_is_given_is_the_first_part_of_the_usual_one():
    usual = Conv2dFpropProblem(n=1, h=7, w=7, c=2, k=2, r=3, s=3)
    smaller = usual.model_copy(update={"p": 4})
    whole = reference(as_given(usual), make_tensors(as_given(usual), 1)).value.reshape(5, 5, 2)
    part = reference(as_given(smaller), make_tensors(as_given(smaller), 1)).value.reshape(4, 5, 2)
    assert np.array_equal(part, whole[:4])


@given(st.floats(0, 65472, exclude_min=True, width=16))
def test_half_step_of_f16_is_half_its_spacing(value):
    assert half_step(np.float64(value), "f16") == float(np.spacing(np.float16(value))) / 2


@given(st.floats(0, 2.0**127, exclude_min=True, width=32))
def test_half_step_of_f32_is_half_its_spacing(value):
    assert half_step(np.float64(value), "f32") == float(np.spacing(np.float32(value))) / 2


def test_half_step_of_zero_is_the_smallest():
    assert half_step(np.float64(0), "f16") == 2.0**-25


def test_bound_is_the_stated_formula():
    """One element: |alpha| 2 K 2^-24 sum|ab|, and half a step of the output there."""
    problem = GemmProblem(m=1, n=1, k=2, alpha=-3.0)
    scenario = as_given(problem)
    tensors = make_tensors(scenario, 5)
    products = tensors.a.astype(np.float64) * tensors.b.astype(np.float64)
    summing = 2 * 2 * F32_ROUNDOFF * 3 * np.abs(products).sum()
    found = reference(scenario, tensors)
    assert found.value[0, 0] == pytest.approx(-3 * products.sum())
    assert found.bound[0, 0] == pytest.approx(summing + half_step(abs(found.value[0, 0]) + summing, "f32"))


def test_each_split_k_slice_rounds_to_the_output_once_more():
    whole = GemmProblem(m=4, n=4, k=128, dtype={"ab": "f16", "accumulator": "f32", "output": "f16"})
    split = whole.model_copy(update={"split_k_slices": 2})
    tensors = make_tensors(as_given(whole), 2)
    once, twice = reference(as_given(whole), tensors), reference(as_given(split), tensors)
    assert np.allclose(once.value, twice.value)
    assert (twice.bound > once.bound).all()


@pytest.mark.parametrize(("k", "slices"), [(232, 2), (256, 4), (72, 2), (64, 1), (200, 3)])
def test_gemm_slices_are_those_of_the_kernel(k, slices):
    scenario = as_given(GemmProblem(m=8, n=8, k=k, split_k_slices=slices), threadblock=(64, 64, 32), warp=(32, 32, 32))
    owner = scenario.problem.slice_of_summed(scenario.kernel.threadblock[2])
    for number, (begin, end) in enumerate(gemm_k_ranges(k, 32, slices)):
        assert np.array_equal(np.flatnonzero(owner == number), np.arange(begin, end))


def test_convolution_deals_channel_tiles_out_in_turn():
    scenario = as_given(
        Conv2dFpropProblem(n=1, h=4, w=4, c=80, k=8, r=1, s=1, split_k_slices=2),
        threadblock=(64, 64, 32),
        warp=(32, 32, 32),
    )
    assert scenario.problem.slice_of_summed(scenario.kernel.threadblock[2]).tolist() == [0] * 32 + [1] * 32 + [0] * 16


def typed(problem, ab, accumulator, output, **kernel):
    dtype = {"ab": ab, "accumulator": accumulator, "output": output}
    return as_given(problem.model_copy(update={"dtype": DTypes(**dtype)}), **kernel)


def test_an_integer_product_is_exact_and_its_bound_nothing():
    scenario = typed(GemmProblem(m=8, n=8, k=48), "s8", "s32", "s32")
    tensors = make_tensors(scenario, 3)
    a, b = (tensor.astype(np.int64).reshape(8, 48) for tensor in (tensors.a, tensors.b))
    found = reference(scenario, tensors)
    assert np.array_equal(found.value, a @ b.T)
    assert not found.bound.any()


def test_an_integer_output_is_rounded_and_saturated():
    scenario = typed(GemmProblem(m=16, n=16, k=64, alpha=2.0**-8), "s8", "s32", "s8")
    tensors = make_tensors(scenario, 3)
    a, b = (tensor.astype(np.int64).reshape(16, 64) for tensor in (tensors.a, tensors.b))
    found = reference(scenario, tensors)
    assert np.array_equal(found.value, np.clip(np.rint((a @ b.T) / 256), -128, 127))
    assert {-128.0, 127.0} <= set(found.value.ravel())
    assert not found.bound.any()


def test_the_bound_of_an_inexact_scale_is_the_integers_it_may_round_to():
    """Sums from 2^24 to 2^26 are rounded to float32, and so is their product: four integers each at most."""
    scenario = typed(GemmProblem(m=4, n=4, k=2048, alpha=1.0), "u8", "s32", "s32")
    found = reference(scenario, make_tensors(scenario, 1))
    assert found.value.min() > 2**24
    assert set(found.bound.ravel()) <= set(range(9))


def test_the_bound_of_an_uncertain_sum_has_its_rounding_too():
    """
    Two slices, the output through float32: 100 + 0.1f * 5 = 100.50000000745 is the integer 101, in float32 100. With
    16777117 of the second slice, 101 makes 2^24 + 2, a float32; 100 makes 2^24 + 1, which is none and becomes 2^24.
    """
    problem = GemmProblem(m=1, n=1, k=640, beta=0.1, split_k_slices=2)
    scenario = typed(problem, "u8", "s32", "s32", threadblock=(64, 64, 64), warp=(32, 32, 64))
    a, b = np.zeros(640, np.uint8), np.zeros(640, np.uint8)
    a[0] = b[0] = 10
    a[320:578] = b[320:578] = 255
    a[578], b[578] = 23, 29
    found = reference(scenario, Tensors(a, b, np.array([5], np.int32)))
    assert found.value[0, 0] == 2**24 + 2
    assert found.bound[0, 0] >= 2


def test_tf32_operands_are_truncated_before_they_are_multiplied():
    scenario = typed(GemmProblem(m=4, n=4, k=64), "tf32", "f32", "f32", instruction=(16, 8, 8))
    tensors = make_tensors(scenario, 1)
    a, b = (as_multiplied(tensor, "tf32").astype(np.float64).reshape(4, 64) for tensor in (tensors.a, tensors.b))
    exact = tensors.a.astype(np.float64).reshape(4, 64) @ tensors.b.astype(np.float64).reshape(4, 64).T
    found = reference(scenario, tensors)
    np.testing.assert_allclose(found.value, a @ b.T, rtol=1e-12)
    assert (np.abs(exact - found.value) > found.bound).any(), "rounding in place of truncation would be seen"


def test_half_of_the_tf32_values_are_tf32_exactly():
    values = make_tensors(typed(GemmProblem(m=8, n=8, k=64), "tf32", "f32", "f32"), 1).a
    exact = as_multiplied(values, "tf32") == values
    assert exact[::2].all()
    assert not exact[1::2].all()


def test_f16_accumulators_are_bound_by_their_running_sums():
    """
    All ones: the sum after 4j products is 4j, exact in f16 up to 2048. The bound adds 2^-11 of each: 64 products take
    16 roundings of 4, 8, ... 64, which is 544 * 2^-11 and what that is wrong by in its turn.
    """
    scenario = typed(GemmProblem(m=1, n=1, k=64), "f16", "f16", "f16")
    ones = np.ones(64, np.float16)
    found = reference(scenario, Tensors(ones, ones, None))
    assert found.value[0, 0] == 64
    assert 544 * 2.0**-11 < found.bound[0, 0] < 1.5 * 544 * 2.0**-11


def test_f16_running_sums_are_those_of_the_kernel_s_own_order():
    """
    A GEMM takes the tile of the residue first, so that what comes last counts least often: 1000 in the first of 40
    products is part of every later sum, in the last one of none.
    """
    scenario = typed(GemmProblem(m=1, n=1, k=40), "f16", "f16", "f16", threadblock=(64, 64, 32), warp=(32, 32, 32))
    bounds = []
    for place in (0, 39):
        a = np.zeros(40, np.float16)
        a[place] = 1000
        bounds.append(reference(scenario, Tensors(a, np.ones(40, np.float16), None)).bound[0, 0])
    assert bounds[0] > 5 * bounds[1]


@pytest.mark.parametrize("wrong", [{}, {(9, 1): 5.0}, {(2, 0): 3.0, (9, 1): 3.0}, {(4, 3): np.nan, (9, 1): 5.0}])
def test_blocks_of_rows_agree_as_the_whole_does(wrong):
    """Of equal quotients, and of elements that are not a number, the first is the worst."""
    expected = Reference(np.arange(48.0).reshape(12, 4), np.full((12, 4), 2.0))
    output = expected.value.copy()
    for place, error in wrong.items():
        output[place] += error
    blocks = [slice(begin, begin + 5) for begin in (0, 5, 10)]
    parts = ((output[rows], Reference(expected.value[rows], expected.bound[rows])) for rows in blocks)
    assert agreement_of_blocks(parts) == agreement(output, expected)


def test_rows_of_the_reference_are_those_of_the_whole():
    problem = GemmProblem(m=12, n=4, k=5, ldc=6, alpha=0.5, beta=2.0, bias=True)
    tensors = make_tensors(as_given(problem), 1)
    whole, part = (reference(as_given(problem), tensors, rows=rows) for rows in (slice(None), slice(5, 9)))
    assert np.allclose(part.value, whole.value[5:9], rtol=1e-14, atol=0)
    assert np.allclose(part.bound, whole.bound[5:9], rtol=1e-14, atol=0)
