"""The tensors of an sm_90 GEMM in simulated global memory, as boxes of TMA read and write them."""

from dataclasses import dataclass

import numpy as np

from gpusim.arrays import ByteArray, FloatArray
from gpusim.element_types import INTEGER_RANGE, INTEGERS
from gpusim.families.hopper.execute.elements import Bits, from_bits, to_bits
from gpusim.families.hopper.problem import HopperProblem
from gpusim.numerics.elements import WORKING, Values, as_multiplied

Place3 = tuple[int, int, int]
"""Coordinates or extents along the dimensions of a tensor, the contiguous one first."""

_SOURCE_MAGNITUDE = 1 << 20
"""Bound of a random s32 source, so that it is exact in float32."""


@dataclass(frozen=True, slots=True)
class HopperTensors:
    """
    The inputs of one problem, as bits of elements.

    Attributes:
        a: A. Shape (l, m, k) if K is contiguous, else (l, k, m).
        b: B. Shape (l, n, k) if K is contiguous, else (l, k, n).
        c: C. Shape (l, m, n); None if beta is 0.
    """

    a: Bits
    b: Bits
    c: Bits | None

    def matrices(self, problem: HopperProblem, batch: int) -> tuple[FloatArray, FloatArray]:
        """Return A, of shape (m, k), and B, of shape (k, n), of a batch as tensor cores multiply them, in float64."""
        a, b = (multiplied(one[batch], problem.dtype.ab).astype(np.float64) for one in (self.a, self.b))
        a_along_k, b_along_k = problem.k_contiguous
        return a if a_along_k else a.T, b.T if b_along_k else b

    def source(self, problem: HopperProblem, batch: int) -> FloatArray | None:
        """Return C of a batch in float64, of shape (m, n); None if beta is 0."""
        return None if self.c is None else from_bits(self.c[batch], problem.dtype.output).astype(np.float64)


def multiplied(bits: Bits, element: str) -> Values:
    """Return operands as the tensor core multiplies them, which truncates tf32."""
    values: Values = as_multiplied(from_bits(bits, element), element)
    return values


def _draw(shape: Place3, element: str, rng: np.random.Generator) -> Bits:
    if element in INTEGERS:
        low, high = INTEGER_RANGE[element] if element != "s32" else (-_SOURCE_MAGNITUDE, _SOURCE_MAGNITUDE)
        return to_bits(rng.integers(low, high, shape, endpoint=True).astype(WORKING[element]), element)
    return to_bits(rng.standard_normal(shape).astype(WORKING.get(element, np.float64)), element)


def draw_tensors(problem: HopperProblem, seed: int) -> HopperTensors:
    """
    Draw the random inputs of a problem: standard normal floats, rounded to their type, and integers of the whole range.

    tf32 values are 32-bit floats, of which a tensor core ignores the low bits. The same problem and seed give the same
    tensors.
    """
    rng, element = np.random.default_rng(seed), problem.dtype.ab
    a_along_k, b_along_k = problem.k_contiguous
    a = (problem.m, problem.k) if a_along_k else (problem.k, problem.m)
    b = (problem.n, problem.k) if b_along_k else (problem.k, problem.n)
    shapes = ((problem.l, *a), (problem.l, *b))
    first, second = (_draw(shape, element, rng) for shape in shapes)
    c = _draw((problem.l, problem.m, problem.n), problem.dtype.output, rng) if problem.beta != 0 else None
    return HopperTensors(first, second, c)


def read_box(tensor: Bits, first: Place3, box: Place3) -> Bits:
    """
    Return a box of a tensor; elements outside are 0. Shape (rows, columns).

    Args:
        tensor: Shape (l, rows, columns).
        first: First element along columns, rows and batches.
        box: Extents along columns and rows, and 1 batch.

    Source: PTX ISA, cp.async.bulk.tensor, tiled mode and out-of-bounds fill.
    """
    (column, row, batch), (columns, rows, _) = first, box
    inside = tensor[batch, row : row + rows, column : column + columns] if batch < len(tensor) else tensor[0, :0, :0]
    if inside.shape == (rows, columns):
        return inside
    whole = np.zeros((rows, columns), tensor.dtype)
    whole[: inside.shape[0], : inside.shape[1]] = inside
    return whole


class OutputGrid:
    """
    The output in global memory, with a count of the stores to each element.

    Attributes:
        values: NaN where nothing was stored. Shape (l, m, n).
        stores: Stores to each element, up to 255. Same shape.
    """

    def __init__(self, problem: HopperProblem) -> None:
        shape = (problem.l, problem.m, problem.n)
        self.element = problem.dtype.output
        self.values: Values = np.full(shape, np.nan, WORKING[self.element])
        self.stores: ByteArray = np.zeros(shape, np.uint8)

    def store(self, first: Place3, bits: Bits) -> None:
        """Store a box of elements, of shape (rows, columns), of which those outside the tensor are left out."""
        (column, row, batch), (rows, columns) = first, bits.shape
        if batch >= len(self.values):
            return
        where = (batch, slice(row, row + rows), slice(column, column + columns))
        height, width = self.values[where].shape
        self.values[where] = from_bits(np.ascontiguousarray(bits[:height, :width]), self.element)
        self.stores[where] += self.stores[where] < np.iinfo(np.uint8).max
