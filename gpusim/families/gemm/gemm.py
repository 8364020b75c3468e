"""Defines the GEMM problem: its keys in a scenario file, and what its tile kernel needs to know."""

from collections.abc import Iterator
from typing import Any, Literal

import numpy as np
from pydantic import Field

from gpusim.arrays import IntArray
from gpusim.element_types import element_bits
from gpusim.layout.matrix import MatrixView
from gpusim.scenario.models import Extent, MatrixLayout
from gpusim.scenario.product import Axes, MatrixProduct, ProblemSize, Walked
from gpusim.scenario.text import Origin
from gpusim.tile.extents import GemmExtents, ceil_div, gemm_k_iterations
from gpusim.tile.gemm_iterators import GemmSource
from gpusim.tile.operand import Side

TRANSPOSABLE_BITS = (16, 32)
"""Widths of elements that may be strided along K, bits: ldmatrix.trans transposes 16 bits, a plain load takes 32."""


class GemmProblem(MatrixProduct):
    """
    D[m, n] = alpha * A[m, k] * B[k, n] + beta * C[m, n], output row-major.

    ``lda``, ``ldb``, ``ldc`` are leading dimensions in elements; None means packed.
    """

    kind: Literal["gemm"] = "gemm"
    m: Extent = Field(description="Rows of the output.")
    n: Extent = Field(description="Columns of the output.")
    k: Extent = Field(description="Length of the sum.")
    layout_a: MatrixLayout = Field("row", description="Layout of A.")
    layout_b: MatrixLayout = Field("column", description="Layout of B.")
    lda: Extent | None = Field(None, description="Leading dimension of A, elements. Default: packed.")
    ldb: Extent | None = Field(None, description="Leading dimension of B, elements. Default: packed.")
    ldc: Extent | None = Field(None, description="Leading dimension of C and D, elements. Default: packed.")

    @property
    def extents(self) -> GemmExtents:
        """Extents M, N and K."""
        return GemmExtents(self.m, self.n, self.k)

    @property
    def in_words(self) -> str:
        """Extents as text, ``MxNxK``."""
        return f"{self.m}x{self.n}x{self.k}"

    def k_contiguous(self, side: Side) -> bool:
        """Return whether an operand is contiguous along K: row-major A, or column-major B."""
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
        """Leading dimension of A, elements."""
        return self.lda if self.lda is not None else self.contiguous_a

    @property
    def leading_b(self) -> int:
        """Leading dimension of B, elements."""
        return self.ldb if self.ldb is not None else self.contiguous_b

    @property
    def leading_c(self) -> int:
        """Leading dimension of source and output, elements."""
        return self.ldc if self.ldc is not None else self.n

    @property
    def walked(self) -> dict[str, Walked]:
        """Extents that vectors must divide, by tensor: the contiguous extent and the leading dimension."""
        along_a, along_b = "k" if self.k_contiguous("a") else "m", "k" if self.k_contiguous("b") else "n"
        return {
            "a": Walked("A", {along_a: self.contiguous_a, "lda": self.leading_a}),
            "b": Walked("B", {along_b: self.contiguous_b, "ldb": self.leading_b}),
            "c": Walked("C", {"n": self.n, "ldc": self.leading_c}),
        }

    def k_iterations(self, tile_k: int, slice_: int) -> int:
        """Return the number of k tiles of one split-K slice."""
        return gemm_k_iterations(self.k, tile_k, self.split_k_slices, slice_)

    def source(self, side: Side, iterator: str) -> GemmSource:  # noqa: ARG002 - a GEMM has one kind of iterator
        """Return an operand's matrix as the source that the predicated tile iterator walks."""
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
        """Return the leading dimensions, which a scenario file may leave out."""
        return {"lda": self.leading_a, "ldb": self.leading_b, "ldc": self.leading_c}

    @property
    def operand_views(self) -> tuple[MatrixView, MatrixView]:
        """A and B as matrices whose rows lie along their contiguous dimensions."""
        a = (self.m, self.k) if self.layout_a == "row" else (self.k, self.m)
        b = (self.k, self.n) if self.layout_b == "row" else (self.n, self.k)
        return MatrixView(*a, self.leading_a), MatrixView(*b, self.leading_b)

    def factors(self, a: Any, b: Any, summed: slice, xp: Any) -> Iterator[tuple[Any, Any]]:  # noqa: ARG002 - arrays have all it needs
        """Yield one pair of factors, A and B, over the interval ``summed`` of K."""
        view_a, view_b = self.operand_views
        left, right = self.in_lines(view_a.of(a), view_b.of(b))
        yield left[:, summed], right[summed]

    def in_lines(self, a: Any, b: Any) -> tuple[Any, Any]:
        """Return A as [m, k] and B as [k, n], whatever their layouts."""
        return (a if self.layout_a == "row" else a.T), (b if self.layout_b == "row" else b.T)

    @property
    def products(self) -> int:
        """Number of products that each output element sums: K."""
        return self.k

    def slice_of_summed(self, tile_k: int) -> IntArray:
        """Return the split-K slice of each k, shape (k,). A slice gets ceil(k tiles / slices) consecutive k tiles."""
        tiles_per_slice = ceil_div(ceil_div(self.k, tile_k), self.split_k_slices)
        return np.arange(self.k, dtype=np.int64) // (tile_k * tiles_per_slice)

    def summed_tiles(self, tile_k: int, owned: IntArray) -> Iterator[slice]:
        """Yield the k tiles of a slice as intervals of K. An incomplete tile comes first."""
        begin, end = int(owned[0]), int(owned[-1]) + 1
        first = (end - begin) % tile_k or tile_k
        yield slice(begin, begin + first)
        for at in range(begin + first, end, tile_k):
            yield slice(at, at + tile_k)

    @property
    def operand_axes(self) -> tuple[Axes, Axes]:
        """Axes of A ([m, k]) and B ([k, n]) in a CSV file."""
        return Axes("a", (("m", self.m),), "k"), Axes("b", (("k", self.k),), "n")

    @property
    def output_axes(self) -> Axes:
        """Axes of the output ([m, n]) in a CSV file."""
        return Axes("output", (("m", self.m),), "n")

    @property
    def macros(self) -> dict[str, int | str]:
        """K, and the leading dimensions of the operands."""
        return {"CONVOLUTION": 0, "GEMM_K": self.k, "GEMM_LDA": self.leading_a, "GEMM_LDB": self.leading_b}

    @property
    def launch_extents(self) -> tuple[int, int, int]:
        """K and the leading dimensions of A and B, elements."""
        return self.k, self.leading_a, self.leading_b

    def iterators(self, iterator: str) -> str:  # noqa: ARG002 - a GEMM has one kind of iterator
        """The predicated iterator."""
        return "gemm_iterators"

    def profiler_words(self, iterator: str) -> tuple[str, str]:  # noqa: ARG002 - a GEMM has one kind of iterator
        """
        Return the operation and layout letters in CUTLASS's kernel name.

        The profiler's letters describe the transposed problem: B comes first, and n means row-major.
        """
        letters = ("n" if self.layout_b == "row" else "t") + ("n" if self.layout_a == "row" else "t")
        return "gemm", letters

    def check_extents(self, origin: Origin) -> None:
        """
        Check that no leading dimension is less than a row or column.

        Raises:
            BadInput: One is.
        """
        for name, least, what in (
            ("lda", self.contiguous_a, f"a {self.layout_a} of A"),
            ("ldb", self.contiguous_b, f"a {self.layout_b} of B"),
            ("ldc", self.n, "a row of C"),
        ):
            leading = getattr(self, name)
            if leading is not None and leading < least:
                raise origin.refusal(f"problem.{name}", f"at least {least}, the elements of {what}", leading)

    def check_contiguity(self, origin: Origin) -> None:
        """
        Check that operands of 4- and 8-bit elements are contiguous along K, because no load transposes these.

        Raises:
            BadInput: One is not.
        """
        if element_bits(self.dtype.ab) in TRANSPOSABLE_BITS:
            return
        for name, layout, k_contiguous in (("layout_a", self.layout_a, "row"), ("layout_b", self.layout_b, "column")):
            if layout != k_contiguous:
                rule = f'"{k_contiguous}" for {self.dtype.ab}: only 16- and 32-bit elements need not lie along K'
                raise origin.refusal(f"problem.{name}", rule, layout)

    def check_split_k(self, tile_k: int, origin: Origin) -> None:
        """
        Check that every split-K slice has a k tile. Each slice takes ceil(k tiles / slices).

        Raises:
            BadInput: There are more slices than k tiles, or the last slice would have none.
        """
        tiles, slices = ceil_div(self.k, tile_k), self.split_k_slices
        origin.require(slices <= tiles, "problem.split_k_slices", f"1..{tiles}, the k tiles to share", slices)
        each = ceil_div(tiles, slices)
        below = ceil_div(tiles, each)
        rule = f"such that each slice of {each} of the {tiles} k tiles finds one ({below}, for example)"
        origin.require((slices - 1) * each < tiles, "problem.split_k_slices", rule, slices)

    def check_iterator(self, iterator: str, origin: Origin) -> None:
        """
        Check that the iterator is "analytic", the only one of a GEMM.

        Raises:
            BadInput: It is another one.
        """
        rule = '"analytic" for a GEMM; "optimized" is of convolutions'
        origin.require(iterator in self.has_iterators, "kernel.iterator", rule, iterator)

    def size(self, tile_k: int) -> ProblemSize:
        """Return the size of the problem: its matrices by extent and leading dimension."""
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
    """Return the key that determines a leading dimension."""
    return contiguous if given is None else name
