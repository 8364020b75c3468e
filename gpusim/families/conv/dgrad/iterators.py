"""Global addresses and predicates of conv2d dgrad's operands: the analytic output-gradient and filter iterators."""

from functools import cached_property

from gpusim.arrays import IntArray
from gpusim.tile.implicit_gemm import ImageIterator, ImplicitGemmIterator, KrscIterator
from gpusim.tile.k_walk import KWalk, implicit_gemm_walk


class DgradIterator(ImplicitGemmIterator):
    """An iterator of conv2d dgrad, which sums output channels."""

    @cached_property
    def walk(self) -> KWalk:
        """The walk over filter positions and output channels, which are the filters."""
        return implicit_gemm_walk(self.shape, "dgrad", self.tile_k)


class OutputGradientIterator(DgradIterator, ImageIterator):
    """
    Conv2dDgradOutputGradientTileAccessIteratorAnalytic, unit stride: operand A, seen as [n·h·w, r·s·k].

    Activation row h was read by output row p = h + padding - r · dilation at filter row r.

    Source: CUTLASS include/cutlass/conv/threadblock/conv2d_dgrad_output_gradient_tile_access_iterator_analytic.h;
    golden gmem_dgrad_A_outgrad_*.json.
    """

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
        """Return the output row and column that read activation pixel (0, 0) at a filter position."""
        (pad_h, pad_w), (dilation_h, dilation_w) = self.shape.padding, self.shape.dilation
        return pad_h - r * dilation_h, pad_w - s * dilation_w


class DgradFilterIterator(DgradIterator, KrscIterator):
    """
    Conv2dDgradFilterTileAccessIteratorAnalytic: operand B, the filter seen as [r·s·k, c], contiguous along c.

    Source: CUTLASS include/cutlass/conv/threadblock/conv2d_dgrad_filter_tile_access_iterator_analytic.h;
    golden gmem_dgrad_B_filter_*.json.
    """

    k_axis = 1
    column_axis = "c"
