"""Global addresses and predicates of conv2d forward's operands: the analytic activation and filter iterators."""

import numpy as np
import numpy.typing as npt

from gpusim.arrays import IntArray
from gpusim.tile.extents import ConvShape
from gpusim.tile.global_access import SECTOR_BITS, GlobalAccess, GlobalIterator, over_lanes, packed
from gpusim.tile.thread_map import ThreadMap


class ConvIterator(GlobalIterator):
    """
    What both operands' iterators share: a k tile is one filter position and one interval of channels.

    Fetches walk S, then R, then C by the tile's K extent times the split-K slices, so that the slices interleave
    their channel tiles. No mask is ever cleared: past the last k tile c is out of range.

    Not modelled: grouped convolution, fixed and few channels, layouts other than NHWC and KRSC.
    """

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
        Place the iterator at its first fetch.

        Args:
            shape: The convolution.
            bits: Element width.
            thread_map: Coverage of the tile by threads.
            elements_per_vec: Elements of one memory instruction.
            tile: Tile index along M (activation) or N (filter). Integers or an array over CTAs.
            slice_: Split-K slice, broadcast against ``tile``.
        """
        super().__init__(thread_map, elements_per_vec, tile=tile, slice_=slice_)
        self.shape = shape
        self.bits = bits

    def filter_position(self, number: npt.ArrayLike) -> tuple[IntArray, IntArray, IntArray]:
        """Filter r and s of a fetch (of the shape of ``number``), and its first channel (over CTAs)."""
        walk, s = np.divmod(np.asarray(number, dtype=np.int64), self.shape.s)
        interval, r = np.divmod(walk, self.shape.r)
        return r, s, (self.slice_ + interval * self.shape.split_k_slices) * self.thread_map.shape[0]

    def _channels_inside(self, first: IntArray) -> tuple[IntArray, int]:
        """A digit of the signature: how many of the fetch's channels exist."""
        tile_k = self.thread_map.shape[0]
        return np.clip(self.shape.c - first, 0, tile_k), tile_k + 1

    def _rows_inside(self, extent: int) -> tuple[IntArray, int]:
        """A digit of the signature: how many of the tile's rows exist."""
        rows = self.thread_map.shape[1]
        return np.clip(extent - self.tile * rows, 0, rows), rows + 1


class ActivationIterator(ConvIterator):
    """
    Conv2dFpropActivationTileAccessIteratorAnalytic: operand A, the activation seen as [n·p·q, r·s·c].

    Convolution mode flips r and s here, and only here.

    Source: CUTLASS include/cutlass/conv/threadblock/conv2d_fprop_activation_tile_access_iterator_analytic.h;
    golden gmem_fprop_A_activation_*.json.
    """

    def fetch(self, number: npt.ArrayLike) -> GlobalAccess:
        """All accesses of fetch ``number``; coordinates n, h, w, c."""
        shape = self.shape
        r, s, first = self.filter_position(number)
        if shape.mode == "convolution":
            r, s = shape.r - 1 - r, shape.s - 1 - s
        row = over_lanes(self.tile * self.thread_map.shape[1]) + self._strided()
        n, pixel = np.divmod(row, shape.p * shape.q)
        p, q = np.divmod(pixel, shape.q)
        h = p * shape.stride[0] - shape.padding[0] + over_lanes(r * shape.dilation[0])
        w = q * shape.stride[1] - shape.padding[1] + over_lanes(s * shape.dilation[1])
        c = over_lanes(first) + self._contiguous()
        inside = (n < shape.n) & (h >= 0) & (h < shape.h) & (w >= 0) & (w < shape.w)
        offset = ((n * shape.h + h) * shape.w + w) * shape.c + c
        coordinates = {
            name: np.broadcast_to(axis, offset.shape) for name, axis in zip("nhwc", (n, h, w, c), strict=True)
        }
        return GlobalAccess(coordinates, offset, inside & (c < shape.c))

    def signature(self, number: npt.ArrayLike) -> IntArray:
        """The tile's first pixel within its image, the filter position, what exists, and the sector phase."""
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
            ((n * shape.h * shape.w * shape.c + first) * self.bits % SECTOR_BITS, SECTOR_BITS),
        )


class FilterIterator(ConvIterator):
    """
    Conv2dFpropFilterTileAccessIteratorAnalytic: operand B, the filter seen as [r·s·c, k].

    Source: CUTLASS include/cutlass/conv/threadblock/conv2d_fprop_filter_tile_access_iterator_analytic.h;
    golden gmem_fprop_B_filter_*.json.
    """

    def fetch(self, number: npt.ArrayLike) -> GlobalAccess:
        """All accesses of fetch ``number``; coordinates k, r, s, c."""
        shape = self.shape
        r, s, first = self.filter_position(number)
        k = over_lanes(self.tile * self.thread_map.shape[1]) + self._strided()
        c = over_lanes(first) + self._contiguous()
        r, s = over_lanes(r), over_lanes(s)
        offset = ((k * shape.r + r) * shape.s + s) * shape.c + c
        coordinates = {
            name: np.broadcast_to(axis, offset.shape) for name, axis in zip("krsc", (k, r, s, c), strict=True)
        }
        return GlobalAccess(coordinates, offset, (k < shape.k) & (c < shape.c))

    def signature(self, number: npt.ArrayLike) -> IntArray:
        """What of the tile exists, and the sector phase of its base."""
        shape = self.shape
        r, s, first = self.filter_position(number)
        k = self.tile * self.thread_map.shape[1]
        base = ((k * shape.r + r) * shape.s + s) * shape.c + first
        return packed(
            self._rows_inside(shape.k),
            self._channels_inside(first),
            (base * self.bits % SECTOR_BITS, SECTOR_BITS),
        )
