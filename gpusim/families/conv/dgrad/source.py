"""The operands of conv2d dgrad as a tile GEMM sees them: which iterator each has, and what that costs."""

from dataclasses import dataclass

import numpy.typing as npt

from gpusim.families.conv.arithmetic import image_arithmetic, walk_arithmetic
from gpusim.families.conv.dgrad.iterators import DgradFilterIterator, DgradIterator, OutputGradientIterator
from gpusim.tile.extents import ConvShape
from gpusim.tile.iterator_arithmetic import INDEX_VEC
from gpusim.tile.operand import IteratorArithmetic, Side, Source
from gpusim.tile.thread_map import ThreadMap


@dataclass(frozen=True, slots=True)
class DgradSource(Source):
    """
    The output gradient (side a) or the filter (side b) of conv2d dgrad.

    Attributes:
        shape: The forward convolution.
        side: Side of the operand.
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
        """Instructions of the operand's iterator."""
        return image_arithmetic(self.shape) if self.side == "a" else _filter(self.shape)


def _filter(shape: ConvShape) -> IteratorArithmetic:
    """
    Count what dgrad_iterators.cuh, DgradFilterIterator, takes.

    An access: its distance to the first (1), shifted and added to the base (2), the tests of k and of c (2). Advance:
    the walk, the first access's offset (three multiply-adds).
    """
    return IteratorArithmetic(setup=0, access=1 + 2 + 2, vec=INDEX_VEC, advance=walk_arithmetic(shape) + 3)
