"""Global addresses and predicates of conv2d dgrad's operands: the analytic output-gradient and filter iterators."""

import numpy as np
import numpy.typing as npt

from gpusim.arrays import BoolArray, IntArray
from gpusim.tile.global_access import GlobalAccess, Pixels, over_lanes, packed
from gpusim.tile.implicit_gemm import ImplicitGemmIterator
from gpusim.units import LINE_BITS


class DgradIterator(ImplicitGemmIterator):
    """An iterator of conv2d dgrad, which sums output channels."""

    @property
    def channels(self) -> int:
        """Output channels: the filters."""
        return self.shape.k


class OutputGradientIterator(DgradIterator):
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
        if shape.mode == "convolution":
            r, s = shape.r - 1 - r, shape.s - 1 - s
        n, pixel = np.divmod(over_lanes(self.tile * self.thread_map.shape[1]) + self._strided(), shape.h * shape.w)
        h, w = np.divmod(pixel, shape.w)
        return {
            "n": n,
            "p": h + shape.padding[0] - over_lanes(r) * shape.dilation[0],
            "q": w + shape.padding[1] - over_lanes(s) * shape.dilation[1],
            "k": over_lanes(first) + self._contiguous(),
        }

    def _offset(self, number: npt.ArrayLike, at: dict[str, IntArray]) -> IntArray:  # noqa: ARG002 - of the coordinates alone
        shape = self.shape
        return ((at["n"] * shape.p + at["p"]) * shape.q + at["q"]) * shape.k + at["k"]

    def _inside(self, number: npt.ArrayLike, at: dict[str, IntArray]) -> BoolArray:  # noqa: ARG002 - of the coordinates alone
        shape = self.shape
        row = (at["n"] < shape.n) & (at["p"] >= 0) & (at["p"] < shape.p)
        return row & (at["q"] >= 0) & (at["q"] < shape.q) & (at["k"] < shape.k)

    def pixels(self, access: GlobalAccess) -> Pixels:
        """Neighbouring inputs and filter positions read the same pixels of the output gradient."""
        shape, at = self.shape, access.coordinates
        pixel = (at["n"] * shape.p + at["p"]) * shape.q + at["q"]
        return Pixels(pixel, at["k"] // self.tile_k, shape.n * shape.p * shape.q)

    def signature(self, number: npt.ArrayLike) -> IntArray:
        """The tile's first pixel within its image, the filter position, what exists, and the line phase."""
        shape = self.shape
        r, s, first = self.filter_position(number)
        pixels = shape.h * shape.w
        n, pixel = np.divmod(self.tile * self.thread_map.shape[1], pixels)
        return packed(
            (pixel, pixels),
            (r, shape.r),
            (s, shape.s),
            self._rows_inside(shape.n * pixels),
            self._channels_inside(first),
            ((n * shape.p * shape.q * shape.k + first) * self.bits % LINE_BITS, LINE_BITS),
        )


class DgradFilterIterator(DgradIterator):
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

    def _offset(self, number: npt.ArrayLike, at: dict[str, IntArray]) -> IntArray:  # noqa: ARG002 - of the coordinates alone
        shape = self.shape
        return ((at["k"] * shape.r + at["r"]) * shape.s + at["s"]) * shape.c + at["c"]

    def _inside(self, number: npt.ArrayLike, at: dict[str, IntArray]) -> BoolArray:  # noqa: ARG002 - of the coordinates alone
        return (at["k"] < self.shape.k) & (at["c"] < self.shape.c)

    def signature(self, number: npt.ArrayLike) -> IntArray:
        """What of the tile exists, and the line phase of its base."""
        shape, columns = self.shape, self.thread_map.shape[0]
        r, s, first = self.filter_position(number)
        c = self.tile * columns
        base = ((first * shape.r + r) * shape.s + s) * shape.c + c
        return packed(
            (np.clip(shape.c - c, 0, columns), columns + 1),
            self._channels_inside(first),
            (base * self.bits % LINE_BITS, LINE_BITS),
        )
