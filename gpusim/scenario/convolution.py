"""The common part of all 2-d convolution problems: extents, output size and the walk over channels."""

from collections.abc import Iterator
from typing import ClassVar, Literal

import numpy as np
from pydantic import Field

from gpusim.arrays import BoolArray, IntArray
from gpusim.scenario.models import Extent, Offsets, Pair
from gpusim.scenario.product import MatrixProduct, ProblemSize
from gpusim.scenario.text import Origin
from gpusim.tile.extents import ConvOperator, ConvShape, GemmExtents, ceil_div, implicit_gemm_extents
from gpusim.tile.k_walk import KWalk, implicit_gemm_walk


class Convolution(MatrixProduct):
    """
    A convolution of an activation [n, h, w, c] with a filter [k, r, s, c] into [n, p, q, k], all packed.

    ``padding``, ``stride`` and ``dilation`` are pairs (h, w). If ``p`` or ``q`` is None, the usual formula gives it.

    Attributes:
        operator: fprop, dgrad or wgrad: the tensor that is computed from the other two.
        summed_channels: Key of the channels that are summed.
    """

    implicit = True
    operator: ClassVar[ConvOperator]
    summed_channels: ClassVar[Literal["c", "k"]]

    kind: str
    n: Extent = Field(description="Images.")
    h: Extent = Field(description="Activation height.")
    w: Extent = Field(description="Activation width.")
    c: Extent = Field(description="Input channels.")
    k: Extent = Field(description="Filters, which are the output channels.")
    r: Extent = Field(description="Filter height.")
    s: Extent = Field(description="Filter width.")
    padding: Offsets = Field((0, 0), description="Zero rows and columns before (and after) the activation.")
    stride: Pair = Field((1, 1), description="Activation steps between neighbouring outputs.")
    dilation: Pair = Field((1, 1), description="Activation steps between neighbouring filter positions.")
    mode: Literal["cross_correlation", "convolution"] = Field(
        "cross_correlation", description="Convolution flips the filter, cross_correlation does not."
    )
    p: Extent | None = Field(None, description="Output height. Default: the usual formula.")
    q: Extent | None = Field(None, description="Output width. Default: the usual formula.")

    @property
    def formula_p(self) -> int:
        """Output height by the usual formula; below 1 if the filter does not fit."""
        return (self.h + 2 * self.padding[0] - self.dilation[0] * (self.r - 1) - 1) // self.stride[0] + 1

    @property
    def formula_q(self) -> int:
        """Output width by the usual formula; below 1 if the filter does not fit."""
        return (self.w + 2 * self.padding[1] - self.dilation[1] * (self.s - 1) - 1) // self.stride[1] + 1

    @property
    def output_p(self) -> int:
        """Output height, given or by the formula."""
        return self.p if self.p is not None else self.formula_p

    @property
    def output_q(self) -> int:
        """Output width, given or by the formula."""
        return self.q if self.q is not None else self.formula_q

    @property
    def shape(self) -> ConvShape:
        """Shape of the convolution, with p and q resolved."""
        return ConvShape(
            n=self.n,
            h=self.h,
            w=self.w,
            c=self.c,
            k=self.k,
            r=self.r,
            s=self.s,
            p=self.output_p,
            q=self.output_q,
            padding=self.padding,
            stride=self.stride,
            dilation=self.dilation,
            mode=self.mode,
            split_k_slices=self.split_k_slices,
        )

    @property
    def extents(self) -> GemmExtents:
        """M, N and K of the implicit GEMM."""
        return implicit_gemm_extents(self.shape, self.operator)

    @property
    def in_words(self) -> str:
        """Activation and filters for captions, like "1x56x56x64, 128 filters 3x3"."""
        return f"{self.n}x{self.h}x{self.w}x{self.c}, {self.k} filters {self.r}x{self.s}"

    @property
    def leading_c(self) -> int:
        """Elements from one position (pixel) of the source and output tensors to the next."""
        return self.extents.n

    def walk(self, tile_k: int) -> KWalk:
        """Return the walk over filter positions and summed channels."""
        return implicit_gemm_walk(self.shape, self.operator, tile_k)

    def k_iterations(self, tile_k: int, slice_: int) -> int:  # noqa: ARG002 - all slices have as many
        """Return the number of k tiles of one split-K slice."""
        return self.walk(tile_k).k_tiles

    @property
    def k_tiles_per_interval(self) -> int:
        """Number of filter positions, which are walked for each interval of channels."""
        return self.r * self.s

    def derived(self) -> dict[str, int]:
        """Return the output height and width."""
        return {"p": self.output_p, "q": self.output_q}

    @property
    def channels(self) -> int:
        """Number of channels that are summed."""
        return self.c if self.summed_channels == "c" else self.k

    @property
    def products(self) -> int:
        """Products summed into one output element: one for each filter position and summed channel."""
        return self.channels * self.r * self.s

    def slice_of_summed(self, tile_k: int) -> IntArray:
        """Return the split-K slice that sums each channel. Shape (channels,)."""
        return self.walk(tile_k).slice_of_summed

    def summed_tiles(self, tile_k: int, owned: IntArray) -> Iterator[slice]:
        """Yield the channel tiles of one slice, each for all filter positions at once."""
        for tile in dict.fromkeys((owned // tile_k).tolist()):
            yield slice(tile * tile_k, (tile + 1) * tile_k)

    def position(self, axis: int, index: int) -> int:
        """
        Return the filter row (axis 0) or column (1) read at an ``index`` of the walk; convolution mode flips them.
        """
        return (self.r, self.s)[axis] - 1 - index if self.mode == "convolution" else index

    def under_filter(self, axis: int, index: int) -> tuple[IntArray, BoolArray]:
        """
        Return the activation rows (axis 0) or columns (1) under one filter position for each output, and which exist.

        Indices that do not exist are clipped into the activation.
        """
        extent = (self.h, self.w)[axis]
        outputs = np.arange((self.output_p, self.output_q)[axis], dtype=np.int64)
        at = outputs * self.stride[axis] - self.padding[axis] + self.position(axis, index) * self.dilation[axis]
        return np.clip(at, 0, extent - 1), (at >= 0) & (at < extent)

    @property
    def macros(self) -> dict[str, int | str]:
        """Macros for the extents, the padding, strides and dilations by axis, and whether the filter is flipped."""
        pairs = {"PAD": self.padding, "STRIDE": self.stride, "DILATION": self.dilation}
        by_axis = {
            f"CONV_{name}_{axis}": pair[index] for name, pair in pairs.items() for index, axis in enumerate("HW")
        }
        return {
            "CONVOLUTION": 1,
            **{f"CONV_{name.upper()}": getattr(self, name) for name in ("n", "h", "w", "c", "k", "r", "s")},
            "CONV_P": self.output_p,
            "CONV_Q": self.output_q,
            **by_axis,
            "CONV_FLIP_FILTER": int(self.mode == "convolution"),
        }

    def profiler_words(self, iterator: str) -> tuple[str, str]:
        """Return operator with iterator, and the layout of all tensors, as CUTLASS's profiler names them."""
        return f"{self.operator}_{iterator}", "nhwc"

    def check_extents(self, origin: Origin) -> None:
        """Refuse a filter that does not fit the padded activation."""
        for axis, extent, taps, pad, dilation, formula, given in (
            ("h", self.h, self.r, self.padding[0], self.dilation[0], self.formula_p, self.p),
            ("w", self.w, self.s, self.padding[1], self.dilation[1], self.formula_q, self.q),
        ):
            if formula < 1 and given is None:
                name = {"h": "r", "w": "s"}[axis]
                most = (extent + 2 * pad - 1) // dilation + 1
                raise origin.refusal(f"problem.{name}", f"at most {most}, so that it fits the padded {axis}", taps)

    def check_split_k(self, tile_k: int, origin: Origin) -> None:
        """Refuse more slices than there are channel tiles."""
        tiles = ceil_div(self.channels, tile_k)
        if self.split_k_slices > tiles:
            rule = f"1..{tiles}, the channel tiles to share"
            raise origin.refusal("problem.split_k_slices", rule, self.split_k_slices)

    def size(self, tile_k: int) -> ProblemSize:
        """Return the extents of the tensors by their dimensions; the tensor [n, p, q, k] is called the output."""
        activation = {"n": self.n, "h": self.h, "w": self.w, "c": self.c}
        output = {"n": self.n, "p": self.output_p, "q": self.output_q, "k": self.k}
        summed = {"r": self.r, "s": self.s, self.summed_channels: self.channels}
        result = output if self.operator == "fprop" else activation
        column = next(reversed(result))
        return ProblemSize(
            rows={name: extent for name, extent in result.items() if name != column},
            column=column,
            summed=summed,
            k_tiles=self.walk(tile_k).k_tiles,
            tensors={
                "the activation": activation,
                "the filter": {"k": self.k, "r": self.r, "s": self.s, "c": self.c},
                "the output": output,
            },
        )
