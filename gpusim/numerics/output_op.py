"""The arithmetic from accumulators to the output: scales, sums, activation and conversion; knows no addresses."""

from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from gpusim.arrays import FloatArray
from gpusim.element_types import INTEGER_RANGE
from gpusim.numerics.elements import Values, round_to
from gpusim.scenario.gemm import GemmScenario
from gpusim.scenario.product import MatrixProduct

Compute: TypeAlias = Literal["f16", "f32", "s32"]


@dataclass(frozen=True, slots=True)
class OutputOp:
    """
    The output operation of one kernel: D = activation(alpha * accumulator + beta * source + bias).

    Attributes:
        accumulator: Element type of the accumulators.
        compute: Type in which scales, sums and activation are computed; each operation is rounded to it.
        output: Element type of the output, the source and the bias.
        alpha, beta: Scales before they are rounded to ``compute``.
        scaled: False: the accumulator is stored unchanged (the partial sums of a parallel split-K).
        with_source: Whether the source is read.
        with_bias: Whether the bias is read.
        with_relu: Whether negative results become 0.

    Source: CUTLASS include/cutlass/epilogue/thread/linear_combination{,_relu,_clamp,_bias_elementwise}.h and
    conversion_op.h.
    """

    accumulator: str
    compute: Compute
    output: str
    alpha: float
    beta: float
    scaled: bool
    with_source: bool
    with_bias: bool
    with_relu: bool


def compute_type(problem: MatrixProduct) -> Compute:
    """
    Return the type an epilogue computes in.

    It is the accumulator's type, except that s32 accumulators use f32 if they are converted or scaled by fractions.
    CUTLASS's own kernels do the same: ``element_epilogue`` is the accumulator's type, and s32 with integer scales for
    an s32 output. For other outputs LinearCombinationClamp converts s32 by way of f32.

    Source: CUTLASS include/cutlass/gemm/device/default_gemm_configuration.h; python/cutlass_library/generator.py.
    """
    if problem.dtype.accumulator == "f16":
        return "f16"
    whole = problem.alpha.is_integer() and problem.beta.is_integer()
    least, most = INTEGER_RANGE["s32"]
    fits = all(least <= scale <= most for scale in (problem.alpha, problem.beta))
    return "s32" if problem.dtype.output == problem.dtype.accumulator == "s32" and whole and fits else "f32"


def slice_output_op(scenario: GemmScenario, slice_: int) -> OutputOp:
    """
    Return the output operation of the CTAs of one split-K slice.

    In a serial split-K, a later slice adds to the result of the preceding slice (its beta is 1), and only the last
    slice applies bias and activation. In a parallel split-K, every slice stores its accumulators unchanged.
    """
    problem = scenario.problem
    if problem.reduces:
        accumulator = problem.dtype.accumulator
        return OutputOp(
            accumulator, compute_type(problem), accumulator, 1.0, 0.0, scaled=False, with_source=False, with_bias=False,
            with_relu=False,
        )  # fmt: skip
    last = slice_ == problem.split_k_slices - 1
    return _whole_output_op(problem, 1.0 if slice_ else problem.beta, last=last)


def reduction_output_op(scenario: GemmScenario) -> OutputOp:
    """Return the output operation of a parallel split-K's second kernel, applied to the total of the partial sums."""
    return _whole_output_op(scenario.problem, scenario.problem.beta, last=True)


def _whole_output_op(problem: MatrixProduct, beta: float, *, last: bool) -> OutputOp:
    return OutputOp(
        accumulator=problem.dtype.accumulator,
        compute=compute_type(problem),
        output=problem.dtype.output,
        alpha=problem.alpha,
        beta=beta,
        scaled=True,
        with_source=beta != 0,
        with_bias=problem.bias and last,
        with_relu=problem.activation == "relu" and last,
    )


def apply(does: OutputOp, accumulators: Values, source: Values, bias: Values) -> FloatArray:
    """
    Apply an output operation, rounding each step as the kernel does.

    Args:
        does: Output operation.
        accumulators: Values of the accumulator's type, in any numeric array.
        source: Values of the output's type; read if ``with_source``.
        bias: Values of the output's type, broadcast over rows; read if ``with_bias``.

    Returns:
        Values that the output's type can represent.

    Not modelled: NaN, which a maximum with 0 turns into 0 on hardware but keeps here; s32 sums beyond the type's range,
    which wrap around on hardware and are clamped here.
    """
    compute = does.compute
    if not does.scaled:
        return accumulators.astype(np.float64)
    alpha, beta = (_rounded(np.asarray(scale, np.float64), compute) for scale in (does.alpha, does.beta))
    values = alpha * _rounded(accumulators, compute)
    if does.with_source:
        values = values + _rounded(beta * source.astype(np.float64), compute)
    values = _rounded(values, compute)
    if does.with_bias:
        values = _rounded(values + bias.astype(np.float64), compute)
    if does.with_relu:
        values = np.maximum(values, 0.0)
    return _rounded(values, does.output)


def scales(problem: MatrixProduct) -> tuple[float, float]:
    """Return alpha and beta, rounded to the type the kernel computes in."""
    compute = compute_type(problem)
    alpha, beta = (float(_rounded(np.asarray(scale, np.float64), compute)) for scale in (problem.alpha, problem.beta))
    return alpha, beta


def _rounded(values: Values, element: str) -> FloatArray:
    return round_to(values, element).astype(np.float64)
