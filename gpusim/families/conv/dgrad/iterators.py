"""Global addresses and predicates of conv2d dgrad's operands: the analytic output-gradient and filter iterators."""

from functools import cached_property

import numpy as np
import numpy.typing as npt

from gpusim.arrays import IntArray
from gpusim.tile.global_access import over_lanes, packed
from gpusim.tile.implicit_gemm import ImageIterator, ImplicitGemmIterator, KrscIterator
from gpusim.tile.k_walk import KWalk, implicit_gemm_walk
from gpusim.units import LINE_BITS


class DgradIterator(ImplicitGemmIterator):
    """An iterator of conv2d dgrad, which sums output channels."""

    @cached_property
    def walk(self) -> KWalk:
        """The walk over filter positions and output channels, which are the filters."""
        return implicit_gemm_walk(self.shape, "dgrad", self.tile_k)


class OutputGradientIterator(DgradIterator, ImageIterator):
    """
    Conv2dDgradOutputGradientTileAccessIteratorAnalytic, unit stride: operand A, seen as [n·h·w, r·s·k].

    Activation row h was read by output row p = h + padding - r · dilation at filter row r. Convolution mode flips r and
    s here, and only here.

    Source: CUTLASS include/cutlass/conv/threadblock/conv2d_dgrad_output_gradient_tile_access_iterator_analytic.h;
    golden gmem_dgrad_A_outgrad_*.json.
    """

    def coordinates(self, number: npt.ArrayLike) -> dict[str, IntArray]:
        """n, p, q, k of each access."""
        shape = self.shape
        r, s, first = self.filter_position(number)
        row, column = self.shift(r, s)
        n, pixel = np.divmod(over_lanes(self.tile * self.thread_map.shape[1]) + self._strided(), shape.h * shape.w)
        h, w = np.divmod(pixel, shape.w)
        return {
            "n": n,
            "p": h + over_lanes(row),
            "q": w + over_lanes(column),
            "k": over_lanes(first) + self._contiguous(),
        }

    @property
    def image(self) -> dict[str, int]:
        """Extents of the output gradient."""
        shape = self.shape
        return {"n": shape.n, "p": shape.p, "q": shape.q, "k": shape.k}

    @property
    def rows_of_image(self) -> tuple[int, int]:
        """Rows and columns of pixels of one image of the activation."""
        return self.shape.h, self.shape.w

    @property
    def step(self) -> tuple[int, int]:
        """The stride, which is 1."""
        return 1, 1

    def shift(self, r: IntArray, s: IntArray) -> tuple[IntArray, IntArray]:
        """Return the output row and column that read activation pixel (0, 0) at a filter position of the walk."""
        shape = self.shape
        if shape.mode == "convolution":
            r, s = shape.r - 1 - r, shape.s - 1 - s
        return shape.padding[0] - r * shape.dilation[0], shape.padding[1] - s * shape.dilation[1]


class DgradFilterIterator(DgradIterator, KrscIterator):
    """
    Conv2dDgradFilterTileAccessIteratorAnalytic: operand B, the filter seen as [r·s·k, c], contiguous along c.

    Source: CUTLASS include/cutlass/conv/threadblock/conv2d_dgrad_filter_tile_access_iterator_analytic.h;
    golden gmem_dgrad_B_filter_*.json.
    """

    @property
    def tile_k(self) -> int:
        """Output channels of a k tile, the strided dimension of the thread map."""
        return self.thread_map.shape[1]

    def coordinates(self, number: npt.ArrayLike) -> dict[str, IntArray]:
        """k, r, s, c of each access."""
        r, s, first = self.filter_position(number)
        c = over_lanes(self.tile * self.thread_map.shape[0]) + self._contiguous()
        return {"k": over_lanes(first) + self._strided(), "r": over_lanes(r), "s": over_lanes(s), "c": c}

    def signature(self, number: npt.ArrayLike) -> IntArray:
        """What of the tile exists, and the line phase of its base."""
        columns = self.thread_map.shape[0]
        _, _, first = self.filter_position(number)
        return packed(
            (np.clip(self.shape.c - self.tile * columns, 0, columns), columns + 1),
            self._channels_inside(first),
            (self.base(number) * self.bits % LINE_BITS, LINE_BITS),
        )

    def base(self, number: npt.ArrayLike) -> IntArray:
        """Return the offset of the tile's first filter and channel, in elements."""
        shape = self.shape
        r, s, first = self.filter_position(number)
        base: IntArray = ((first * shape.r + r) * shape.s + s) * shape.c + self.tile * self.thread_map.shape[0]
        return base
