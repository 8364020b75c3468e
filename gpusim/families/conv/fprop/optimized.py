"""Computes global addresses and predicates of conv2d forward: the optimized iterators, with pointer steps and masks."""

from abc import abstractmethod
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from gpusim.arrays import BoolArray, IntArray
from gpusim.families.conv.fprop.iterators import ActivationIterator, FilterIterator, FpropIterator
from gpusim.tile.extents import ConvShape
from gpusim.tile.global_access import over_lanes
from gpusim.tile.thread_map import ThreadMap

MASK_BITS: Final = 32
"""
Largest R and S of the optimized iterators, whose predicates are the bits of a mask.

Source: CUTLASS include/cutlass/conv/threadblock/conv2d_fprop_activation_tile_access_iterator_optimized.h.
"""


@dataclass(frozen=True, slots=True)
class ActivationSteps:
    """
    The steps of the activation's pointers, in bytes. The host computes them before the launch.

    Attributes:
        next_s: Step to the next filter column.
        next_r: Step to column 0 of the next filter row.
        next_c: Step to filter position (0, 0) of the slice's next channel interval.

    Source: CUTLASS include/cutlass/conv/threadblock/conv2d_params.h, Conv2dFpropActivationIteratorOptimizedParams;
    golden gmem_fprop_A_activation_*.json, ``optimized_params``.
    """

    next_s: int
    next_r: int
    next_c: int


@dataclass(frozen=True, slots=True)
class FilterSteps:
    """
    The steps of the filter's pointer, in bytes. The host computes them before the launch.

    The pointer also walks the accesses of a fetch, so a step to the next fetch includes the way back over them.

    Attributes:
        next_k: Step to the thread's next access of the same fetch.
        next_rs: Step from the last access of a fetch to the first of the next filter position.
        next_c: Step from the last access of a fetch to the first at filter position (0, 0) of the slice's next channel
            interval.

    Source: CUTLASS include/cutlass/conv/threadblock/conv2d_params.h, Conv2dFpropFilterIteratorOptimizedParams;
    golden gmem_fprop_B_filter_*.json, ``optimized_params``.
    """

    next_k: int
    next_rs: int
    next_c: int


def activation_steps(shape: ConvShape, bits: int, tile_k: int) -> ActivationSteps:
    """
    Return the steps of the activation's pointers. In convolution mode the walk is backwards.

    Args:
        shape: The convolution.
        bits: Width of an element, bits.
        tile_k: K of the threadblock tile, elements.
    """
    sign = -1 if shape.mode == "convolution" else 1
    column = sign * shape.dilation[1] * shape.c
    row = sign * shape.dilation[0] * shape.w * shape.c
    back_over_columns = (shape.s - 1) * column
    elements = (
        column,
        row - back_over_columns,
        tile_k * shape.split_k_slices - (shape.r - 1) * row - back_over_columns,
    )
    return ActivationSteps(*(step * bits // 8 for step in elements))


def filter_steps(shape: ConvShape, bits: int, thread_map: ThreadMap) -> FilterSteps:
    """
    Return the steps of the filter's pointer.

    Args:
        shape: The convolution.
        bits: Width of an element, bits.
        thread_map: Thread map of the filter's tile.
    """
    positions = shape.r * shape.s
    access = thread_map.delta[1] * positions * shape.c
    back_over_accesses = (thread_map.accesses - 1) * access
    interval = thread_map.shape[0] * shape.split_k_slices
    elements = access, shape.c - back_over_accesses, interval - (positions - 1) * shape.c - back_over_accesses
    return FilterSteps(*(step * bits // 8 for step in elements))


class OptimizedIterator(FpropIterator):
    """The common base of both optimized iterators. A filter has at most ``MASK_BITS`` rows and columns."""

    def __init__(
        self,
        shape: ConvShape,
        bits: int,
        thread_map: ThreadMap,
        elements_per_vec: int,
        *,
        tile: npt.ArrayLike,
        slice_: npt.ArrayLike,
    ) -> None:
        """
        Place the iterator at its first fetch; arguments are those of ``ImplicitGemmIterator``.

        Raises:
            ValueError: The filter has more rows or columns than a mask has bits.
        """
        if max(shape.r, shape.s) > MASK_BITS:
            raise ValueError(
                f"the optimized iterators' masks have {MASK_BITS} bits, got a filter of {shape.r} x {shape.s}"
            )
        super().__init__(shape, bits, thread_map, elements_per_vec, tile=tile, slice_=slice_)
        self._place()

    @abstractmethod
    def _place(self) -> None:
        """Compute the steps, the masks and the first offsets, which every fetch uses."""


class ActivationIteratorOptimized(OptimizedIterator, ActivationIterator):
    """
    Conv2dFpropActivationTileAccessIteratorOptimized: one pointer and two masks for each access of a thread.

    The constructor finds the filter rows and columns that lie inside the image. A predicate is then the bit of the
    current row and that of the current column, and a pointer advances by one of three steps.

    Source: CUTLASS include/cutlass/conv/threadblock/conv2d_fprop_activation_tile_access_iterator_optimized.h;
    golden gmem_fprop_A_activation_*.json.
    """

    def _place(self) -> None:
        shape = self.shape
        self.steps = activation_steps(shape, self.bits, self.thread_map.shape[0])
        n, pixel = self.gemm_pixel(self._along_mn())
        zero = np.zeros((), dtype=np.int64)
        rows = (self.read(pixel, zero + r, zero)[0] for r in range(shape.r))
        columns = (self.read(pixel, zero, zero + s)[1] for s in range(shape.s))
        self._rows = _mask([(n < shape.n) & _within(row, shape.h) for row in rows])
        self._columns = _mask([_within(column, shape.w) for column in columns])
        self._start = self.offset_of(self.coordinates(0))

    def _offset(self, number: npt.ArrayLike, at: dict[str, IntArray]) -> IntArray:  # noqa: ARG002 - without coordinates
        to_s, to_r, to_c = self.walk.steps(number)
        moved = to_s * self.steps.next_s + to_r * self.steps.next_r + to_c * self.steps.next_c
        return self._start + over_lanes(moved * 8 // self.bits)

    def _inside(self, number: npt.ArrayLike, at: dict[str, IntArray]) -> BoolArray:
        r, s, _ = self.filter_position(number)
        row, column = self._rows >> over_lanes(r), self._columns >> over_lanes(s)
        inside: BoolArray = (row & column & 1).astype(bool)
        return inside & (at["c"] < self.shape.c)


class FilterIteratorOptimized(OptimizedIterator, FilterIterator):
    """
    Conv2dFpropFilterTileAccessIteratorOptimized: one pointer, and a mask bit for each access of a thread.

    Source: CUTLASS include/cutlass/conv/threadblock/conv2d_fprop_filter_tile_access_iterator_optimized.h;
    golden gmem_fprop_B_filter_*.json.
    """

    def _place(self) -> None:
        self.steps = filter_steps(self.shape, self.bits, self.thread_map)
        first = self.coordinates(0)
        self._filters = first["k"] < self.shape.k
        self._start = self.offset_of(first)[..., :1, :]

    def _offset(self, number: npt.ArrayLike, at: dict[str, IntArray]) -> IntArray:  # noqa: ARG002 - without coordinates
        steps, accesses = self.steps, self.thread_map.accesses
        to_s, to_r, to_c = self.walk.steps(number)
        within = np.arange(accesses, dtype=np.int64)[:, None] * steps.next_k
        walked = (to_s + to_r + to_c) * (accesses - 1) * steps.next_k
        moved = walked + (to_s + to_r) * steps.next_rs + to_c * steps.next_c
        return self._start + (over_lanes(moved) + within) * 8 // self.bits

    def _inside(self, number: npt.ArrayLike, at: dict[str, IntArray]) -> BoolArray:  # noqa: ARG002 - of c alone
        return self._filters & (at["c"] < self.shape.c)


def _mask(bits: list[BoolArray]) -> IntArray:
    """Return masks whose bit i is entry i of the list."""
    mask: IntArray = np.zeros_like(bits[0], dtype=np.int64)
    for index, bit in enumerate(bits):
        mask |= bit.astype(np.int64) << index
    return mask


def _within(position: IntArray, extent: int) -> BoolArray:
    inside: BoolArray = (position >= 0) & (position < extent)
    return inside
