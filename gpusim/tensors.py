"""The tensors of a problem in simulated global memory: what is in them and how they lie, not how they are read."""

from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from gpusim.scenario import Conv2dFpropProblem, GemmProblem, Scenario

Values: TypeAlias = npt.NDArray[Any]
Distribution: TypeAlias = Literal["normal", "uniform"]

NUMPY_TYPES: dict[str, npt.DTypeLike] = {"f16": np.float16, "f32": np.float32}


@dataclass(frozen=True, slots=True)
class MatrixView:
    """
    How a matrix lies in a flat tensor: ``rows`` runs of ``columns`` contiguous elements, ``leading`` elements apart.
    """

    rows: int
    columns: int
    leading: int

    @property
    def elements(self) -> int:
        """Elements of the flat tensor, from its base to the end of the last run's padding."""
        return self.rows * self.leading

    def of(self, flat: Values) -> Values:
        """The [rows, columns] view of a flat tensor, without the padding."""
        return flat.reshape(self.rows, self.leading)[:, : self.columns]


@dataclass(frozen=True, slots=True)
class Tensors:
    """
    The inputs of one problem, flat as in global memory; offsets of the iterators index them directly.

    Attributes:
        a: Operand A, or the activation in NHWC. Shape (elements,). NaN between the rows of a padded matrix.
        b: Operand B, or the filter in KRSC. Shape (elements,).
        source: C of the linear combination, as the output lies; None where beta is 0.
    """

    a: Values
    b: Values
    source: Values | None


def operand_views(scenario: Scenario) -> tuple[MatrixView, MatrixView]:
    """Operand A and B as runs of contiguous elements; the convolution's tensors are packed."""
    problem = scenario.problem
    if isinstance(problem, Conv2dFpropProblem):
        activation = MatrixView(problem.n * problem.h * problem.w, problem.c, problem.c)
        return activation, MatrixView(problem.k * problem.r * problem.s, problem.c, problem.c)
    a = (problem.m, problem.k) if problem.layout_a == "row" else (problem.k, problem.m)
    b = (problem.k, problem.n) if problem.layout_b == "row" else (problem.n, problem.k)
    return MatrixView(*a, problem.leading_a), MatrixView(*b, problem.leading_b)


def output_view(scenario: Scenario) -> MatrixView:
    """The output (and the source C) as rows of GEMM M: [m, n], or [n * p * q, k] of the convolution's NPQK."""
    problem = scenario.problem
    if isinstance(problem, GemmProblem):
        return MatrixView(problem.m, problem.n, problem.leading_c)
    return MatrixView(problem.n * problem.output_p * problem.output_q, problem.k, problem.k)


def _draw(view: MatrixView, dtype: npt.DTypeLike, rng: np.random.Generator, distribution: Distribution) -> Values:
    """A flat tensor of random values, NaN in the padding that no access may use."""
    shape = (view.rows, view.columns)
    values = rng.standard_normal(shape) if distribution == "normal" else rng.uniform(-1.0, 1.0, shape)
    flat = np.full(view.elements, np.nan, dtype)
    view.of(flat)[...] = values.astype(dtype)
    return flat


def make_tensors(scenario: Scenario, seed: int, distribution: Distribution = "normal") -> Tensors:
    """
    Random inputs of a scenario.

    Standard normal or uniform in [-1, 1), rounded to the operand's type: a sum of k products stays near
    sqrt(k), far from the 65504 where f16 ends. The same scenario and seed give the same tensors.

    Args:
        scenario: Extents, layouts, leading dimensions, types and beta.
        seed: Of numpy's PCG64.
        distribution: Of every element.
    """
    rng = np.random.default_rng(seed)
    a, b = operand_views(scenario)
    dtype = scenario.problem.dtype
    inputs = [_draw(view, NUMPY_TYPES[dtype.ab], rng, distribution) for view in (a, b)]
    source = None
    if scenario.problem.beta != 0:
        source = _draw(output_view(scenario), NUMPY_TYPES[dtype.output], rng, distribution)
    return Tensors(inputs[0], inputs[1], source)


def fresh_output(scenario: Scenario) -> Values:
    """A flat output of NaN, so that an element never written cannot pass for a result."""
    return np.full(output_view(scenario).elements, np.nan, NUMPY_TYPES[scenario.problem.dtype.output])
