"""Global addresses and predicates of a GEMM operand that is contiguous along K: the predicated tile iterator."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from gpusim.arrays import IntArray
from gpusim.tile.extents import gemm_k_ranges
from gpusim.tile.global_access import LINE_BITS, GlobalAccess, GlobalIterator, over_lanes, packed
from gpusim.tile.thread_map import Operand, ThreadMap


@dataclass(frozen=True, slots=True)
class GemmOperand:
    """
    A K-contiguous operand of a GEMM: row-major A [m, k], or column-major B [k, n].

    Attributes:
        operand: Which of the two: A's rows, or B's columns, are its strided dimension.
        strided_extent: M for A, N for B, elements.
        k: K, elements.
        leading: Elements between neighbours along M or N.
        bits: Element width.
        split_k_slices: Threadblocks that share the K range of one output tile.
    """

    operand: Operand
    strided_extent: int
    k: int
    leading: int
    bits: int
    split_k_slices: int = 1


class PredicatedIterator(GlobalIterator):
    """
    PredicatedTileAccessIterator as the multistage mainloop drives it.

    Fetch 0 is the residue tile: what the slice's K range leaves over whole tiles, or a whole tile where nothing is
    left over. The whole tiles follow right after it. Past the slice's last k tile the mask is cleared while the
    pointer goes on.

    Not modelled: operands contiguous along M or N, gather, permuted layouts. A slice without k tiles fetches
    nothing here; CUTLASS's parallel split-K would read past K there (its iteration count is negative and its
    masks are not cleared).

    Source: CUTLASS include/cutlass/transform/threadblock/predicated_tile_access_iterator.h;
    golden gmem_gemm_*_tn_*.json.
    """

    def __init__(
        self,
        operand: GemmOperand,
        thread_map: ThreadMap,
        elements_per_vec: int,
        *,
        tile: npt.ArrayLike,
        slice_: npt.ArrayLike,
    ) -> None:
        """
        Place the iterator at its first fetch.

        Args:
            operand: The tensor.
            thread_map: Coverage of the tile by threads.
            elements_per_vec: Elements of one memory instruction.
            tile: Tile index along M or N. Integers or an array over CTAs.
            slice_: Split-K slice, broadcast against ``tile``.
        """
        super().__init__(thread_map, elements_per_vec, tile=tile, slice_=slice_)
        self.operand = operand

    def k_window(self, number: npt.ArrayLike) -> tuple[IntArray, IntArray]:
        """
        First element along K of a fetch, and how many elements it may read there.

        Returns:
            Two arrays over CTAs; the width is at most the tile's, and 0 for an overrun fetch.
        """
        tile_k = self.thread_map.shape[0]
        number = np.asarray(number, dtype=np.int64)
        ranges = gemm_k_ranges(self.operand.k, tile_k, self.operand.split_k_slices)[self.slice_]
        begin, end = ranges[..., 0], ranges[..., 1]
        length = end - begin
        residue = np.where(length % tile_k, length % tile_k, tile_k)
        first = begin + np.where(number > 0, residue + (number - 1) * tile_k, 0)
        width = np.where(number > 0, tile_k, residue)
        return first, np.where(number * tile_k < length, width, 0)

    def fetch(self, number: npt.ArrayLike) -> GlobalAccess:
        """All accesses of fetch ``number``; coordinates are ``row`` and ``column`` of the operand's matrix."""
        first, width = self.k_window(number)
        strided = over_lanes(self.tile * self.thread_map.shape[1]) + self._strided()
        contiguous = self._contiguous()
        valid = (strided < self.operand.strided_extent) & (contiguous < over_lanes(width))
        k = over_lanes(first) + contiguous
        offset = strided * self.operand.leading + k
        row, column = (strided, k) if self.operand.operand == "a" else (k, strided)
        coordinates = {"row": np.broadcast_to(row, offset.shape), "column": np.broadcast_to(column, offset.shape)}
        return GlobalAccess(coordinates, offset, valid)

    def signature(self, number: npt.ArrayLike) -> IntArray:
        """Rows inside the extent, elements inside the K window, and the line phase of the tile's base."""
        first, width = self.k_window(number)
        tile_k, rows = self.thread_map.shape
        base = self.tile * rows * self.operand.leading + first
        return packed(
            (np.clip(self.operand.strided_extent - self.tile * rows, 0, rows), rows + 1),
            (width, tile_k + 1),
            (base * self.operand.bits % LINE_BITS, LINE_BITS),
        )
