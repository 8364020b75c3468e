"""The operands of conv2d forward as a tile GEMM sees them: which iterator each has, and what that costs."""

from dataclasses import dataclass
from typing import Final

import numpy.typing as npt

from gpusim.families.gemm.fprop_iterators import ActivationIterator, FilterIterator, FpropIterator
from gpusim.families.gemm.fprop_optimized import ActivationIteratorOptimized, FilterIteratorOptimized
from gpusim.tile.extents import ConvShape
from gpusim.tile.iterator_arithmetic import ADD_64, DIVIDE, INDEX_VEC, MASK_BIT, walk_arithmetic
from gpusim.tile.operand import IteratorArithmetic, Side, Source
from gpusim.tile.thread_map import ThreadMap

ITERATORS: Final[dict[tuple[str, Side], type[FpropIterator]]] = {
    ("analytic", "a"): ActivationIterator,
    ("analytic", "b"): FilterIterator,
    ("optimized", "a"): ActivationIteratorOptimized,
    ("optimized", "b"): FilterIteratorOptimized,
}
"""(kernel.iterator, side) -> the iterator."""


@dataclass(frozen=True, slots=True)
class FpropSource(Source):
    """
    The activation (side a) or the filter (side b) of conv2d forward.

    Attributes:
        shape: The convolution.
        side: Which operand.
        bits: Element width.
        kind: "analytic" or "optimized".
    """

    shape: ConvShape
    side: Side
    bits: int
    kind: str

    def iterator(
        self, thread_map: ThreadMap, elements_per_vec: int, *, tile: npt.ArrayLike, slice_: npt.ArrayLike
    ) -> FpropIterator:
        """Place the operand's iterator; arguments as of ``Source.iterator``."""
        iterator = ITERATORS[self.kind, self.side]
        return iterator(self.shape, self.bits, thread_map, elements_per_vec, tile=tile, slice_=slice_)

    @property
    def arithmetic(self) -> IteratorArithmetic:
        """What the operand's iterator executes."""
        if self.kind == "optimized":
            return _activation_optimized(self.shape) if self.side == "a" else _filter_optimized(self.shape)
        return _activation_analytic(self.shape) if self.side == "a" else _filter_analytic(self.shape)


def _activation_analytic(shape: ConvShape) -> IteratorArithmetic:
    """
    conv_iterators.cuh, ActivationIterator.

    Setup: the row (1), n, p and q (two divisions), the parts of h, w and n * H that stay (3). An access: h where
    there are several r and w where there are several s (``moving``), the offset (an addition to n * H, multiplied and
    added to twice: 3; of c alone where neither moves: 1), shifted and added to the base (2), a test of what stays, of
    each that moves and of c. Advance: the walk, and r and s scaled to h and w.
    """
    moving = (shape.r > 1) + (shape.s > 1)
    offset = 3 if moving else 1
    return IteratorArithmetic(
        setup=1 + 2 * DIVIDE + 3,
        access=moving + offset + 2 + (1 + moving + 1),
        vec=INDEX_VEC,
        advance=walk_arithmetic(shape) + moving,
    )


def _filter_analytic(shape: ConvShape) -> IteratorArithmetic:
    """
    conv_iterators.cuh, FilterIterator.

    An access: its distance to the first (1), shifted and added to the base (2), the test of k (1). Advance: the walk,
    the first access's offset (three multiply-adds), the test of c, which all accesses share.
    """
    return IteratorArithmetic(setup=0, access=1 + 2 + 1, vec=INDEX_VEC, advance=walk_arithmetic(shape) + 3 + 1)


def _activation_optimized(shape: ConvShape) -> IteratorArithmetic:
    """
    conv_optimized.cuh, ActivationIteratorOptimized.

    Setup: the row (1), n, p and q (two divisions), h and w (2), the offset (3 multiply-adds), the masks. An access: the
    pointer (a 64-bit addition), the test of the masks (1, or 2 where they take two words) and of c (1). Advance: the
    walk, the step (both words of it selected twice, where it is not always the same), the pointer; the bits of r and
    s.
    """
    positions = shape.r * shape.s
    step = 2 * 2 if positions > 1 else 0
    bits = 3 if positions > 1 else 0  # two shifts, an or
    words = 1 if shape.r + shape.s <= 32 else 2
    return IteratorArithmetic(
        setup=1 + 2 * DIVIDE + 2 + 3 + MASK_BIT * (shape.r + shape.s),
        access=ADD_64 + words + 1,
        vec=1,
        advance=walk_arithmetic(shape) + step + ADD_64 + bits,
    )


def _filter_optimized(shape: ConvShape) -> IteratorArithmetic:
    """
    conv_optimized.cuh, FilterIteratorOptimized.

    An access: the pointer (a 64-bit addition), the test of k (1). Advance: the walk, the step (both words selected
    once, where it is not always the same), the pointer, the test of c, which all accesses share.
    """
    step = 2 if shape.r * shape.s > 1 else 0
    return IteratorArithmetic(setup=0, access=ADD_64 + 1, vec=1, advance=walk_arithmetic(shape) + step + ADD_64 + 1)
