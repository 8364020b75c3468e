"""What every problem that is one matrix product has and answers: GEMM, and the convolutions that are implicit GEMMs."""

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
    What the global accesses of an operand, or of the output, walk along.

    Attributes:
        tensor: What messages call it.
        extents: Key of the scenario -> extent that a vector must divide, elements.
    """

    tensor: str
    extents: dict[str, int]


@dataclass(frozen=True, slots=True)
class ProblemSize:
    """
    Extents by the keys of the scenario that give them, for the bounds of what is simulated.

    Attributes:
        rows: Extents whose product is GEMM M.
        column: Key of GEMM N.
        summed: Extents that make GEMM K.
        k_tiles: k tiles of the longest split-K slice.
        tensors: What messages call each tensor -> its extents.
    """

    rows: dict[str, int]
    column: str
    summed: dict[str, int]
    k_tiles: int
    tensors: dict[str, dict[str, int]]


@dataclass(frozen=True, slots=True)
class Axes:
    """
    How a tensor is written as lines of text.

    Attributes:
        name: Of the tensor.
        lines: Name and extent of the coordinates that a line stands for.
        last: Name of the coordinate that runs along a line.
    """

    name: str
    lines: tuple[tuple[str, int], ...]
    last: str


class MatrixProduct(Table, ABC):
    """
    D[m, n] = activation(alpha * A[m, k] * B[k, n] + beta * C[m, n] + bias[n]), whatever A and B are seen in.

    Attributes:
        implicit: Whether A never exists in memory as a matrix: an implicit GEMM.
    """

    implicit: ClassVar[bool] = False

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
        """Whether a second kernel sums the slices: a parallel split-K of more than one."""
        return self.split_k == "parallel" and self.split_k_slices > 1

    @property
    @abstractmethod
    def extents(self) -> GemmExtents:
        """M, N and K of the GEMM or implicit GEMM."""

    @property
    @abstractmethod
    def in_words(self) -> str:
        """Its extents, as captions have them: 512x256x128."""

    @property
    @abstractmethod
    def walked(self) -> dict[str, Walked]:
        """What the accesses of "a", "b" and "c" walk along."""

    @abstractmethod
    def k_contiguous(self, side: Side) -> bool:
        """Whether an operand lies contiguous along K in global memory; else along M (a) or N (b)."""

    @property
    @abstractmethod
    def leading_c(self) -> int:
        """Elements between two rows of the source and output tensors."""

    @abstractmethod
    def k_iterations(self, tile_k: int, slice_: int) -> int:
        """K tiles that one split-K slice consumes, given the K of the threadblock tile; none exceeds slice 0."""

    @abstractmethod
    def source(self, side: Side, iterator: str) -> Source:
        """An operand's tensor, walked by the kernel's kind of iterator."""

    @abstractmethod
    def derived(self) -> dict[str, int]:
        """Values by key that a resolved scenario states where the file left them to a rule."""

    def access(self, which: str) -> int:
        """Elements of one global access of "a", "b" or "c": as given, else the widest legal."""
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
        """The output (and the source C) as rows of GEMM M."""
        return MatrixView(self.extents.m, self.extents.n, self.leading_c)

    @property
    @abstractmethod
    def operand_views(self) -> tuple[MatrixView, MatrixView]:
        """Both operands' tensors as runs of contiguous elements."""

    @abstractmethod
    def factors(self, a: Any, b: Any, summed: slice, xp: Any) -> Iterator[tuple[Any, Any]]:
        """
        Pairs of factors, [rows, k] and [k, columns] in float64, whose products add up to the product of the problem.

        Args:
            a, b: Flat tensors of values, of the array module.
            summed: The part of GEMM K that is summed; of an implicit GEMM, of its channels.
            xp: The array module.
        """

    @property
    @abstractmethod
    def products(self) -> int:
        """Products summed into one element of the output."""

    @abstractmethod
    def slice_of_summed(self, tile_k: int) -> IntArray:
        """The split-K slice that sums each index of GEMM K; of an implicit GEMM, of each channel."""

    @abstractmethod
    def summed_tiles(self, tile_k: int, owned: IntArray) -> Iterator[slice]:
        """
        The k tiles (of an implicit GEMM: channel tiles) of one slice in the order it consumes them.

        Args:
            tile_k: K of the threadblock tile.
            owned: What the slice owns of ``slice_of_summed``, ascending.
        """

    @property
    @abstractmethod
    def operand_axes(self) -> tuple[Axes, Axes]:
        """How both operands are written."""

    def in_lines(self, a: Any, b: Any) -> tuple[Any, Any]:
        """Both operands as ``operand_axes`` has them, from their matrices as ``operand_views`` has them."""
        return a, b

    @property
    @abstractmethod
    def output_axes(self) -> Axes:
        """How the output is written."""

    @property
    @abstractmethod
    def macros(self) -> dict[str, int | str]:
        """What kernels_cuda is compiled with to know the problem: macros without their GPUSIM_ prefix."""

    @abstractmethod
    def iterators(self, iterator: str) -> str:
        """Return the header of kernels_cuda, without .cuh, that defines the kernel's kind of iterators."""

    @abstractmethod
    def profiler_words(self, iterator: str) -> tuple[str, str]:
        """Operation and layout as CUTLASS's profiler names them, for example ("fprop_analytic", "nhwc")."""

    @abstractmethod
    def check_extents(self, origin: Origin) -> None:
        """
        Refuse extents that do not fit each other.

        Raises:
            BadInput: The first that does not.
        """

    def check_contiguity(self, origin: Origin) -> None:
        """
        Refuse a layout that the element type does not allow. Operands of an implicit GEMM have but one.

        Raises:
            BadInput: The first that is not allowed.
        """

    @abstractmethod
    def check_split_k(self, tile_k: int, origin: Origin) -> None:
        """
        Refuse more slices than find a k tile.

        Raises:
            BadInput: There are.
        """

    @abstractmethod
    def check_iterator(self, iterator: str, origin: Origin) -> None:
        """
        Refuse an iterator that the problem does not have.

        Raises:
            BadInput: It has not.
        """

    @abstractmethod
    def size(self, tile_k: int) -> ProblemSize:
        """Its extents by the keys that give them."""
