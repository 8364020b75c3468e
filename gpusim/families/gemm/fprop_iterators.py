"""Computes global addresses and predicates of conv2d forward: the analytic activation and filter iterators."""

import numpy as np
import numpy.typing as npt

from gpusim.arrays import BoolArray, IntArray
from gpusim.tile.global_access import GlobalAccess, Pixels, over_lanes, packed
from gpusim.tile.implicit_gemm import ImplicitGemmIterator
from gpusim.units import LINE_BITS


class FpropIterator(ImplicitGemmIterator):
    """An iterator of conv2d forward, which sums input channels."""

    @property
    def channels(self) -> int:
        """Number of input channels."""
        return self.shape.c


class ActivationIterator(FpropIterator):
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

    def _offset(self, number: npt.ArrayLike, at: dict[str, IntArray]) -> IntArray:  # noqa: ARG002 - of the coordinates alone
        shape = self.shape
        return ((at["n"] * shape.h + at["h"]) * shape.w + at["w"]) * shape.c + at["c"]

    def _inside(self, number: npt.ArrayLike, at: dict[str, IntArray]) -> BoolArray:  # noqa: ARG002 - of the coordinates alone
        shape = self.shape
        row = (at["n"] < shape.n) & (at["h"] >= 0) & (at["h"] < shape.h)
        return row & (at["w"] >= 0) & (at["w"] < shape.w) & (at["c"] < shape.c)

    def pixels(self, access: GlobalAccess) -> Pixels:
        """Return the pixels that an access reads. Neighbouring outputs and filter positions share them."""
        shape, at = self.shape, access.coordinates
        pixel = (at["n"] * shape.h + at["h"]) * shape.w + at["w"]
        return Pixels(pixel, at["c"] // self.tile_k, shape.n * shape.h * shape.w)

    def signature(self, number: npt.ArrayLike) -> IntArray:
        """
        Return a key that is equal for fetches with equal access patterns.

        It packs the tile's first pixel within its image, the filter position, the rows and channels that exist, and the
        offset of the base in its 128-byte line.
        """
        shape = self.shape
        r, s, first = self.filter_position(number)
        pixels = shape.p * shape.q
        n, pixel = np.divmod(self.tile * self.thread_map.shape[1], pixels)
        return packed(
            (pixel, pixels),
            (r, shape.r),
            (s, shape.s),
            self._rows_inside(shape.n * pixels),
            self._channels_inside(first),
            ((n * shape.h * shape.w * shape.c + first) * self.bits % LINE_BITS, LINE_BITS),
        )


class FilterIterator(FpropIterator):
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

    def _offset(self, number: npt.ArrayLike, at: dict[str, IntArray]) -> IntArray:  # noqa: ARG002 - of the coordinates alone
        shape = self.shape
        return ((at["k"] * shape.r + at["r"]) * shape.s + at["s"]) * shape.c + at["c"]

    def _inside(self, number: npt.ArrayLike, at: dict[str, IntArray]) -> BoolArray:  # noqa: ARG002 - of the coordinates alone
        return (at["k"] < self.shape.k) & (at["c"] < self.shape.c)

    def signature(self, number: npt.ArrayLike) -> IntArray:
        """
        Return a key that is equal for fetches with equal access patterns.

        It packs the filters and channels of the tile that exist, and the offset of the base in its 128-byte line.
        """
        shape = self.shape
        r, s, first = self.filter_position(number)
        k = self.tile * self.thread_map.shape[1]
        base = ((k * shape.r + r) * shape.s + s) * shape.c + first
        return packed(
            self._rows_inside(shape.k),
            self._channels_inside(first),
            (base * self.bits % LINE_BITS, LINE_BITS),
        )
