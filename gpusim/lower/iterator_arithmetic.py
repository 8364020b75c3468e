"""
Counts the integer instructions that the global iterators of kernels_cuda execute around their copies.

Counted from the sources line by line, as their SASS form needs them: extents are compile-time constants there, so a
division by one is a multiply-high and a shift, and what a loop does not change is computed once. A 64-bit addition is
two instructions; a comparison takes the one before it as its input, so that a chain of n tests is n instructions.

Not modelled: offsets that need 64 bits before they are scaled, and tests the compiler finds always true (D1).
"""

from dataclasses import dataclass

from gpusim.scenario.models import Conv2dFpropProblem, Scenario
from gpusim.tile.thread_map import Operand

ADD_64 = 2
"""A 64-bit addition: low words, high words with the carry."""

DIVIDE = 3
"""Quotient and remainder by a constant: multiply-high, shift, multiply-subtract."""

MASK_BIT = 3
"""One bit of a mask: its test, a select, an or."""

INDEX_VEC = 1 + 2 + 1
"""A further copy of an access that an index addresses: the index (1), shifted and added to the base (2), a test (1)."""


@dataclass(frozen=True, slots=True)
class IteratorArithmetic:
    """
    Integer instructions of one operand's iterator.

    Attributes:
        setup: Per access, once, in the constructor.
        access: Per access, at every fetch: coordinates, predicate, address.
        vec: Per further copy of the same access, where an access takes several: its predicate. Where the iterator adds
            bytes to a pointer, the copy's immediate offset holds the difference; where it adds elements to an index of
            32 bits, that is widened anew (``INDEX_VEC``).
        advance: Per fetch: the step to the next k tile, and what all accesses of a fetch share.
    """

    setup: int
    access: int
    vec: int
    advance: int


def iterator_arithmetic(scenario: Scenario, operand: Operand) -> IteratorArithmetic:
    """What the iterator of one operand executes."""
    problem = scenario.problem
    if not isinstance(problem, Conv2dFpropProblem):
        return _predicated()
    if scenario.kernel.iterator == "optimized":
        return _activation_optimized(problem) if operand == "a" else _filter_optimized(problem)
    return _activation_analytic(problem) if operand == "a" else _filter_analytic(problem)


def _predicated() -> IteratorArithmetic:
    """
    gemm_iterators.cuh, PredicatedIterator.

    Setup is ``compute_mask``, for the residue tile and again for the whole ones. An access is ``get``, a 64-bit
    addition, and ``valid``, the test of a bit. Advance moves the pointer, compares for the end and clears the mask.
    """
    return IteratorArithmetic(setup=2 * MASK_BIT, access=ADD_64 + 1, vec=1, advance=ADD_64 + 2)


def _walk(problem: Conv2dFpropProblem) -> int:
    """
    conv_shape.cuh, FilterPosition::advance: r and s each add, compare and select where the filter has several; c adds,
    and selects whether to where it does not always.
    """
    rows, columns = problem.r > 1, problem.s > 1
    return 3 * columns + 3 * rows + (2 if rows or columns else 1)


def _activation_analytic(problem: Conv2dFpropProblem) -> IteratorArithmetic:
    """
    conv_iterators.cuh, ActivationIterator.

    Setup: the row (1), n, p and q (two divisions), the parts of h, w and n * H that stay (3). An access: h where
    there are several r and w where there are several s (``moving``), the offset (an addition to n * H, multiplied and
    added to twice: 3; of c alone where neither moves: 1), shifted and added to the base (2), a test of what stays, of
    each that moves and of c. Advance: the walk, and r and s scaled to h and w.
    """
    moving = (problem.r > 1) + (problem.s > 1)
    offset = 3 if moving else 1
    return IteratorArithmetic(
        setup=1 + 2 * DIVIDE + 3,
        access=moving + offset + 2 + (1 + moving + 1),
        vec=INDEX_VEC,
        advance=_walk(problem) + moving,
    )


def _filter_analytic(problem: Conv2dFpropProblem) -> IteratorArithmetic:
    """
    conv_iterators.cuh, FilterIterator.

    An access: its distance to the first (1), shifted and added to the base (2), the test of k (1). Advance: the walk,
    the first access's offset (three multiply-adds), the test of c, which all accesses share.
    """
    return IteratorArithmetic(setup=0, access=1 + 2 + 1, vec=INDEX_VEC, advance=_walk(problem) + 3 + 1)


def _activation_optimized(problem: Conv2dFpropProblem) -> IteratorArithmetic:
    """
    conv_optimized.cuh, ActivationIteratorOptimized.

    Setup: the row (1), n, p and q (two divisions), h and w (2), the offset (3 multiply-adds), the masks. An access: the
    pointer (a 64-bit addition), the test of the masks (1, or 2 where they take two words) and of c (1). Advance: the
    walk, the step (both words of it selected twice, where it is not always the same), the pointer; the bits of r and
    s.
    """
    positions = problem.r * problem.s
    step = 2 * 2 if positions > 1 else 0
    bits = 3 if positions > 1 else 0  # two shifts, an or
    words = 1 if problem.r + problem.s <= 32 else 2
    return IteratorArithmetic(
        setup=1 + 2 * DIVIDE + 2 + 3 + MASK_BIT * (problem.r + problem.s),
        access=ADD_64 + words + 1,
        vec=1,
        advance=_walk(problem) + step + ADD_64 + bits,
    )


def _filter_optimized(problem: Conv2dFpropProblem) -> IteratorArithmetic:
    """
    conv_optimized.cuh, FilterIteratorOptimized.

    An access: the pointer (a 64-bit addition), the test of k (1). Advance: the walk, the step (both words selected
    once, where it is not always the same), the pointer, the test of c, which all accesses share.
    """
    step = 2 if problem.r * problem.s > 1 else 0
    return IteratorArithmetic(setup=0, access=ADD_64 + 1, vec=1, advance=_walk(problem) + step + ADD_64 + 1)
