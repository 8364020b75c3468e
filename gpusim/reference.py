"""The float64 answer to a problem and how far a correct kernel may be from it; knows nothing of tiles in flight.

Whoever keeps the tensors on a device passes its array module (``xp``), whose functions are numpy's by name.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from gpusim.arrays import BoolArray, FloatArray, IntArray
from gpusim.scenario import Conv2dFpropProblem, GemmProblem, Scenario
from gpusim.tensors import Tensors, operand_views, output_view

# Unit roundoff of f32, in which products are summed and the linear combination is computed.
F32_ROUNDOFF = 2.0**-24

# Significand bits and the exponent of half the smallest subnormal step, of each output type.
_OUTPUT_FORMATS = {"f16": (11, -25), "f32": (24, -150)}


@dataclass(frozen=True, slots=True)
class Reference:
    """
    Attributes:
        value: alpha * A * B + beta * C in float64. Shape (rows, columns) of the output.
        bound: Largest absolute difference a correct kernel may show, per element.
    """

    value: FloatArray
    bound: FloatArray


def gemm_k(scenario: Scenario) -> int:
    """Products summed into one output element: k of a GEMM, c * r * s of a convolution."""
    problem = scenario.problem
    return problem.k if isinstance(problem, GemmProblem) else problem.c * problem.r * problem.s


def slice_of_channel(scenario: Scenario) -> IntArray:
    """
    The split-K slice that sums each index of GEMM K (of each channel, in a convolution). Shape (k or c,).

    A GEMM gives each slice ceil(k tiles / slices) consecutive k tiles; a convolution deals its channel tiles
    out in turn (``advance`` steps over all slices' tiles).
    """
    problem = scenario.problem
    tile_k = scenario.kernel.threadblock[2]
    if isinstance(problem, Conv2dFpropProblem):
        return (np.arange(problem.c, dtype=np.int64) // tile_k) % problem.split_k_slices
    tiles_per_slice = -(-problem.k // tile_k)
    tiles_per_slice = -(-tiles_per_slice // problem.split_k_slices)
    return np.arange(problem.k, dtype=np.int64) // (tile_k * tiles_per_slice)


@dataclass(frozen=True, slots=True)
class Agreement:
    """
    How an output compares with the reference.

    Attributes:
        elements: Of the output.
        wrong_elements: Those beyond their bound, or not a number.
        max_error: Largest absolute difference; None where an element is not a number.
        max_error_over_bound: Largest quotient of difference and bound, at most 1 if all is well; None likewise.
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
        xp: The array module.
    """
    error = xp.abs(output.astype(xp.float64) - expected.value)
    quotient = error / expected.bound
    row, column = divmod(int(xp.argmax(quotient)), quotient.shape[1])
    finite = bool(xp.isfinite(error).all())
    return Agreement(
        elements=int(error.size),
        wrong_elements=int((~(error <= expected.bound)).sum()),
        max_error=float(error.max()) if finite else None,
        max_error_over_bound=float(quotient.max()) if finite else None,
        worst_element=(row, column),
    )


def _input_index(problem: Conv2dFpropProblem, axis: int, position: int) -> tuple[IntArray, BoolArray]:
    """Input rows (axis 0) or columns (1) under one filter position, for each output one, and which of them exist."""
    extent = (problem.h, problem.w)[axis]
    outputs = np.arange((problem.output_p, problem.output_q)[axis], dtype=np.int64)
    index = outputs * problem.stride[axis] - problem.padding[axis] + position * problem.dilation[axis]
    return np.clip(index, 0, extent - 1), (index >= 0) & (index < extent)


def _conv_factors(problem: Conv2dFpropProblem, tensors: Tensors, xp: Any) -> Iterator[tuple[Any, Any]]:
    """One pair of factors ([n * p * q, c], [c, k]) for each filter position; their products add up to the output."""
    activation = tensors.a.reshape(problem.n, problem.h, problem.w, problem.c).astype(np.float64)
    filters = tensors.b.reshape(problem.k, problem.r, problem.s, problem.c).astype(np.float64)
    flip = problem.mode == "convolution"
    for r in range(problem.r):
        for s in range(problem.s):
            at_r, at_s = (problem.r - 1 - r, problem.s - 1 - s) if flip else (r, s)
            h, h_valid = _input_index(problem, 0, at_r)
            w, w_valid = _input_index(problem, 1, at_s)
            inside = xp.asarray((h_valid[:, None] & w_valid[None, :])[None, :, :, None])
            seen = activation[:, xp.asarray(h[:, None]), xp.asarray(w[None, :]), :] * inside
            yield seen.reshape(-1, problem.c), filters[:, r, s, :].T


def _gemm_factors(scenario: Scenario, problem: GemmProblem, tensors: Tensors) -> Iterator[tuple[Any, Any]]:
    """The one pair of factors of a GEMM: [m, k] and [k, n]."""
    view_a, view_b = operand_views(scenario)
    a = view_a.of(tensors.a).astype(np.float64)
    b = view_b.of(tensors.b).astype(np.float64)
    yield (a if problem.layout_a == "row" else a.T), (b if problem.layout_b == "row" else b.T)


def half_step(magnitude: Any, output: str, xp: Any = np) -> Any:
    """
    Half the distance between neighbouring numbers of the output type at a magnitude: the rounding to nearest.

    Args:
        magnitude: Not negative. Any shape.
        output: "f16" or "f32".
        xp: The array module.
    """
    bits, smallest = _OUTPUT_FORMATS[output]
    exponent = xp.where(magnitude > 0, xp.frexp(magnitude)[1] - 1 - bits, smallest)
    return xp.ldexp(xp.ones_like(magnitude), xp.maximum(exponent, smallest).astype(xp.int32))


def reference(scenario: Scenario, tensors: Tensors, xp: Any = np) -> Reference:
    """
    The answer and its bound.

    bound = 2 * K * 2^-24 * |alpha| * sum|a * b|, for a float32 sum of K exact products in any order and the
    product with alpha; plus, where beta is not 0, 2^-24 * |beta * C| for each float32 rounding it takes part
    in; plus the rounding to the output type. With serial split-K every slice's running result goes through
    the output type, so each of them adds one rounding, at the magnitude it has then.

    Args:
        scenario: The problem and, for split-K, the threadblock's K extent.
        tensors: Its inputs.
        xp: The array module of the inputs; the answer is of the same.

    Not modelled: overflow of the output type (``make_tensors`` stays far from it).
    """
    problem = scenario.problem
    slices = problem.split_k_slices
    owner = xp.asarray(slice_of_channel(scenario))
    view = output_view(scenario)
    sums = xp.zeros((slices, view.rows, view.columns))
    magnitudes = xp.zeros((view.rows, view.columns))
    factors = (
        _gemm_factors(scenario, problem, tensors)
        if isinstance(problem, GemmProblem)
        else _conv_factors(problem, tensors, xp)
    )
    for a, b in factors:
        for number in range(slices):
            mine = owner == number
            sums[number] += a[:, mine] @ b[mine]
        magnitudes += xp.abs(a) @ xp.abs(b)

    alpha, beta = float(np.float32(problem.alpha)), float(np.float32(problem.beta))
    value = xp.zeros((view.rows, view.columns))
    bound = 2 * gemm_k(scenario) * F32_ROUNDOFF * abs(alpha) * magnitudes
    if tensors.source is not None:
        value = beta * view.of(tensors.source).astype(xp.float64)
        bound = bound + (1 + slices) * F32_ROUNDOFF * xp.abs(value)
    for partial in sums:
        value = value + alpha * partial
        bound = bound + half_step(xp.abs(value) + bound, problem.dtype.output, xp)
    return Reference(value, bound)
