"""The tensors of a problem in simulated global memory: their contents and layout, not their accesses."""

from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from gpusim.element_types import INTEGER_RANGE, INTEGERS
from gpusim.layout.matrix import MatrixView
from gpusim.numerics.elements import WORKING, Values, as_multiplied, encode, round_to, unwritten_tensor
from gpusim.scenario.gemm import GemmScenario

Distribution: TypeAlias = Literal["normal", "uniform"]

_SOURCE_MAGNITUDE = 1 << 20
"""Bound of a random s32 source, so that it is exact in float32, the type of the linear combination."""


@dataclass(frozen=True, slots=True)
class Tensors:
    """
    The inputs of one problem, flat, as they are stored. Iterator offsets index the result of ``elements.decode``.

    Attributes:
        a: A, or the activation in NHWC. Shape (elements,) of type ``elements.STORED``; 4-bit integers have
            (elements / 2,). The padding between the rows of a matrix holds NaN or the least integer.
        b: B, or the filter in KRSC, in the same form.
        source: C of the linear combination, in the output's layout; None if beta is 0.
        bias: One element for each column of the output; None if the problem has no bias.
    """

    a: Values
    b: Values
    source: Values | None
    bias: Values | None = None


def bias_view(scenario: GemmScenario) -> MatrixView:
    """Return the view of the bias: one row, as long as the output's."""
    columns = scenario.problem.output_view.columns
    return MatrixView(1, columns, columns)


def workspace_view(scenario: GemmScenario) -> MatrixView:
    """
    Return the view of a parallel split-K's partial sums: the packed outputs of all slices in order.

    It has no rows without parallel split-K.
    """
    output = scenario.problem.output_view
    slices = scenario.problem.split_k_slices if scenario.problem.reduces else 0
    return MatrixView(slices * output.rows, output.columns, output.columns)


def _draw(view: MatrixView, element: str, rng: np.random.Generator, distribution: Distribution) -> Values:
    """
    Draw a stored flat tensor of random values, with NaN or the least integer in the padding that no access may use.
    """
    shape = (view.rows, view.columns)
    if element in INTEGERS:
        low, high = INTEGER_RANGE[element] if element != "s32" else (-_SOURCE_MAGNITUDE, _SOURCE_MAGNITUDE)
        flat = np.full(view.elements, low, WORKING[element])
        view.of(flat)[...] = rng.integers(low, high, shape, endpoint=True)
        return encode(flat, element)
    values = rng.standard_normal(shape) if distribution == "normal" else rng.uniform(-1.0, 1.0, shape)
    flat = np.full(view.elements, np.nan, WORKING[element])
    view.of(flat)[...] = round_to(values, element)
    if element == "tf32":
        flat[::2] = as_multiplied(flat[::2], element)
    return encode(flat, element)


def make_tensors(scenario: GemmScenario, seed: int, distribution: Distribution = "normal") -> Tensors:
    """
    Draw the random inputs of a scenario.

    Floats are standard normal or uniform in [-1, 1), rounded to the operand's type. A sum of k products stays near
    sqrt(k), far from 65504, the largest f16. Half of the tf32 values are exact tf32 values; the others are 32-bit
    floats, which the tensor core truncates. Integers are uniform over their whole range (an s32 source: within 2^20).
    The same scenario and seed give the same tensors.

    Args:
        scenario: Extents, layouts, leading dimensions, types and beta.
        seed: Seed of numpy's PCG64.
        distribution: Distribution of every float.
    """
    rng = np.random.default_rng(seed)
    a, b = scenario.problem.operand_views
    dtype = scenario.problem.dtype
    inputs = [_draw(view, dtype.ab, rng, distribution) for view in (a, b)]
    source = None
    if scenario.problem.beta != 0:
        source = _draw(scenario.problem.output_view, dtype.output, rng, distribution)
    bias = _draw(bias_view(scenario), dtype.output, rng, distribution) if scenario.problem.bias else None
    return Tensors(inputs[0], inputs[1], source, bias)


def fresh_output(scenario: GemmScenario) -> Values:
    """Return a stored flat output in which unwritten elements are recognisable (``elements.unwritten_tensor``)."""
    return unwritten_tensor(scenario.problem.output_view.elements, scenario.problem.dtype.output)


def fresh_workspace(scenario: GemmScenario) -> Values:
    """Return stored flat partial sums, filled like ``fresh_output``; empty without a parallel split-K."""
    return unwritten_tensor(workspace_view(scenario).elements, scenario.problem.dtype.accumulator)
