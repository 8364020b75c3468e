"""The float64 result of an sm_90 GEMM, and the error bound of a correct kernel; it knows nothing of a kernel's ops."""

from collections.abc import Iterator

import numpy as np

from gpusim.arrays import FloatArray
from gpusim.element_types import INTEGER_RANGE, INTEGERS
from gpusim.families.hopper.execute.kernel import compute_type_of
from gpusim.families.hopper.execute.tensors import HopperTensors
from gpusim.families.hopper.problem import HopperProblem
from gpusim.numerics.elements import round_to
from gpusim.numerics.reference import F16_ROUNDOFF, F16_SUMMED, F32_ROUNDOFF, Reference, half_step

_ROUNDINGS = 3
"""float32 roundings of an integer's linear combination: the sum, the product and the source, and their sum."""

_EXACT = 2.0**24
"""Integers below it are exact in float32."""

_ROWS = 2048
"""Rows of which the reference is in memory at a time."""


def references(problem: HopperProblem, tensors: HopperTensors) -> Iterator[tuple[int, slice, Reference]]:
    """
    Yield the reference of blocks of rows: the batch, the rows, and alpha * A * B + beta * C with its bound.

    float32 accumulators: 2 * K * 2^-24 * |alpha| * sum|a * b|, a rounding of beta * C, and the rounding to the output
    type, as in ``gpusim.numerics.reference``. f16 accumulators: the running sum is rounded to f16 after every
    ``F16_SUMMED`` products. Integers: 0 if every step is exact.
    """
    for batch in range(problem.l):
        a, b = tensors.matrices(problem, batch)
        c = tensors.source(problem, batch)
        for begin in range(0, problem.m, _ROWS):
            rows = slice(begin, min(begin + _ROWS, problem.m))
            yield batch, rows, _reference(problem, a[rows], b, None if c is None else c[rows])


def _reference(problem: HopperProblem, a: FloatArray, b: FloatArray, c: FloatArray | None) -> Reference:
    sums = a @ b
    source = np.zeros_like(sums) if c is None else problem.beta * c
    if problem.dtype.output in INTEGERS:
        return _integers(problem, sums, source)
    alpha, beta = (float(np.float32(scale)) for scale in (problem.alpha, problem.beta))
    source = np.zeros_like(sums) if c is None else beta * c
    value = alpha * sums + source
    if problem.dtype.accumulator == "s32":
        error = 2 * F32_ROUNDOFF * np.abs(sums)
    elif problem.dtype.accumulator == "f16":
        error = _f16_error(a, b)
    else:
        error = 2 * problem.k * F32_ROUNDOFF * (np.abs(a) @ np.abs(b))
    bound = abs(alpha) * error + 2 * F32_ROUNDOFF * np.abs(source)
    return Reference(value, bound + half_step(np.abs(value) + bound, problem.dtype.output))


def _f16_error(a: FloatArray, b: FloatArray) -> FloatArray:
    """Return the error bound of f16 accumulators that are rounded after every ``F16_SUMMED`` products."""
    sums = error = np.zeros((len(a), b.shape[1]))
    for begin in range(0, a.shape[1], F16_SUMMED):
        left, right = a[:, begin : begin + F16_SUMMED], b[begin : begin + F16_SUMMED]
        sums = sums + left @ right
        error = error + 2 * F16_SUMMED * F32_ROUNDOFF * (np.abs(left) @ np.abs(right))
        error = error + F16_ROUNDOFF * (np.abs(sums) + error) + half_step(0 * error, "f16")
    return error


def _integers(problem: HopperProblem, sums: FloatArray, source: FloatArray) -> Reference:
    """Return the rounded and saturated linear combination, and how far float32 roundings may take it."""
    output = problem.dtype.output
    sums = np.clip(sums, *INTEGER_RANGE["s32"])
    value = problem.alpha * sums + source
    exact = problem.alpha == 1 and not source.any() and bool((np.abs(sums) < _EXACT).all())
    error = np.zeros_like(value)
    if compute_type_of(problem) != "s32" and not exact:
        error = _ROUNDINGS * F32_ROUNDOFF * (np.abs(problem.alpha * sums) + np.abs(source))
    low, middle, high = (round_to(one, output).astype(np.float64) for one in (value - error, value, value + error))
    return Reference(middle, np.maximum(high - middle, middle - low))
