"""Presents the operands of conv2d forward to a tile GEMM: their iterators, and the arithmetic these execute."""

from dataclasses import dataclass
from typing import Final

import numpy.typing as npt

from gpusim.families.conv.arithmetic import image_arithmetic, walk_arithmetic
from gpusim.families.conv.fprop.iterators import ActivationIterator, FilterIterator, FpropIterator
from gpusim.families.conv.fprop.optimized import ActivationIteratorOptimized, FilterIteratorOptimized
from gpusim.tile.extents import ConvShape
from gpusim.tile.iterator_arithmetic import ADD_64, DIVIDE, INDEX_VEC, MASK_BIT
from gpusim.tile.operand import IteratorArithmetic, Side, Source
from gpusim.tile.thread_map import ThreadMap

ITERATORS: Final[dict[tuple[str, Side], type[FpropIterator]]] = {
    ("analytic", "a"): ActivationIterator,
    ("analytic", "b"): FilterIterator,
    ("optimized", "a"): ActivationIteratorOptimized,
    ("optimized", "b"): FilterIteratorOptimized,
}
"""Iterator classes by (kernel.iterator, side)."""


@dataclass(frozen=True, slots=True)
class FpropSource(Source):
    """
    The activation (side a) or the filter (side b) of conv2d forward.

    Attributes:
        shape: The convolution.
        side: "a" for the activation, "b" for the filter.
        bits: Width of an element, bits.
        kind: Kind of iterator: "analytic" or "optimized".
    """

    shape: ConvShape
    side: Side
    bits: int
    kind: str

    def iterator(
        self, thread_map: ThreadMap, elements_per_vec: int, *, tile: npt.ArrayLike, slice_: npt.ArrayLike
    ) -> FpropIterator:
        """Return the operand's iterator for a tile and a split-K slice; arguments are those of ``Source.iterator``."""
        iterator = ITERATORS[self.kind, self.side]
        return iterator(self.shape, self.bits, thread_map, elements_per_vec, tile=tile, slice_=slice_)

    @property
    def arithmetic(self) -> IteratorArithmetic:
        """Number of instructions that the operand's iterator executes."""
        if self.kind == "optimized":
            return _activation_optimized(self.shape) if self.side == "a" else _filter_optimized(self.shape)
        return image_arithmetic(self.shape) if self.side == "a" else _filter_analytic(self.shape)


def _filter_analytic(shape: ConvShape) -> IteratorArithmetic:
    """
    Count the instructions of FilterIterator in conv_iterators.cuh.

    Access: its distance from the first (1), shifted and added to the base (2), the test of k (1). Advance: the walk,
    the first access's offset (three multiply-adds), the test of c, which all accesses share.
    """
    return IteratorArithmetic(setup=0, access=1 + 2 + 1, vec=INDEX_VEC, advance=walk_arithmetic(shape) + 3 + 1)


def _activation_optimized(shape: ConvShape) -> IteratorArithmetic:
    """
    Count the instructions of ActivationIteratorOptimized in conv_optimized.cuh.

    Setup: the row (1), n, p and q (two divisions), h and w (2), the offset (3 multiply-adds), the masks. Access: the
    pointer (a 64-bit addition), the test of the masks (1, or 2 if they take two words) and of c (1). Advance: the walk,
    the step (both its words selected twice, if steps differ), the pointer, and the bits of r and s.
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
    Count the instructions of FilterIteratorOptimized in conv_optimized.cuh.

    Access: the pointer (a 64-bit addition), the test of k (1). Advance: the walk, the step (both its words selected
    once, if steps differ), the pointer, the test of c, which all accesses share.
    """
    step = 2 if shape.r * shape.s > 1 else 0
    return IteratorArithmetic(setup=0, access=ADD_64 + 1, vec=1, advance=walk_arithmetic(shape) + step + ADD_64 + 1)
