"""The operands of conv2d dgrad as a tile GEMM sees them: which iterator each has, and what that costs."""

from dataclasses import dataclass

import numpy.typing as npt

from gpusim.families.conv.dgrad.iterators import DgradFilterIterator, DgradIterator, OutputGradientIterator
from gpusim.tile.extents import ConvShape
from gpusim.tile.iterator_arithmetic import DIVIDE, INDEX_VEC, walk_arithmetic
from gpusim.tile.operand import IteratorArithmetic, Side, Source
from gpusim.tile.thread_map import ThreadMap


@dataclass(frozen=True, slots=True)
class DgradSource(Source):
    """
    The output gradient (side a) or the filter (side b) of conv2d dgrad.

    Attributes:
        shape: The forward convolution.
        side: Which operand.
        bits: Element width.
    """

    shape: ConvShape
    side: Side
    bits: int

    def iterator(
        self, thread_map: ThreadMap, elements_per_vec: int, *, tile: npt.ArrayLike, slice_: npt.ArrayLike
    ) -> DgradIterator:
        """Place the operand's iterator; arguments as of ``Source.iterator``."""
        iterator = OutputGradientIterator if self.side == "a" else DgradFilterIterator
        return iterator(self.shape, self.bits, thread_map, elements_per_vec, tile=tile, slice_=slice_)

    @property
    def arithmetic(self) -> IteratorArithmetic:
        """What the operand's iterator executes."""
        return _output_gradient(self.shape) if self.side == "a" else _filter(self.shape)


def _output_gradient(shape: ConvShape) -> IteratorArithmetic:
    """
    Count what dgrad_iterators.cuh, OutputGradientIterator, takes.

    Setup: the row (1), n, h and w (two divisions), the parts of p, q and n * P that stay (3). An access: p where there
    are several r and q where there are several s (``moving``), the offset (an addition to n * P, multiplied and added
    to twice: 3; of k alone where neither moves: 1), shifted and added to the base (2), a test of what stays, of each
    that moves and of k. Advance: the walk, and r and s scaled to p and q.
    """
    moving = (shape.r > 1) + (shape.s > 1)
    offset = 3 if moving else 1
    return IteratorArithmetic(
        setup=1 + 2 * DIVIDE + 3,
        access=moving + offset + 2 + (1 + moving + 1),
        vec=INDEX_VEC,
        advance=walk_arithmetic(shape) + moving,
    )


def _filter(shape: ConvShape) -> IteratorArithmetic:
    """
    Count what dgrad_iterators.cuh, DgradFilterIterator, takes.

    An access: its distance to the first (1), shifted and added to the base (2), the tests of k and of c (2). Advance:
    the walk, the first access's offset (three multiply-adds).
    """
    return IteratorArithmetic(setup=0, access=1 + 2 + 2, vec=INDEX_VEC, advance=walk_arithmetic(shape) + 3)
