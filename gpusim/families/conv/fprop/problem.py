"""Defines the conv2d forward problem: its keys in a scenario file, and what its tile kernel needs to know."""

from collections.abc import Iterator
from typing import Any, ClassVar, Literal

import numpy as np

from gpusim.element_types import element_bits
from gpusim.families.conv.fprop.optimized import MASK_BITS
from gpusim.families.conv.fprop.source import FpropSource
from gpusim.layout.matrix import MatrixView
from gpusim.scenario.convolution import Convolution
from gpusim.scenario.product import Axes, Walked
from gpusim.scenario.text import Origin
from gpusim.tile.operand import Side


class Conv2dFpropProblem(Convolution):
    """
    Conv2d forward: activation [n, h, w, c], filter [k, r, s, c], output [n, p, q, k], all packed.

    ``padding``, ``stride`` and ``dilation`` are pairs (h, w). If ``p`` and ``q`` are None, they follow from the usual
    formula.
    """

    operator = "fprop"
    summed_channels = "c"
    has_iterators: ClassVar[tuple[str, ...]] = ("analytic", "optimized")
    kind: Literal["conv2d_fprop"] = "conv2d_fprop"

    def k_contiguous(self, side: Side) -> bool:  # noqa: ARG002 - both are
        """Return True: both operands (NHWC, KRSC) are contiguous along channels, which are GEMM K."""
        return True

    @property
    def walked(self) -> dict[str, Walked]:
        """Extents that vectors must divide, by tensor: the number of channels."""
        channels = {"c": self.c}
        return {
            "a": Walked("the activation", channels),
            "b": Walked("the filter", channels),
            "c": Walked("the output", {"k": self.k}),
        }

    def source(self, side: Side, iterator: str) -> FpropSource:
        """Return the activation (side a) or the filter (side b) as the source of an operand."""
        return FpropSource(self.shape, side, element_bits(self.dtype.ab), iterator)

    @property
    def operand_views(self) -> tuple[MatrixView, MatrixView]:
        """Activation and filter as matrices whose rows are the channels of one position."""
        activation = MatrixView(self.n * self.h * self.w, self.c, self.c)
        return activation, MatrixView(self.k * self.r * self.s, self.c, self.c)

    def factors(self, a: Any, b: Any, summed: slice, xp: Any) -> Iterator[tuple[Any, Any]]:
        """Yield a pair of factors, shapes [n * p * q, c] and [c, k], for each filter position."""
        activation = a.reshape(self.n, self.h, self.w, self.c)[..., summed]
        filters = b.reshape(self.k, self.r, self.s, self.c)[..., summed]
        for r in range(self.r):
            for s in range(self.s):
                h, h_valid = self.under_filter(0, r)
                w, w_valid = self.under_filter(1, s)
                inside = xp.asarray((h_valid[:, None] & w_valid[None, :])[None, :, :, None])
                seen = activation[:, xp.asarray(h[:, None]), xp.asarray(w[None, :]), :].astype(np.float64) * inside
                yield seen.reshape(-1, seen.shape[-1]), filters[:, r, s, :].T.astype(np.float64)

    @property
    def operand_axes(self) -> tuple[Axes, Axes]:
        """Axes of activation and filter in a CSV file: a line for each pixel, and for each filter position."""
        activation = Axes("activation", (("n", self.n), ("h", self.h), ("w", self.w)), "c")
        return activation, Axes("filter", (("k", self.k), ("r", self.r), ("s", self.s)), "c")

    @property
    def output_axes(self) -> Axes:
        """Axes of the output in a CSV file: a line for each pixel."""
        return Axes("output", (("n", self.n), ("p", self.output_p), ("q", self.output_q)), "k")

    def iterators(self, iterator: str) -> str:
        """The analytic or the optimized iterators."""
        return "conv_optimized" if iterator == "optimized" else "conv_iterators"

    def check_iterator(self, iterator: str, origin: Origin) -> None:
        """
        Check that the filter fits into the masks of the optimized iterators.

        Raises:
            BadInput: The filter has more rows or columns than a mask has bits.
        """
        for name in ("r", "s") if iterator == "optimized" else ():
            extent = int(getattr(self, name))
            if extent > MASK_BITS:
                rule = f'at most {MASK_BITS} with iterator = "optimized", whose predicates are bits of a mask'
                raise origin.refusal(f"problem.{name}", rule, extent)
