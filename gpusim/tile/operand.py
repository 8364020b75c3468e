"""One operand of a tile GEMM: which part of it a CTA holds, how that lies in global and in shared memory."""

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
"""The sides of a matrix product: a gives the rows of the result, b its columns."""


@dataclass(frozen=True, slots=True)
class Tiling:
    """
    The tiles of one GEMM; shapes are (M, N, K) in elements.

    Attributes:
        threadblock: Of a CTA, for one k tile.
        warp: Of a warp.
        instruction: Of one mma.sync.
        stages: Slots of the shared-memory ring.
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
        """Instruction-K slices of one k tile inside a warp."""
        return self.warp[2] // self.instruction[2]

    @property
    def mmas(self) -> int:
        """mma.sync of one warp-level MMA, which multiplies one k group."""
        return (self.warp[0] // self.instruction[0]) * (self.warp[1] // self.instruction[1])


@dataclass(frozen=True, slots=True)
class IteratorArithmetic:
    """
    Integer instructions that an operand's iterator takes in kernels_cuda.

    Attributes:
        setup: Per access, once, in the constructor.
        access: Per access, at every fetch: coordinates, predicate, address.
        vec: Per further copy of the same access, where an access takes several: its predicate. Where the iterator adds
            bytes to a pointer, the copy's immediate offset holds the difference; where it adds elements to an index of
            32 bits, that is widened anew.
        advance: Per fetch: the step to the next k tile, and what all accesses of a fetch share.
    """

    setup: int
    access: int
    vec: int
    advance: int


class Source(ABC):
    """
    An operand's tensor in global memory, and the iterator that walks its k tiles.

    Whoever adds a kind of problem writes one for each operand; thread maps, shared memory and fragments never ask what
    lies behind it.
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
            slice_: Split-K slice, of the same shape or broadcasting.

        Raises:
            ValueError: The thread map or the vector has no such iterator.
        """

    @property
    @abstractmethod
    def arithmetic(self) -> IteratorArithmetic:
        """What the iterator costs around its copies."""


@dataclass(frozen=True, slots=True)
class Operand:
    """
    One operand of a tile GEMM.

    Attributes:
        name: What messages and tables call it.
        side: Which side of the product it is.
        element: Element type.
        access: Elements of one global access.
        k_contiguous: Contiguous along K in global memory; else along M (side a) or N (side b).
        layout: Name of its shared-memory layout.
        tiling: Tiles of its GEMM.
        source: Its tensor.
    """

    name: str
    side: Side
    element: str
    access: int
    k_contiguous: bool
    layout: str
    tiling: Tiling
    source: Source

    @property
    def axis(self) -> int:
        """Its axis of (M, N, K) besides K: 0 for side a, 1 for side b."""
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
        Coverage of the tile by global accesses and shared stores, (contiguous, strided) in the operand's own sense.

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
        Its shared memory, all stages; contiguous and strided in the operand's own sense.

        Raises:
            BadInput: The layout's name is unknown, or it cannot hold the tile.
        """
        rows, depth = self.tiling.threadblock[self.axis], self.tiling.threadblock[2]
        contiguous, strided = (depth, rows) if self.k_contiguous else (rows, depth)
        return shared_layout(
            self.layout,
            element_bits=self.bits,
            contiguous=contiguous,
            strided=strided,
            stages=self.tiling.stages,
        )

    @property
    def shared_bytes(self) -> int:
        """Bytes of its shared memory, all stages."""
        return self.shared.elements * self.bits // 8

    def iterator(self, tile: npt.ArrayLike, slice_: npt.ArrayLike) -> GlobalIterator:
        """Its global tile iterator over the CTAs of some tiles and split-K slices, at its first fetch."""
        return self.source.iterator(self.thread_map, self.access, tile=tile, slice_=slice_)
