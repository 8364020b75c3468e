"""The gradient of a 2-d convolution to its activation: what a scenario file says of it, and what its kernel asks."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Literal

import numpy as np

from gpusim.arrays import BoolArray, IntArray
from gpusim.element_types import element_bits
from gpusim.families.conv.dgrad.source import DgradSource
from gpusim.families.gemm.gemm import TRANSPOSABLE_BITS
from gpusim.layout.matrix import MatrixView
from gpusim.scenario.convolution import Convolution
from gpusim.scenario.product import Axes, ProblemSize, Walked
from gpusim.scenario.text import Origin
from gpusim.tile.operand import Side


class Conv2dDgradProblem(Convolution):
    """
    Conv2d data gradient: of output gradient [n, p, q, k] and filter [k, r, s, c], the activation gradient [n, h, w, c].

    The extents are those of the forward convolution; all tensors are packed. ``padding``, ``stride``, ``dilation`` are
    pairs (h, w). ``p`` and ``q`` of None follow the usual formula.

    Not modelled: strides other than 1, whose gradient CUTLASS computes with another kernel (strided dgrad).

    Source: CUTLASS include/cutlass/conv/kernel/default_conv2d_dgrad.h, StrideSupport::kUnity.
    """

    operator = "dgrad"
    summed_channels = "k"
    kind: Literal["conv2d_dgrad"] = "conv2d_dgrad"

    def k_contiguous(self, side: Side) -> bool:
        """Return whether GEMM K, the filters, is contiguous: in the output gradient it is, in the filter c is."""
        return side == "a"

    @property
    def walked(self) -> dict[str, Walked]:
        """Vectors lie along the last dimension of each tensor."""
        return {
            "a": Walked("the output gradient", {"k": self.k}),
            "b": Walked("the filter", {"c": self.c}),
            "c": Walked("the activation gradient", {"c": self.c}),
        }

    def source(self, side: Side, iterator: str) -> DgradSource:  # noqa: ARG002 - analytic is the only one
        """The output gradient (side a) or the filter (side b)."""
        return DgradSource(self.shape, side, element_bits(self.dtype.ab))

    @property
    def operand_views(self) -> tuple[MatrixView, MatrixView]:
        """The output gradient as runs of k, the filter as runs of c."""
        outputs = MatrixView(self.n * self.output_p * self.output_q, self.k, self.k)
        return outputs, MatrixView(self.k * self.r * self.s, self.c, self.c)

    def factors(self, a: Any, b: Any, summed: slice, xp: Any) -> Iterator[tuple[Any, Any]]:
        """One pair ([n * h * w, k], [k, c]) for each filter position."""
        gradient = a.reshape(self.n, self.output_p, self.output_q, self.k)[..., summed]
        filters = b.reshape(self.k, self.r, self.s, self.c)[summed]
        for r in range(self.r):
            for s in range(self.s):
                p, p_valid = self.outputs_of(0, r)
                q, q_valid = self.outputs_of(1, s)
                inside = xp.asarray((p_valid[:, None] & q_valid[None, :])[None, :, :, None])
                seen = gradient[:, xp.asarray(p[:, None]), xp.asarray(q[None, :]), :].astype(np.float64) * inside
                yield seen.reshape(-1, seen.shape[-1]), filters[:, r, s, :].astype(np.float64)

    def outputs_of(self, axis: int, index: int) -> tuple[IntArray, BoolArray]:
        """
        Return the output row (axis 0) or column (1) that reads each of the activation's at one filter position.

        Args:
            axis: 0 for rows, 1 for columns.
            index: Filter row or column of the walk.

        Returns:
            The outputs, shape (h,) or (w,), those that do not exist clipped; and which exist.
        """
        extent = (self.output_p, self.output_q)[axis]
        inputs = np.arange((self.h, self.w)[axis], dtype=np.int64)
        at = inputs + self.padding[axis] - self.position(axis, index) * self.dilation[axis]
        return np.clip(at, 0, extent - 1), (at >= 0) & (at < extent)

    @property
    def operand_axes(self) -> tuple[Axes, Axes]:
        """A line for each pixel of the output gradient and for each filter position."""
        gradient = Axes("output_gradient", (("n", self.n), ("p", self.output_p), ("q", self.output_q)), "k")
        return gradient, Axes("filter", (("k", self.k), ("r", self.r), ("s", self.s)), "c")

    @property
    def output_axes(self) -> Axes:
        """A line for each pixel of the activation gradient."""
        return Axes("activation_gradient", (("n", self.n), ("h", self.h), ("w", self.w)), "c")

    def iterators(self, iterator: str) -> str:  # noqa: ARG002 - analytic is the only one
        """The analytic iterators of dgrad."""
        return "dgrad_iterators"

    def profiler_words(self, iterator: str) -> tuple[str, str]:
        """Operator and iterator; layout of all tensors, and that the stride is 1."""
        return f"{self.operator}_{iterator}", "nhwc_unity_stride"

    def size(self, tile_k: int) -> ProblemSize:
        """Return the size of the problem: the dimensions of each tensor."""
        forward = super().size(tile_k)
        activation, filters, output = forward.tensors.values()
        names = {"the activation gradient": activation, "the filter": filters, "the output gradient": output}
        return replace(forward, tensors=names)

    def check_extents(self, origin: Origin) -> None:
        """Refuse a filter that does not fit the padded activation, and strides."""
        super().check_extents(origin)
        if self.stride != (1, 1):
            rule = "[1, 1] for conv2d_dgrad: strided data gradients are another kernel"
            raise origin.refusal("problem.stride", rule, list(self.stride))

    def check_contiguity(self, origin: Origin) -> None:
        """Refuse elements that no load brings together along K: the filter lies along c, which is GEMM N."""
        if element_bits(self.dtype.ab) not in TRANSPOSABLE_BITS:
            rule = "of 16 or 32 bits for conv2d_dgrad: its filter is contiguous along c, not along GEMM K"
            raise origin.refusal("problem.dtype.ab", rule, self.dtype.ab)

    def check_iterator(self, iterator: str, origin: Origin) -> None:
        """Refuse all iterators but the analytic ones."""
        if iterator not in self.has_iterators:
            raise origin.refusal("kernel.iterator", '"analytic" for conv2d_dgrad', iterator)
