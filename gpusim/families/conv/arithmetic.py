"""Integer instructions that the analytic iterators of all convolutions take in kernels_cuda, counted line by line."""

from gpusim.tile.extents import ConvShape
from gpusim.tile.iterator_arithmetic import DIVIDE, INDEX_VEC
from gpusim.tile.operand import IteratorArithmetic


def walk_arithmetic(shape: ConvShape) -> int:
    """
    Count the integer instructions of the step to the next k tile of an implicit GEMM.

    In conv_shape.cuh, FilterPosition::advance, r and s each add, compare and select where the filter has several
    positions along them. c adds, and where it does not always advance, selects whether to.
    """
    rows, columns = shape.r > 1, shape.s > 1
    return 3 * columns + 3 * rows + (2 if rows or columns else 1)


def image_arithmetic(shape: ConvShape) -> IteratorArithmetic:
    """
    Count what ActivationIterator in conv_iterators.cuh takes, and OutputGradientIterator in dgrad_iterators.cuh.

    Setup: the GEMM row (1), image, row and column of its pixel (two divisions), the constant parts of the image's row
    and column that it reads, and of the image's first row (3). Access: that row if there are several r, and that column
    if there are several s (``moving``); the offset (3: an addition to the image's first row and two multiply-adds; 1
    for the channel alone if neither moves), shifted and added to the base (2); a test of the constant parts, of each
    moving part and of the channel. Advance: the walk, and r and s scaled to row and column.
    """
    moving = (shape.r > 1) + (shape.s > 1)
    offset = 3 if moving else 1
    return IteratorArithmetic(
        setup=1 + 2 * DIVIDE + 3,
        access=moving + offset + 2 + (1 + moving + 1),
        vec=INDEX_VEC,
        advance=walk_arithmetic(shape) + moving,
    )
