"""A plain GEMM: what a scenario file says of it, and what its tile kernel asks."""

from collections.abc import Iterator
from typing import Any, Literal

import numpy as np
from pydantic import Field

from gpusim.arrays import IntArray
from gpusim.element_types import element_bits
from gpusim.layout.matrix import MatrixView
from gpusim.scenario.models import Extent, Layout
from gpusim.scenario.product import Axes, MatrixProduct, ProblemSize, Walked
from gpusim.scenario.text import Origin
from gpusim.tile.extents import GemmExtents, ceil_div, gemm_k_iterations
from gpusim.tile.gemm_iterators import GemmSource
from gpusim.tile.operand import Side

TRANSPOSED_BITS = (16, 32)
"""Widths of elements that need not be contiguous along K: ldmatrix.trans moves 16 bits, a plain load 32."""


class GemmProblem(MatrixProduct):
    """
    D[m, n] = alpha * A[m, k] * B[k, n] + beta * C[m, n], output row-major.

    ``lda``, ``ldb``, ``ldc`` are leading dimensions in elements; None means packed.
    """

    kind: Literal["gemm"] = "gemm"
    m: Extent = Field(description="Rows of the output.")
    n: Extent = Field(description="Columns of the output.")
    k: Extent = Field(description="Length of the sum.")
    layout_a: Layout = Field("row", description="Layout of A.")
    layout_b: Layout = Field("column", description="Layout of B.")
    lda: Extent | None = Field(None, description="Leading dimension of A, elements. Default: packed.")
    ldb: Extent | None = Field(None, description="Leading dimension of B, elements. Default: packed.")
    ldc: Extent | None = Field(None, description="Leading dimension of C and D, elements. Default: packed.")

    @property
    def extents(self) -> GemmExtents:
        """M, N and K."""
        return GemmExtents(self.m, self.n, self.k)

    @property
    def in_words(self) -> str:
        """M x N x K."""
        return f"{self.m}x{self.n}x{self.k}"

    def k_contiguous(self, side: Side) -> bool:
        """Whether an operand is contiguous along K: A row-major, B column-major."""
        return self.layout_a == "row" if side == "a" else self.layout_b == "column"

    @property
    def contiguous_a(self) -> int:
        """Extent of A along its contiguous dimension, elements."""
        return self.k if self.k_contiguous("a") else self.m

    @property
    def contiguous_b(self) -> int:
        """Extent of B along its contiguous dimension, elements."""
        return self.k if self.k_contiguous("b") else self.n

    @property
    def leading_a(self) -> int:
        """Elements between neighbours of A's strided dimension."""
        return self.lda if self.lda is not None else self.contiguous_a

    @property
    def leading_b(self) -> int:
        """Elements between neighbours of B's strided dimension."""
        return self.ldb if self.ldb is not None else self.contiguous_b

    @property
    def leading_c(self) -> int:
        """Elements between two rows of the source and output tensors."""
        return self.ldc if self.ldc is not None else self.n

    @property
    def walked(self) -> dict[str, Walked]:
        """Vectors lie along the contiguous dimension, and every row begins on one."""
        along_a, along_b = "k" if self.k_contiguous("a") else "m", "k" if self.k_contiguous("b") else "n"
        return {
            "a": Walked("A", {along_a: self.contiguous_a, "lda": self.leading_a}),
            "b": Walked("B", {along_b: self.contiguous_b, "ldb": self.leading_b}),
            "c": Walked("C", {"n": self.n, "ldc": self.leading_c}),
        }

    def k_iterations(self, tile_k: int, slice_: int) -> int:
        """K tiles of one split-K slice."""
        return gemm_k_iterations(self.k, tile_k, self.split_k_slices, slice_)

    def source(self, side: Side, iterator: str) -> GemmSource:  # noqa: ARG002 - a GEMM has one kind of iterator
        """An operand's matrix, walked by the predicated iterator."""
        is_a = side == "a"
        return GemmSource(
            side,
            extent=self.m if is_a else self.n,
            k=self.k,
            leading=self.leading_a if is_a else self.leading_b,
            bits=element_bits(self.dtype.ab),
            k_contiguous=self.k_contiguous(side),
            split_k_slices=self.split_k_slices,
        )

    def derived(self) -> dict[str, int]:
        """Leading dimensions."""
        return {"lda": self.leading_a, "ldb": self.leading_b, "ldc": self.leading_c}

    @property
    def operand_views(self) -> tuple[MatrixView, MatrixView]:
        """A and B as runs along their contiguous dimensions."""
        a = (self.m, self.k) if self.layout_a == "row" else (self.k, self.m)
        b = (self.k, self.n) if self.layout_b == "row" else (self.n, self.k)
        return MatrixView(*a, self.leading_a), MatrixView(*b, self.leading_b)

    def factors(self, a: Any, b: Any, summed: slice, xp: Any) -> Iterator[tuple[Any, Any]]:  # noqa: ARG002 - arrays have all it needs
        """One pair: A and B."""
        view_a, view_b = self.operand_views
        left, right = self.in_lines(view_a.of(a), view_b.of(b))
        yield left[:, summed].astype(np.float64), right[summed].astype(np.float64)

    def in_lines(self, a: Any, b: Any) -> tuple[Any, Any]:
        """[m, k] and [k, n], whatever the layouts."""
        return (a if self.layout_a == "row" else a.T), (b if self.layout_b == "row" else b.T)

    @property
    def products(self) -> int:
        """K."""
        return self.k

    def slice_of_summed(self, tile_k: int) -> IntArray:
        """Each slice gets ceil(k tiles / slices) consecutive k tiles. Shape (k,)."""
        tiles_per_slice = ceil_div(ceil_div(self.k, tile_k), self.split_k_slices)
        return np.arange(self.k, dtype=np.int64) // (tile_k * tiles_per_slice)

    def summed_tiles(self, tile_k: int, owned: IntArray) -> Iterator[slice]:
        """The tile that is not whole comes first."""
        begin, end = int(owned[0]), int(owned[-1]) + 1
        first = (end - begin) % tile_k or tile_k
        yield slice(begin, begin + first)
        for at in range(begin + first, end, tile_k):
            yield slice(at, at + tile_k)

    @property
    def operand_axes(self) -> tuple[Axes, Axes]:
        """[m, k] and [k, n]."""
        return Axes("a", (("m", self.m),), "k"), Axes("b", (("k", self.k),), "n")

    @property
    def output_axes(self) -> Axes:
        """[m, n]."""
        return Axes("output", (("m", self.m),), "n")

    @property
    def macros(self) -> dict[str, int | str]:
        """Extents and leading dimensions."""
        return {
            "CONVOLUTION": 0,
            "GEMM_M": self.m,
            "GEMM_N": self.n,
            "GEMM_K": self.k,
            "GEMM_LDA": self.leading_a,
            "GEMM_LDB": self.leading_b,
        }

    def profiler_words(self, iterator: str) -> tuple[str, str]:  # noqa: ARG002 - a GEMM has one kind of iterator
        """The profiler's letters are of the transposed problem: of B first, n where it is row-major."""
        letters = ("n" if self.layout_b == "row" else "t") + ("n" if self.layout_a == "row" else "t")
        return "gemm", letters

    def check_extents(self, origin: Origin) -> None:
        """Refuse a leading dimension that is less than a row or column."""
        for name, least, what in (
            ("lda", self.contiguous_a, f"a {self.layout_a} of A"),
            ("ldb", self.contiguous_b, f"a {self.layout_b} of B"),
            ("ldc", self.n, "a row of C"),
        ):
            leading = getattr(self, name)
            if leading is not None and leading < least:
                raise origin.refusal(f"problem.{name}", f"at least {least}, the elements of {what}", leading)

    def check_contiguity(self, origin: Origin) -> None:
        """Refuse operands along M or N of elements that no load brings together along K."""
        if element_bits(self.dtype.ab) in TRANSPOSED_BITS:
            return
        for name, layout, k_contiguous in (("layout_a", self.layout_a, "row"), ("layout_b", self.layout_b, "column")):
            if layout != k_contiguous:
                rule = f'"{k_contiguous}" for {self.dtype.ab}: only 16- and 32-bit elements need not lie along K'
                raise origin.refusal(f"problem.{name}", rule, layout)

    def check_split_k(self, tile_k: int, origin: Origin) -> None:
        """Refuse slices without a k tile: each takes ceil(tiles / slices), and the last one must still find one."""
        tiles, slices = ceil_div(self.k, tile_k), self.split_k_slices
        origin.require(slices <= tiles, "problem.split_k_slices", f"1..{tiles}, the k tiles to share", slices)
        each = ceil_div(tiles, slices)
        below = ceil_div(tiles, each)
        rule = f"such that each slice of {each} of the {tiles} k tiles finds one ({below}, for example)"
        origin.require((slices - 1) * each < tiles, "problem.split_k_slices", rule, slices)

    def check_iterator(self, iterator: str, origin: Origin) -> None:
        """Refuse all but the one that a GEMM has, which goes by "analytic"."""
        rule = '"analytic" for a GEMM; "optimized" is of convolutions'
        origin.require(iterator == "analytic", "kernel.iterator", rule, iterator)

    def size(self, tile_k: int) -> ProblemSize:
        """Its matrices by extent and leading dimension."""
        strided_a, along_a = ("m", "k") if self.k_contiguous("a") else ("k", "m")
        strided_b, along_b = ("n", "k") if self.k_contiguous("b") else ("k", "n")
        return ProblemSize(
            rows={"m": self.m},
            column="n",
            summed={"k": self.k},
            k_tiles=ceil_div(ceil_div(self.k, tile_k), self.split_k_slices),
            tensors={
                "A": {strided_a: getattr(self, strided_a), _leading("lda", self.lda, along_a): self.leading_a},
                "B": {strided_b: getattr(self, strided_b), _leading("ldb", self.ldb, along_b): self.leading_b},
                "C": {"m": self.m, _leading("ldc", self.ldc, "n"): self.leading_c},
            },
        )


def _leading(name: str, given: int | None, contiguous: str) -> str:
    """The key that decides a leading dimension."""
    return contiguous if given is None else name
