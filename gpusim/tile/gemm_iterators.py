"""Global addresses and predicates of a GEMM operand, contiguous along K or not: the predicated tile iterator."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from gpusim.arrays import IntArray
from gpusim.tile.extents import gemm_k_ranges
from gpusim.tile.global_access import GlobalAccess, GlobalIterator, over_lanes, packed
from gpusim.tile.iterator_arithmetic import ADD_64, MASK_BIT
from gpusim.tile.operand import IteratorArithmetic, Side, Source
from gpusim.tile.thread_map import ThreadMap
from gpusim.units import LINE_BITS


@dataclass(frozen=True, slots=True)
class GemmSource(Source):
    """
    A matrix of a GEMM in global memory: A [m, k] or B [k, n], row- or column-major.

    Attributes:
        side: Side a or b of the product.
        extent: M for A, N for B, in elements.
        k: K in elements.
        leading: Elements between neighbours along the operand's strided dimension.
        bits: Element width.
        k_contiguous: True if contiguous along K (A row-major, B column-major); False if along M or N.
        split_k_slices: Threadblocks that share the K range of one output tile.
    """

    side: Side
    extent: int
    k: int
    leading: int
    bits: int
    k_contiguous: bool = True
    split_k_slices: int = 1

    def offset(self, along_mn: IntArray, along_k: IntArray) -> IntArray:
        """Return the offset of a coordinate from the tensor's base, in elements."""
        if self.k_contiguous:
            return along_mn * self.leading + along_k
        return along_k * self.leading + along_mn

    def iterator(
        self, thread_map: ThreadMap, elements_per_vec: int, *, tile: npt.ArrayLike, slice_: npt.ArrayLike
    ) -> "PredicatedIterator":
        """Place the predicated iterator at its first fetch; the arguments are those of ``Source.iterator``."""
        return PredicatedIterator(self, thread_map, elements_per_vec, tile=tile, slice_=slice_)

    @property
    def arithmetic(self) -> IteratorArithmetic:
        """
        Integer instructions that the PredicatedIterator of gemm_iterators.cuh executes.

        Setup is ``compute_mask``, once for the residue tile and once for the whole tiles. An access is ``get``, a
        64-bit addition, and ``valid``, the test of one bit. Advance moves the pointer, compares for the end and clears
        the mask.
        """
        return IteratorArithmetic(setup=2 * MASK_BIT, access=ADD_64 + 1, vec=1, advance=ADD_64 + 2)


class PredicatedIterator(GlobalIterator):
    """
    PredicatedTileAccessIterator, with the fetches in the order of the multistage mainloop.

    Fetch 0 is the residue tile: the part of the slice's K range that does not fill a whole tile, or a whole tile if
    there is no such part. The whole tiles follow directly. Past the slice's last k tile the mask is cleared, but the
    pointer still advances.

    Not modelled: gather, permuted layouts. A slice without k tiles fetches nothing here. CUTLASS's parallel split-K
    would read past K there, because its iteration count is negative and its masks are not cleared.

    Source: CUTLASS include/cutlass/transform/threadblock/predicated_tile_access_iterator.h;
    golden gmem_gemm_*.json.
    """

    def __init__(
        self,
        source: GemmSource,
        thread_map: ThreadMap,
        elements_per_vec: int,
        *,
        tile: npt.ArrayLike,
        slice_: npt.ArrayLike,
    ) -> None:
        """
        Place the iterator at its first fetch.

        Args:
            source: Tensor in global memory.
            thread_map: Coverage of the tile by threads.
            elements_per_vec: Elements of one memory instruction.
            tile: Tile index along M or N. An integer or an array over CTAs.
            slice_: Split-K slice, broadcast against ``tile``.
        """
        super().__init__(thread_map, elements_per_vec, tile=tile, slice_=slice_)
        self.source = source

    @property
    def _tile_extents(self) -> tuple[int, int]:
        """Tile extent along M or N, and along K."""
        contiguous, strided = self.thread_map.shape
        return (strided, contiguous) if self.source.k_contiguous else (contiguous, strided)

    @cached_property
    def _k_range(self) -> tuple[IntArray, IntArray, IntArray]:
        """The first element of each CTA's slice along K, its length, and the width of its first fetch."""
        _, tile_k = self._tile_extents
        ranges = gemm_k_ranges(self.source.k, tile_k, self.source.split_k_slices)[self.slice_]
        begin, end = ranges[..., 0], ranges[..., 1]
        length = end - begin
        return begin, length, np.where(length % tile_k, length % tile_k, tile_k)

    def k_window(self, number: npt.ArrayLike) -> tuple[IntArray, IntArray]:
        """
        Return the first element of a fetch along K, and the number of elements it may read there.

        Returns:
            Two arrays over CTAs. The width is at most the tile's K, and 0 for a fetch past the last k tile.
        """
        _, tile_k = self._tile_extents
        number = np.asarray(number, dtype=np.int64)
        begin, length, residue = self._k_range
        first = begin + np.where(number > 0, residue + (number - 1) * tile_k, 0)
        width = np.where(number > 0, tile_k, residue)
        return first, np.where(number * tile_k < length, width, 0)

    def fetch(self, number: npt.ArrayLike) -> GlobalAccess:
        """
        Return all accesses of fetch ``number``. The coordinates are ``row`` and ``column`` of the operand's matrix.
        """
        first, width = self.k_window(number)
        tile_mn, _ = self._tile_extents
        in_tile = (self._strided(), self._contiguous())
        mn_in_tile, k_in_tile = in_tile if self.source.k_contiguous else in_tile[::-1]
        mn = over_lanes(self.tile * tile_mn) + mn_in_tile
        k = over_lanes(first) + k_in_tile
        offset = self.source.offset(mn, k)
        valid = np.broadcast_to((mn < self.source.extent) & (k_in_tile < over_lanes(width)), offset.shape)
        row, column = (mn, k) if self.source.side == "a" else (k, mn)
        coordinates = {"row": np.broadcast_to(row, offset.shape), "column": np.broadcast_to(column, offset.shape)}
        return GlobalAccess(coordinates, offset, valid)

    def signature(self, number: npt.ArrayLike) -> IntArray:
        """
        Return ``GlobalIterator.signature``.

        It consists of the number of the tile's rows that exist along M or N, the number of elements inside the K
        window, and the position of the tile's base in its 128-byte line.
        """
        _, width = self.k_window(number)
        tile_mn, tile_k = self._tile_extents
        return packed(
            (np.clip(self.source.extent - self.tile * tile_mn, 0, tile_mn), tile_mn + 1),
            (width, tile_k + 1),
            (self.base(number) * self.source.bits % LINE_BITS, LINE_BITS),
        )

    def base(self, number: npt.ArrayLike) -> IntArray:
        """Return the offset of the tile's first element, in elements."""
        first, _ = self.k_window(number)
        tile_mn, _ = self._tile_extents
        return self.source.offset(self.tile * tile_mn, first)
