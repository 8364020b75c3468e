"""
The float64 result of a problem, and the error bound of a correct kernel; it knows nothing of a kernel's ops.

A caller whose tensors are on a device passes its array module (``xp``), whose functions have numpy's names.
"""

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from gpusim.arrays import FloatArray
from gpusim.element_types import INTEGER_RANGE, INTEGERS
from gpusim.layout.matrix import MatrixView
from gpusim.numerics.elements import as_multiplied, decode
from gpusim.numerics.output_op import compute_type, scales
from gpusim.numerics.tensors import Tensors
from gpusim.scenario.gemm import GemmScenario

# Unit roundoffs. Products are summed, and the linear combination is computed, in f32.
F32_ROUNDOFF = 2.0**-24
F16_ROUNDOFF = 2.0**-11

F16_SUMMED = 4
"""Fewest products between two roundings of a 16-bit accumulator: the shortest dot product of any tensor core."""

# Significand bits, and the exponent of half the smallest subnormal step, for each floating output type.
_OUTPUT_FORMATS = {"f16": (11, -25), "bf16": (8, -134), "f32": (24, -150)}

BLOCK_ELEMENTS = 1 << 21
"""Largest number of output elements whose float64 reference is in memory at a time."""

_LEAST_BOUND = 2.0**-300
"""Replaces a bound of 0 as a divisor of differences."""


@dataclass(frozen=True, slots=True)
class Reference:
    """
    The exact result of a problem, with the error that a correct kernel may have.

    Attributes:
        value: activation(alpha * A * B + beta * C + bias) in float64. Shape (rows, columns) of the output.
        bound: Largest absolute difference a correct kernel may show, per element. Same shape.
    """

    value: FloatArray
    bound: FloatArray


@dataclass(frozen=True, slots=True)
class Agreement:
    """
    The agreement of an output with the reference.

    Attributes:
        elements: Elements of the output.
        wrong_elements: Elements beyond their bound, or not a number.
        max_error: Largest absolute difference; None if an element is not a number.
        max_error_over_bound: Largest quotient of difference and bound, at most 1 for a correct output; None if an
            element is not a number.
        worst_element: (row, column) of that quotient, or of the first element that is not a number.
    """

    elements: int
    wrong_elements: int
    max_error: float | None
    max_error_over_bound: float | None
    worst_element: tuple[int, int]


def agreement(output: Any, expected: Reference, xp: Any = np) -> Agreement:
    """
    Compare an output with its reference, element by element.

    Args:
        output: Shape (rows, columns), NaN where nothing was written.
        expected: Value and bound, of the same array module.
        xp: Array module.
    """
    return agreement_of_blocks([(output, expected)], xp)


def agreement_of_blocks(blocks: Iterable[tuple[Any, Reference]], xp: Any = np) -> Agreement:
    """
    Compare an output with its reference block by block, so that only one block of the reference is in memory.

    Args:
        blocks: Blocks of consecutive rows of the output, each with its reference; at least one (``agreement``).
        xp: Array module.
    """
    rows = elements = wrong = 0
    finite, worst, largest, greatest = True, (0, 0), -1.0, -1.0
    for output, expected in blocks:
        error = xp.abs(output.astype(xp.float64) - expected.value)
        quotient = error / xp.maximum(expected.bound, _LEAST_BOUND)
        row, column = divmod(int(xp.argmax(quotient)), quotient.shape[1])
        here = float(quotient[row, column])
        if not math.isnan(greatest) and not here <= greatest:
            greatest, worst = here, (rows + row, column)
        finite = finite and bool(xp.isfinite(error).all())
        largest = max(largest, float(error.max()))
        rows, elements = rows + len(error), elements + int(error.size)
        wrong += int((~(error <= expected.bound)).sum())
    return Agreement(elements, wrong, largest if finite else None, greatest if finite else None, worst)


def row_blocks(view: MatrixView) -> Iterator[slice]:
    """Yield blocks of an output's rows, of at most ``BLOCK_ELEMENTS`` elements or of one row."""
    size = max(1, BLOCK_ELEMENTS // view.columns)
    yield from (slice(begin, min(begin + size, view.rows)) for begin in range(0, view.rows, size))


def _factors(
    scenario: GemmScenario, tensors: Tensors, xp: Any, rows: slice, summed: slice = slice(None)
) -> Iterator[tuple[Any, Any]]:
    """
    Yield the pairs of ``MatrixProduct.factors`` for some rows, new arrays in float64, as the tensor core multiplies.
    """
    element = scenario.problem.dtype.ab
    a, b = (as_multiplied(decode(stored, element, xp), element, xp) for stored in (tensors.a, tensors.b))
    for left, right in scenario.problem.factors(a, b, summed, xp):
        yield left[rows].astype(xp.float64), right.astype(xp.float64)


def half_step(magnitude: Any, output: str, xp: Any = np) -> Any:
    """
    Return the largest error of rounding to nearest: half the distance between neighbours of the output type.

    Args:
        magnitude: Magnitudes at which to take the distance, at least 0. Any shape.
        output: "f16", "bf16" or "f32".
        xp: Array module.
    """
    bits, smallest = _OUTPUT_FORMATS[output]
    exponent = xp.where(magnitude > 0, xp.frexp(magnitude)[1] - 1 - bits, smallest)
    return xp.ldexp(xp.ones_like(magnitude), xp.maximum(exponent, smallest).astype(xp.int32))


def reference(scenario: GemmScenario, tensors: Tensors, xp: Any = np, rows: slice = slice(None)) -> Reference:
    """
    Compute the answer to a problem and the error bound of a correct kernel.

    32-bit float accumulators: the bound is 2 * K * 2^-24 * |alpha| * sum|a * b|, for a float32 sum of K exact products
    in any order and the product with alpha. If beta is not 0, each float32 rounding of a value that includes beta * C
    adds 2^-24 * |beta * C|. The rounding to the output type is also added. Products of f16, bf16 and tf32 values are
    exact in float32; tf32 operands are truncated first, as the tensor core does. With serial split-K, every slice's
    running result is rounded to the output type, at its current magnitude. A parallel split-K sums the slices in the
    accumulator's type. A bias adds one rounding of the type the epilogue computes in. Activation and clamping never
    increase a difference.

    16-bit float accumulators: instead of 2^-24 * sum|a * b|, the running sum is rounded to f16 after every
    ``F16_SUMMED`` products. Each rounding adds 2^-11 of the current magnitude, error included. alpha and beta are
    applied in f16, with one rounding each.

    Integers: the sum is exact. The bound is the largest error of rounding the float32 linear combination to an integer.
    It is 0 if every step is exact, as with alpha 1, beta 0 and sums below 2^24, or with a linear combination in s32.

    Args:
        scenario: The problem and, for split-K, the threadblock's K extent.
        tensors: Inputs of the problem, as they are stored.
        xp: Array module of the inputs and of the answer.
        rows: Rows of the output to compute.

    Not modelled: overflow of a floating output type (``make_tensors`` stays far from it), and saturation of s32
    accumulators on the way (beyond 2^31, which 131072 products of 8 bits can reach).

    Source: for the rounding of 16-bit accumulators to nearest, Fasi et al., Numerical behavior of NVIDIA tensor cores,
    PeerJ Computer Science (2021).
    """
    problem, dtype = scenario.problem, scenario.problem.dtype
    if dtype.output in INTEGERS:
        return _integer_reference(scenario, tensors, xp, rows)
    alpha, beta = scales(problem)
    compute = compute_type(problem)
    sums, bound = _SUMS[dtype.accumulator](scenario, tensors, xp, rows)
    partials, bound = _partials(scenario, sums, bound, xp)
    value = xp.zeros_like(bound)
    bound = abs(alpha) * bound
    if tensors.source is not None:
        value = beta * _source(scenario, tensors.source, xp, rows)
        bound = bound + (1 + len(partials)) * F32_ROUNDOFF * xp.abs(value)
        if compute == "f16":
            bound = bound + half_step(xp.abs(value), "f16", xp)
    for number, partial in enumerate(partials):
        value = value + alpha * partial
        if compute == "f16":
            bound = bound + half_step(xp.maximum(xp.abs(value), abs(alpha) * xp.abs(partial)) + bound, "f16", xp)
        if number == len(partials) - 1:
            value, bound = _finished(scenario, tensors, value, bound, xp)
        bound = bound + half_step(xp.abs(value) + bound, dtype.output, xp)
    return Reference(value, bound)


def _partials(scenario: GemmScenario, sums: Any, bound: Any, xp: Any) -> tuple[list[Any], Any]:
    """Return the sums that pass through the output operation: one per slice, or their total in a parallel split-K."""
    if not scenario.problem.reduces:
        return list(sums), bound
    running = xp.zeros_like(sums[0])
    for partial in sums:
        running = running + partial
        if scenario.problem.dtype.accumulator == "f16":
            bound = bound + half_step(xp.abs(running) + bound, "f16", xp)
    return [running], bound


def _source(scenario: GemmScenario, stored: Any, xp: Any, rows: slice) -> Any:
    """Return rows of the source C in float64."""
    problem = scenario.problem
    return problem.output_view.of(decode(stored, problem.dtype.output, xp))[rows].astype(xp.float64)


def _finished(scenario: GemmScenario, tensors: Tensors, value: Any, bound: Any, xp: Any) -> tuple[Any, Any]:
    """Add the bias and apply the activation, in the floating type that the epilogue computes in."""
    problem = scenario.problem
    if tensors.bias is not None:
        value = value + decode(tensors.bias, problem.dtype.output, xp).astype(xp.float64)
        bound = bound + half_step(xp.abs(value) + bound, compute_type(problem), xp)
    return (xp.maximum(value, 0.0) if problem.activation == "relu" else value), bound


def _shape(scenario: GemmScenario, rows: slice) -> tuple[int, int]:
    """Return the number of rows and of columns of some rows of the output."""
    view = scenario.problem.output_view
    return len(range(view.rows)[rows]), view.columns


def _sums(scenario: GemmScenario, tensors: Tensors, xp: Any, rows: slice) -> tuple[Any, Any]:
    """
    Return each split-K slice's sum of products, [slices, rows, columns], and the sum of magnitudes over all slices.

    Magnitudes are summed in float32, which takes half the time, and enlarged by the possible loss.
    """
    slices, shape = scenario.problem.split_k_slices, _shape(scenario, rows)
    owner = xp.asarray(scenario.problem.slice_of_summed(scenario.kernel.threadblock[2]))
    sums = xp.zeros((slices, *shape))
    magnitudes = xp.zeros(shape)
    for a, b in _factors(scenario, tensors, xp, rows):
        for number in range(slices):
            mine = owner == number if slices > 1 else slice(None)
            sums[number] += a[:, mine] @ b[mine]
        magnitudes += xp.abs(a, out=a).astype(xp.float32) @ xp.abs(b, out=b).astype(xp.float32)
    return sums, magnitudes * (1 + 2 * scenario.problem.products * F32_ROUNDOFF)


def _f32_sums(scenario: GemmScenario, tensors: Tensors, xp: Any, rows: slice) -> tuple[Any, Any]:
    """Return the sums of each slice, and the error bound of float32 accumulators."""
    sums, magnitudes = _sums(scenario, tensors, xp, rows)
    return sums, 2 * scenario.problem.products * F32_ROUNDOFF * magnitudes


def _f16_sums(scenario: GemmScenario, tensors: Tensors, xp: Any, rows: slice) -> tuple[Any, Any]:
    """
    Return the sums of each slice, and the error bound of 16-bit accumulators over all slices together.

    K tiles are summed in the kernel's order, so that the running sums are the kernel's.
    """
    slices, shape = scenario.problem.split_k_slices, _shape(scenario, rows)
    owner = scenario.problem.slice_of_summed(scenario.kernel.threadblock[2])
    sums = xp.zeros((slices, *shape))
    wrong = xp.zeros(shape)
    for number in range(slices):
        mine = np.flatnonzero(owner == number)
        error = xp.zeros_like(wrong)
        for k in scenario.problem.summed_tiles(scenario.kernel.threadblock[2], mine):
            for a, b in _factors(scenario, tensors, xp, rows, k):
                for begin in range(0, a.shape[1], F16_SUMMED):
                    left, right = a[:, begin : begin + F16_SUMMED], b[begin : begin + F16_SUMMED]
                    sums[number] += left @ right
                    error += 2 * F16_SUMMED * F32_ROUNDOFF * (xp.abs(left) @ xp.abs(right))
                    error += F16_ROUNDOFF * (xp.abs(sums[number]) + error) + half_step(0 * error, "f16", xp)
        wrong += error
    return sums, wrong


def _s32_sums(scenario: GemmScenario, tensors: Tensors, xp: Any, rows: slice) -> tuple[Any, Any]:
    """Return the exact sums of each slice, and the error of converting them to float32 and multiplying by alpha."""
    sums, _ = _sums(scenario, tensors, xp, rows)
    return sums, 2 * F32_ROUNDOFF * xp.abs(sums).sum(axis=0)


_SUMS = {"f32": _f32_sums, "f16": _f16_sums, "s32": _s32_sums}


def _integer_reference(scenario: GemmScenario, tensors: Tensors, xp: Any, rows: slice) -> Reference:
    """Return the exact result of the linear combination, and the largest error of its rounding to integers."""
    problem, output = scenario.problem, scenario.problem.dtype.output
    alpha, beta = scales(problem)
    error = _no_error if compute_type(problem) in INTEGERS else _float32_error
    partials, _ = _partials(scenario, _sums(scenario, tensors, xp, rows)[0], 0.0, xp)
    running = xp.zeros(_shape(scenario, rows))
    low = high = running
    if tensors.source is not None:
        running = low = high = _source(scenario, tensors.source, xp, rows)
    for number, partial in enumerate(partials):
        scale = beta if number == 0 else 1.0
        product = alpha * xp.clip(partial, *INTEGER_RANGE["s32"])
        wrong = abs(alpha) * error(partial, 0.0, xp)
        wrong = wrong + error(product, wrong, xp)
        spread = abs(scale) * xp.maximum(high - running, running - low)
        wrong = wrong + error(scale * running, spread, xp)
        wrong = wrong + error(product + scale * running, wrong + spread, xp)
        if number == len(partials) - 1 and tensors.bias is not None:
            product = product + decode(tensors.bias, output, xp).astype(xp.float64)
            wrong = wrong + error(product + scale * running, wrong + spread, xp)
        floor = 0.0 if number == len(partials) - 1 and problem.activation == "relu" else -xp.inf
        least, greatest = (scale * low, scale * high) if scale >= 0 else (scale * high, scale * low)
        low = _to_integer(xp.maximum(product + least - wrong, floor), output, xp)
        high = _to_integer(xp.maximum(product + greatest + wrong, floor), output, xp)
        running = _to_integer(xp.maximum(product + scale * running, floor), output, xp)
    return Reference(running, xp.maximum(high - running, running - low))


def _no_error(value: Any, _wrong: Any, xp: Any) -> Any:
    """Return 0, since integer arithmetic is exact."""
    return xp.zeros_like(value)


def _float32_error(value: Any, wrong: Any, xp: Any) -> Any:
    """Return the error of rounding a value with the error ``wrong`` to float32; 0 if it is certainly a float32."""
    exact = (value.astype(xp.float32) == value) & (wrong == 0)
    return xp.where(exact, 0.0, F32_ROUNDOFF * (xp.abs(value) + wrong))


def _to_integer(value: Any, output: str, xp: Any) -> Any:
    return xp.clip(xp.rint(value), *INTEGER_RANGE[output])
