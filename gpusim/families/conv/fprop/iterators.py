"""Computes global addresses and predicates of conv2d forward: the analytic activation and filter iterators."""

from functools import cached_property

from gpusim.arrays import IntArray
from gpusim.tile.implicit_gemm import ImageIterator, ImplicitGemmIterator, KrscIterator
from gpusim.tile.k_walk import KWalk, implicit_gemm_walk


class FpropIterator(ImplicitGemmIterator):
    """An iterator of conv2d forward, which sums input channels."""

    @cached_property
    def walk(self) -> KWalk:
        """The walk over filter positions and input channels."""
        return implicit_gemm_walk(self.shape, "fprop", self.tile_k)


class ActivationIterator(FpropIterator, ImageIterator):
    """
    Conv2dFpropActivationTileAccessIteratorAnalytic: operand A, the activation seen as [n·p·q, r·s·c].

    Source: CUTLASS include/cutlass/conv/threadblock/conv2d_fprop_activation_tile_access_iterator_analytic.h;
    golden gmem_fprop_A_activation_*.json.
    """

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
        """Return the input row and column that output pixel (0, 0) reads at a filter position."""
        (pad_h, pad_w), (dilation_h, dilation_w) = self.shape.padding, self.shape.dilation
        return r * dilation_h - pad_h, s * dilation_w - pad_w


class FilterIterator(FpropIterator, KrscIterator):
    """
    Conv2dFpropFilterTileAccessIteratorAnalytic: operand B, the filter seen as [r·s·c, k].

    Source: CUTLASS include/cutlass/conv/threadblock/conv2d_fprop_filter_tile_access_iterator_analytic.h;
    golden gmem_fprop_B_filter_*.json.
    """

    column_axis = "k"
