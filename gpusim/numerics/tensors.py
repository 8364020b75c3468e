"""The tensors of a problem in simulated global memory: what is in them and how they lie, not how they are read."""

from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from gpusim.element_types import INTEGER_RANGE, INTEGERS
from gpusim.layout.matrix import MatrixView
from gpusim.numerics.elements import WORKING, Values, as_multiplied, encode, round_to
from gpusim.scenario.gemm import GemmScenario

Distribution: TypeAlias = Literal["normal", "uniform"]

_SOURCE_MAGNITUDE = 1 << 20
"""Bound of a random s32 source: exact in float32, as the linear combination reads it."""


@dataclass(frozen=True, slots=True)
class Tensors:
    """
    The inputs of one problem, flat as they are stored; offsets of the iterators index what ``elements.decode`` makes of
    them.

    Attributes:
        a: Side A, or the activation in NHWC. Shape (elements,), of type ``elements.STORED``; of 4-bit integers
            (elements / 2,). NaN, or the least integer, between the rows of a padded matrix.
        b: Side B, or the filter in KRSC, likewise.
        source: C of the linear combination, as the output lies; None where beta is 0.
        bias: One element for each column of the output; None where the problem has none.
    """

    a: Values
    b: Values
    source: Values | None
    bias: Values | None = None


def bias_view(scenario: GemmScenario) -> MatrixView:
    """The bias: one row, as long as the output's."""
    columns = scenario.problem.output_view.columns
    return MatrixView(1, columns, columns)


def workspace_view(scenario: GemmScenario) -> MatrixView:
    """The partial sums of a parallel split-K: the slices' outputs one after another, packed; no rows without one."""
    output = scenario.problem.output_view
    slices = scenario.problem.split_k_slices if scenario.problem.reduces else 0
    return MatrixView(slices * output.rows, output.columns, output.columns)


def _draw(view: MatrixView, element: str, rng: np.random.Generator, distribution: Distribution) -> Values:
    """A stored flat tensor of random values; in the padding that no access may use, NaN or the least integer."""
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
    Random inputs of a scenario.

    Floats are standard normal or uniform in [-1, 1), rounded to the operand's type: a sum of k products stays near
    sqrt(k), far from the 65504 where f16 ends. Every other tf32 value is one exactly, the rest are 32-bit floats, which
    the tensor core truncates. Integers are uniform over their whole range (an s32 source: within 2^20). The same
    scenario and seed give the same tensors.

    Args:
        scenario: Extents, layouts, leading dimensions, types and beta.
        seed: Of numpy's PCG64.
        distribution: Of every float.
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
    """A stored flat output of NaN or of an unlikely integer: an element never written cannot pass for a result."""
    element = scenario.problem.dtype.output
    return encode(np.full(scenario.problem.output_view.elements, np.nan, WORKING[element]), element)


def fresh_workspace(scenario: GemmScenario) -> Values:
    """Stored flat partial sums, unwritten likewise; empty without a parallel split-K."""
    element = scenario.problem.dtype.accumulator
    return encode(np.full(workspace_view(scenario).elements, np.nan, WORKING[element]), element)
