"""The interface of every problem that is one matrix product: GEMM, and the convolutions that are implicit GEMMs."""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from pydantic import Field, StrictBool

from gpusim.arrays import IntArray
from gpusim.element_types import widest_alignment
from gpusim.layout.matrix import MatrixView
from gpusim.scenario.models import Alignment, DTypes, Extent, Scale, SplitK, Table
from gpusim.scenario.text import Origin
from gpusim.tile.extents import GemmExtents
from gpusim.tile.operand import Side, Source


@dataclass(frozen=True, slots=True)
class Walked:
    """
    The extents that the global accesses of an operand, or of the output, walk along.

    Attributes:
        tensor: Name of the tensor in messages.
        extents: Extents in elements that a vector must divide, by their scenario keys.
    """

    tensor: str
    extents: dict[str, int]


@dataclass(frozen=True, slots=True)
class ProblemSize:
    """
    The extents of a problem by the scenario keys that give them, for checking the limits of a simulation.

    Attributes:
        rows: Extents whose product is GEMM M.
        column: Key of the extent that is GEMM N.
        summed: Extents that make up GEMM K.
        k_tiles: k tiles of the longest split-K slice.
        tensors: Extents of each tensor, by the tensor's name in messages.
    """

    rows: dict[str, int]
    column: str
    summed: dict[str, int]
    k_tiles: int
    tensors: dict[str, dict[str, int]]


@dataclass(frozen=True, slots=True)
class Axes:
    """
    The form of a tensor as lines of text.

    Attributes:
        name: Name of the tensor.
        lines: Name and extent of each coordinate that is constant along a line.
        last: Name of the coordinate that runs along a line.
    """

    name: str
    lines: tuple[tuple[str, int], ...]
    last: str


class MatrixProduct(Table, ABC):
    """
    A problem D[m, n] = activation(alpha * A[m, k] * B[k, n] + beta * C[m, n] + bias[n]).

    A and B may be matrices in memory, or views of other tensors, as in a convolution.

    Attributes:
        implicit: Whether the problem is an implicit GEMM, whose A never exists in memory as a matrix.
        has_iterators: Kinds of iterators that it has, as in ``kernel.iterator``.
    """

    implicit: ClassVar[bool] = False
    has_iterators: ClassVar[tuple[str, ...]] = ("analytic",)

    split_k_slices: Extent = Field(1, description="Threadblocks that share the K range of one output tile.")
    split_k: SplitK = Field(
        "serial",
        description="How the slices of one output tile are summed: each adds to what the one before it stored, or all"
        " store partial sums for a second kernel to reduce.",
    )
    alignment_a: Alignment | None = Field(None, description="Elements per access of operand A. Default: widest legal.")
    alignment_b: Alignment | None = Field(None, description="Elements per access of operand B. Default: widest legal.")
    alignment_c: Alignment | None = Field(None, description="Elements per access of the output. Default: widest legal.")
    alpha: Scale = Field(1.0, description="Scale of the matrix product.")
    beta: Scale = Field(0.0, description="Scale of the source tensor.")
    bias: StrictBool = Field(
        default=False, description="Add a vector of the output's type, one element for each column of the output."
    )
    activation: Literal["identity", "relu"] = Field("identity", description="Applied last, before the conversion.")
    dtype: DTypes = Field(DTypes(), description="Element types.")

    @property
    def reduces(self) -> bool:
        """Whether a second kernel sums the slices, as in a parallel split-K with more than one slice."""
        return self.split_k == "parallel" and self.split_k_slices > 1

    @property
    @abstractmethod
    def extents(self) -> GemmExtents:
        """M, N and K of the GEMM or implicit GEMM."""

    @property
    @abstractmethod
    def in_words(self) -> str:
        """Extents of the problem for captions, like "512x256x128"."""

    @property
    @abstractmethod
    def walked(self) -> dict[str, Walked]:
        """The extents that the accesses of "a", "b" and "c" walk along, by these names."""

    @abstractmethod
    def k_contiguous(self, side: Side) -> bool:
        """Return whether an operand is contiguous along K in global memory, rather than along M (a) or N (b)."""

    @property
    @abstractmethod
    def leading_c(self) -> int:
        """Elements from one row of the source and output tensors to the next."""

    @abstractmethod
    def k_iterations(self, tile_k: int, slice_: int) -> int:
        """
        Return the number of k tiles of one split-K slice; slice 0 has the most.

        Args:
            tile_k: K of the threadblock tile.
            slice_: Index of the slice.
        """

    @property
    def k_tiles_per_interval(self) -> int:
        """Number of k tiles that walk one interval of K: a convolution has one for each filter position."""
        return 1

    @abstractmethod
    def source(self, side: Side, iterator: str) -> Source:
        """Return an operand's tensor, walked by the kernel's kind of iterator."""

    @abstractmethod
    def derived(self) -> dict[str, int]:
        """Return, by key, values that a rule derives if the file lacks them; a resolved scenario states them."""

    def access(self, which: str) -> int:
        """
        Return the elements of one global access of "a", "b" or "c": the given alignment, else the widest legal one.
        """
        given: int | None = getattr(self, f"alignment_{which}")
        element = self.dtype.output if which == "c" else self.dtype.ab
        return given or widest_alignment(element, *self.walked[which].extents.values())

    @property
    def access_c(self) -> int:
        """Elements per global access of the source and output tensors."""
        return self.access("c")

    @property
    def access_partial(self) -> int:
        """Elements per global access of a parallel split-K's partial sums, whose rows are packed."""
        return widest_alignment(self.dtype.accumulator, self.extents.n)

    @property
    def output_view(self) -> MatrixView:
        """View of the output (and of the source C) as rows of GEMM M."""
        return MatrixView(self.extents.m, self.extents.n, self.leading_c)

    @property
    @abstractmethod
    def operand_views(self) -> tuple[MatrixView, MatrixView]:
        """Views of both operands' tensors as runs of contiguous elements."""

    @abstractmethod
    def factors(self, a: Any, b: Any, summed: slice, xp: Any) -> Iterator[tuple[Any, Any]]:
        """
        Yield pairs of factors, [rows, k] and [k, columns], whose products sum to the product of the problem.

        Args:
            a, b: Flat tensors of values, of the array module.
            summed: Part of GEMM K to sum; for an implicit GEMM, part of its channels.
            xp: Array module.
        """

    @property
    @abstractmethod
    def products(self) -> int:
        """Number of products summed into one element of the output."""

    @abstractmethod
    def slice_of_summed(self, tile_k: int) -> IntArray:
        """Return the split-K slice that sums each index of GEMM K, or each channel of an implicit GEMM."""

    @abstractmethod
    def summed_tiles(self, tile_k: int, owned: IntArray) -> Iterator[slice]:
        """
        Yield the k tiles (for an implicit GEMM, channel tiles) of one slice in the order it consumes them.

        Args:
            tile_k: K of the threadblock tile.
            owned: Indices that ``slice_of_summed`` gives to the slice, ascending.
        """

    @property
    @abstractmethod
    def operand_axes(self) -> tuple[Axes, Axes]:
        """Axes along which both operands are written as text."""

    def in_lines(self, a: Any, b: Any) -> tuple[Any, Any]:
        """
        Return both operands in the lines of ``operand_axes``, from their matrices as ``operand_views`` gives them.
        """
        return a, b

    @property
    @abstractmethod
    def output_axes(self) -> Axes:
        """Axes along which the output is written as text."""

    @property
    @abstractmethod
    def macros(self) -> dict[str, int | str]:
        """Macros that describe the problem to kernels_cuda at compile time, without their GPUSIM_ prefix."""

    @property
    def launch_extents(self) -> tuple[int, int, int] | None:
        """
        K and the leading dimensions of A and B as a launch passes them.

        None if the iterators have their extents compiled in.
        """
        return None

    @abstractmethod
    def iterators(self, iterator: str) -> str:
        """Return the header of kernels_cuda, without .cuh, that defines the kernel's kind of iterators."""

    @abstractmethod
    def profiler_words(self, iterator: str) -> tuple[str, str]:
        """Return operation and layout as CUTLASS's profiler names them, for example ("fprop_analytic", "nhwc")."""

    @abstractmethod
    def check_extents(self, origin: Origin) -> None:
        """
        Refuse extents that do not fit each other.

        Raises:
            BadInput: Names the first extent that does not fit.
        """

    def check_contiguity(self, origin: Origin) -> None:
        """
        Refuse a layout that the element type does not allow. Operands of an implicit GEMM have only one layout.

        Raises:
            BadInput: Names the first layout that is not allowed.
        """

    @abstractmethod
    def check_split_k(self, tile_k: int, origin: Origin) -> None:
        """
        Refuse more slices than there are k tiles to share.

        Raises:
            BadInput: There are more slices.
        """

    @abstractmethod
    def check_iterator(self, iterator: str, origin: Origin) -> None:
        """
        Refuse an iterator that the problem does not have.

        Raises:
            BadInput: The problem does not have this iterator.
        """

    @abstractmethod
    def size(self, tile_k: int) -> ProblemSize:
        """Return the extents of the problem by the keys that give them."""
