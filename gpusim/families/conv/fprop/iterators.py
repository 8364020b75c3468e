"""Computes global addresses and predicates of conv2d forward: the analytic activation and filter iterators."""

from functools import cached_property

import numpy as np
import numpy.typing as npt

from gpusim.arrays import IntArray
from gpusim.tile.global_access import over_lanes, packed
from gpusim.tile.implicit_gemm import ImageIterator, ImplicitGemmIterator, KrscIterator
from gpusim.tile.k_walk import KWalk, implicit_gemm_walk
from gpusim.units import LINE_BITS


class FpropIterator(ImplicitGemmIterator):
    """An iterator of conv2d forward, which sums input channels."""

    @cached_property
    def walk(self) -> KWalk:
        """The walk over filter positions and input channels."""
        return implicit_gemm_walk(self.shape, "fprop", self.tile_k)


class ActivationIterator(FpropIterator, ImageIterator):
    """
    Conv2dFpropActivationTileAccessIteratorAnalytic: operand A, the activation seen as [n·p·q, r·s·c].

    In convolution mode, this iterator flips r and s. Nothing else does.

    Source: CUTLASS include/cutlass/conv/threadblock/conv2d_fprop_activation_tile_access_iterator_analytic.h;
    golden gmem_fprop_A_activation_*.json.
    """

    def coordinates(self, number: npt.ArrayLike) -> dict[str, IntArray]:
        """Return n, h, w and c of each access of fetch ``number``."""
        r, s, first = self.filter_position(number)
        n, p, q = self.pixel()
        h, w = self.input_row(p, over_lanes(r)), self.input_column(q, over_lanes(s))
        return {"n": n, "h": h, "w": w, "c": over_lanes(first) + self._contiguous()}

    def pixel(self) -> tuple[IntArray, IntArray, IntArray]:
        """Return n, p and q of the GEMM row of each access, shape [*ctas, threads, accesses, 1]."""
        row = over_lanes(self.tile * self.thread_map.shape[1]) + self._strided()
        n, pixel = np.divmod(row, self.shape.p * self.shape.q)
        return n, *np.divmod(pixel, self.shape.q)

    def input_row(self, p: IntArray, r: IntArray | int) -> IntArray:
        """Return the input row h that output row p reads at filter row r. It may lie outside the image."""
        shape = self.shape
        flipped = shape.r - 1 - r if shape.mode == "convolution" else r
        return p * shape.stride[0] - shape.padding[0] + flipped * shape.dilation[0]

    def input_column(self, q: IntArray, s: IntArray | int) -> IntArray:
        """Return the input column w that output column q reads at filter column s. It may lie outside the image."""
        shape = self.shape
        flipped = shape.s - 1 - s if shape.mode == "convolution" else s
        return q * shape.stride[1] - shape.padding[1] + flipped * shape.dilation[1]

    @property
    def image(self) -> dict[str, int]:
        """Extents of the activation."""
        shape = self.shape
        return {"n": shape.n, "h": shape.h, "w": shape.w, "c": shape.c}

    @property
    def rows_of_image(self) -> tuple[int, int]:
        """Rows and columns of output pixels of one image."""
        return self.shape.p, self.shape.q

    @property
    def step(self) -> tuple[int, int]:
        """The stride."""
        return self.shape.stride

    def shift(self, r: IntArray, s: IntArray) -> tuple[IntArray, IntArray]:
        """Return the input row and column that output pixel (0, 0) reads at a filter position of the walk."""
        zero = np.zeros((), dtype=np.int64)
        return self.input_row(zero, r), self.input_column(zero, s)


class FilterIterator(FpropIterator, KrscIterator):
    """
    Conv2dFpropFilterTileAccessIteratorAnalytic: operand B, the filter seen as [r·s·c, k].

    Source: CUTLASS include/cutlass/conv/threadblock/conv2d_fprop_filter_tile_access_iterator_analytic.h;
    golden gmem_fprop_B_filter_*.json.
    """

    def coordinates(self, number: npt.ArrayLike) -> dict[str, IntArray]:
        """Return k, r, s and c of each access of fetch ``number``."""
        r, s, first = self.filter_position(number)
        k = over_lanes(self.tile * self.thread_map.shape[1]) + self._strided()
        return {"k": k, "r": over_lanes(r), "s": over_lanes(s), "c": over_lanes(first) + self._contiguous()}

    def signature(self, number: npt.ArrayLike) -> IntArray:
        """
        Return a key that is equal for fetches with equal access patterns.

        It packs the filters and channels of the tile that exist, and the offset of the base in its 128-byte line.
        """
        _, _, first = self.filter_position(number)
        return packed(
            self._rows_inside(self.shape.k),
            self._channels_inside(first),
            (self.base(number) * self.bits % LINE_BITS, LINE_BITS),
        )

    def base(self, number: npt.ArrayLike) -> IntArray:
        """Return the offset of the tile's first filter and channel, in elements."""
        shape = self.shape
        r, s, first = self.filter_position(number)
        k = self.tile * self.thread_map.shape[1]
        return ((k * shape.r + r) * shape.s + s) * shape.c + first
