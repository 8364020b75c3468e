"""
What the steps of the global iterators of kernels_cuda take, in integer instructions; each iterator's source sums them.

Counted from the sources line by line, as their SASS form needs them: extents are compile-time constants there, so a
division by one is a multiply-high and a shift, and what a loop does not change is computed once. A 64-bit addition is
two instructions; a comparison takes the one before it as its input, so that a chain of n tests is n instructions.

Not modelled: offsets that need 64 bits before they are scaled, and tests the compiler finds always true (D1).
"""

from typing import Final

from gpusim.tile.extents import ConvShape

ADD_64: Final = 2
"""A 64-bit addition: low words, high words with the carry."""

DIVIDE: Final = 3
"""Quotient and remainder by a constant: multiply-high, shift, multiply-subtract."""

MASK_BIT: Final = 3
"""One bit of a mask: its test, a select, an or."""

INDEX_VEC: Final = 1 + 2 + 1
"""A further copy of an access that an index addresses: the index (1), shifted and added to the base (2), a test (1)."""


def walk_arithmetic(shape: ConvShape) -> int:
    """
    Count what the step to the next k tile of an implicit GEMM takes.

    conv_shape.cuh, FilterPosition::advance: r and s each add, compare and select where the filter has several; c adds,
    and selects whether to where it does not always.
    """
    rows, columns = shape.r > 1, shape.s > 1
    return 3 * columns + 3 * rows + (2 if rows or columns else 1)
