"""
The vectors of the output tile that each thread of a CTA stores: CUTLASS's optimal thread map of tensor-op epilogues.

This module knows tile shapes and thread counts only, not addresses and predicates.
"""

from dataclasses import dataclass
from functools import lru_cache
from typing import Final

import numpy as np

from gpusim.arrays import IntArray
from gpusim.element_types import Shape
from gpusim.errors import BadInput
from gpusim.tile.mma import MATRIX
from gpusim.units import WARP_SIZE

ROW_BYTES_WANTED: Final = 256
"""Bytes of one output row that a warp's access covers, if the tile allows it (kMemoryAccessSize)."""


@dataclass(frozen=True, slots=True)
class OutputThreadMap:
    """
    OutputTileOptimalThreadMap with one cluster and one tile: the vectors that one epilogue iteration covers.

    An iteration stores ``MATRIX`` (8) rows of every row of warps of the CTA, called a group. If a group has fewer than
    8 warps, each takes several of its rows and a warp's access is a rectangle of lanes. Otherwise each warp takes one
    row.

    Attributes:
        columns: Threadblock tile extent along N, in elements.
        groups: Warps of the CTA along M.
        group_rows: Rows between two groups in the output, which is the warp tile's extent along M.
        threads: Threads of the CTA.
        elements_per_access: Vector length of one global access.
        element_bits: Width of an output element.

    Raises:
        BadInput: The lanes do not cover the iteration exactly. CUTLASS refuses such a map at compile time, or stores
            wrongly.

    Source: CUTLASS include/cutlass/epilogue/threadblock/output_tile_thread_map.h and default_thread_map_tensor_op.h.
    """

    columns: int
    groups: int
    group_rows: int
    threads: int
    elements_per_access: int
    element_bits: int

    def __post_init__(self) -> None:
        width, rows = self.access_width, self.access_rows
        covers = (
            width * rows == WARP_SIZE
            and width * self.elements_per_access * self.iterations[1] == self.columns
            and rows * self.iterations[0] * self.warps_per_group == MATRIX
        )
        if not covers:
            raise BadInput(
                f"the epilogue's {self.warps_per_group} warps with {self.elements_per_access}-element accesses do not"
                f" cover {MATRIX} rows of {self.columns} columns exactly: choose another warp tile or output alignment"
            )

    @property
    def warps_per_group(self) -> int:
        """Warps that share the rows of one group."""
        return self.threads // WARP_SIZE // self.groups

    @property
    def _is_2d(self) -> bool:
        """Whether a warp's access is a rectangle of lanes rather than a piece of one row."""
        return self.warps_per_group < MATRIX

    @property
    def _warp_rows(self) -> int:
        """Rows of the group that one warp owns."""
        return MATRIX // self.warps_per_group

    @property
    def access_width(self) -> int:
        """Lanes of a warp along a row."""
        if not self._is_2d:
            return WARP_SIZE
        wanted = ROW_BYTES_WANTED // (self.elements_per_access * self.element_bits // 8)
        if WARP_SIZE // wanted > self._warp_rows:
            return WARP_SIZE // self._warp_rows
        return min(self.columns // self.elements_per_access, WARP_SIZE, wanted)

    @property
    def access_rows(self) -> int:
        """Rows that one access of a warp covers."""
        return min(MATRIX, WARP_SIZE // self.access_width)

    @property
    def iterations(self) -> tuple[int, int]:
        """Accesses of one thread in one epilogue iteration, along (rows, columns)."""
        rows = self._warp_rows // self.access_rows if self._is_2d else 1
        return rows, self.columns // self.elements_per_access // self.access_width

    @property
    def accesses(self) -> int:
        """Accesses of one thread in one epilogue iteration."""
        return self.iterations[0] * self.iterations[1]

    @property
    def delta(self) -> tuple[int, int]:
        """Rows and columns between neighbouring accesses of one thread."""
        return self.access_rows if self._is_2d else 1, self.access_width * self.elements_per_access

    @property
    def steps(self) -> int:
        """Number of epilogue iterations of the tile (Count.row)."""
        return self.group_rows // MATRIX

    def _initial_offsets(self, group_rows: int) -> IntArray:
        warp, lane = np.divmod(np.arange(self.threads, dtype=np.int64), WARP_SIZE)
        group, warp_in_group = np.divmod(warp, self.warps_per_group)
        lane_row, lane_column = np.divmod(lane, self.access_width)
        row = group * group_rows + warp_in_group * self.iterations[0] * self.access_rows + lane_row
        return np.stack([row, lane_column * self.elements_per_access], axis=-1)

    def initial_offsets(self) -> IntArray:
        """Return (row, column) in the output tile of each thread's first access of iteration 0. Shape [threads, 2]."""
        return self._initial_offsets(self.group_rows)

    def compacted_offsets(self) -> IntArray:
        """
        Return (row, column) in shared memory of each thread's first access. Shape [threads, 2].

        In shared memory the groups follow one another without gaps (CompactedThreadMap).
        """
        return self._initial_offsets(MATRIX)

    def access_offsets(self) -> IntArray:
        """Return (row, column) of each access relative to the first, columns fastest. Shape [accesses, 2]."""
        row, column = np.divmod(np.arange(self.accesses, dtype=np.int64), self.iterations[1])
        return np.stack([row * self.delta[0], column * self.delta[1]], axis=-1)

    def column_offsets(self) -> IntArray:
        """Return the column of each access of one row relative to the first. Shape [iterations along columns]."""
        return np.arange(self.iterations[1], dtype=np.int64) * self.delta[1]


@lru_cache(maxsize=256)
def output_thread_map(threadblock: Shape, warp: Shape, elements_per_access: int, element_bits: int) -> OutputThreadMap:
    """
    Build the thread map of a tensor-op epilogue.

    Args:
        threadblock: Threadblock tile (M, N, K).
        warp: Warp tile (M, N, K).
        elements_per_access: Vector length of one global access.
        element_bits: Width of an output element.

    Raises:
        BadInput: The lanes do not cover an epilogue iteration exactly.
    """
    warps = [tile // part for tile, part in zip(threadblock, warp, strict=True)]
    return OutputThreadMap(
        columns=threadblock[1],
        groups=warps[0],
        group_rows=warp[0],
        threads=WARP_SIZE * warps[0] * warps[1] * warps[2],
        elements_per_access=elements_per_access,
        element_bits=element_bits,
    )
