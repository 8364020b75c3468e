"""One operand of a tile GEMM: a CTA's part of it, and the layout of that part in global and in shared memory."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

import numpy.typing as npt

from gpusim.element_types import Shape, element_bits
from gpusim.layout.named import shared_layout
from gpusim.layout.shared import SharedLayout
from gpusim.tile.global_access import GlobalIterator
from gpusim.tile.thread_map import ThreadMap, WarpThreadMap, congruous_thread_map, crosswise_thread_map
from gpusim.units import WARP_SIZE

Side: TypeAlias = Literal["a", "b"]

SIDES: Final[tuple[Side, Side]] = ("a", "b")
"""The two sides of a matrix product: a supplies the rows of the result, b its columns."""


@dataclass(frozen=True, slots=True)
class Tiling:
    """
    The tiles of one GEMM. Shapes are (M, N, K) in elements.

    Attributes:
        threadblock: Tile of a CTA; its K is that of one k tile.
        warp: Tile of a warp.
        instruction: Tile of one mma.sync.
        stages: Stages of the shared-memory ring.
    """

    threadblock: Shape
    warp: Shape
    instruction: Shape
    stages: int

    @property
    def warps(self) -> Shape:
        """Warps along M, N and K."""
        m, n, k = (tile // warp for tile, warp in zip(self.threadblock, self.warp, strict=True))
        return m, n, k

    @property
    def threads(self) -> int:
        """Threads of one CTA."""
        m, n, k = self.warps
        return WARP_SIZE * m * n * k

    @property
    def k_groups(self) -> int:
        """Number of k groups (slices of the instruction's K) that a warp computes in one k tile."""
        return self.warp[2] // self.instruction[2]

    @property
    def mmas(self) -> int:
        """Number of mma.sync instructions in one warp-level MMA, which multiplies one k group."""
        return (self.warp[0] // self.instruction[0]) * (self.warp[1] // self.instruction[1])


@dataclass(frozen=True, slots=True)
class IteratorArithmetic:
    """
    The integer instructions that an operand's global iterator executes in kernels_cuda.

    Attributes:
        setup: Instructions per access, once, in the constructor.
        access: Instructions per access, at every fetch: coordinates, predicate, address.
        vec: Instructions per further copy of an access that takes several copies. They are the copy's predicate and,
            where the iterator adds elements to a 32-bit index, the widening of that index. Where the iterator adds
            bytes to a pointer, the copy's immediate offset holds the difference.
        advance: Instructions per fetch: the step to the next k tile, and work that all accesses of a fetch share.
    """

    setup: int
    access: int
    vec: int
    advance: int


class Source(ABC):
    """
    An operand's tensor in global memory, and the iterator that walks its k tiles.

    A new kind of problem writes one subclass for each operand. Thread maps, shared memory and fragments do not depend
    on the tensor behind the operand.
    """

    @abstractmethod
    def iterator(
        self, thread_map: ThreadMap, elements_per_vec: int, *, tile: npt.ArrayLike, slice_: npt.ArrayLike
    ) -> GlobalIterator:
        """
        Place the iterator at its first fetch.

        Args:
            thread_map: Coverage of the tile by threads.
            elements_per_vec: Elements of one memory instruction.
            tile: Tile index along M for side a, along N for side b. An integer or an array over CTAs.
            slice_: Split-K slice, in the same shape or broadcasting with it.

        Raises:
            ValueError: The iterator does not exist for this thread map or vector.
        """

    @property
    @abstractmethod
    def arithmetic(self) -> IteratorArithmetic:
        """Integer instructions that the iterator executes around its copies."""


@dataclass(frozen=True, slots=True)
class OperandTile:
    """
    A CTA's part of one operand of a tile GEMM, independent of the tensor behind it.

    Attributes:
        name: Name of the operand in messages and tables.
        side: Side of the product the operand is on.
        element: Element type.
        access: Elements of one global access.
        k_contiguous: True if contiguous along K in global memory; False if along M (side a) or N (side b).
        layout: Name of the shared-memory layout.
        tiling: Tiles of the GEMM.
    """

    name: str
    side: Side
    element: str
    access: int
    k_contiguous: bool
    layout: str
    tiling: Tiling

    @property
    def axis(self) -> int:
        """Index in (M, N, K) of the operand's axis other than K: 0 for side a, 1 for side b."""
        return SIDES.index(self.side)

    @property
    def bits(self) -> int:
        """Width of an element."""
        return element_bits(self.element)

    @property
    def access_bytes(self) -> int:
        """Bytes of one global access."""
        return self.access * self.bits // 8

    @property
    def vecs(self) -> int:
        """Global accesses that make one access of the thread map."""
        return self.thread_map.elements_per_access // self.access

    @property
    def warp_extent(self) -> int:
        """Extent of the warp tile along M (side a) or N (side b)."""
        return self.tiling.warp[self.axis]

    @property
    def instruction_extent(self) -> int:
        """Extent of one mma.sync along M (side a) or N (side b)."""
        return self.tiling.instruction[self.axis]

    @property
    def thread_map(self) -> WarpThreadMap:
        """
        Coverage of the tile by global accesses and shared stores, as (contiguous, strided) of the operand.

        Raises:
            ValueError: The map does not cover the tile.
        """
        rows, depth = self.tiling.threadblock[self.axis], self.tiling.threadblock[2]
        if self.k_contiguous:
            return crosswise_thread_map(k=depth, strided=rows, threads=self.tiling.threads, bits=self.bits)
        return congruous_thread_map(contiguous=rows, k=depth, threads=self.tiling.threads, bits=self.bits)

    @property
    def shared(self) -> SharedLayout:
        """
        Shared-memory layout of the operand, over all stages, as (contiguous, strided) of the operand.

        Raises:
            BadInput: The layout's name is unknown, or it cannot hold the tile.
        """
        rows, depth = self.tiling.threadblock[self.axis], self.tiling.threadblock[2]
        contiguous, strided = (depth, rows) if self.k_contiguous else (rows, depth)
        return shared_layout(
            self.layout, element_bits=self.bits, contiguous=contiguous, strided=strided, stages=self.tiling.stages
        )

    @property
    def shared_bytes(self) -> int:
        """Bytes of the operand's shared memory, over all stages."""
        return self.shared.elements * self.bits // 8


@dataclass(frozen=True, slots=True)
class Operand(OperandTile):
    """
    One operand of a tile GEMM.

    Attributes:
        source: Tensor in global memory.
    """

    source: Source

    @property
    def in_shared(self) -> OperandTile:
        """The operand without its tensor: equal for operands with equal layouts in shared memory."""
        return OperandTile(self.name, self.side, self.element, self.access, self.k_contiguous, self.layout, self.tiling)

    def iterator(self, tile: npt.ArrayLike, slice_: npt.ArrayLike) -> GlobalIterator:
        """Return the global tile iterator at its first fetch, for the CTAs of the given tiles and split-K slices."""
        return self.source.iterator(self.thread_map, self.access, tile=tile, slice_=slice_)
