"""
The vectors of an operand tile that each thread of a CTA accesses: CUTLASS's pitch-linear thread maps.

This module knows tile shapes and thread counts only, neither the tensor nor the time of a fetch.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from gpusim.arrays import IntArray
from gpusim.units import VECTOR_BITS, WARP_SIZE

CONGRUOUS_LANES = (8, 4)
"""Lanes of a warp (along M or N, along K). The 8 vectors along M or N are one 128-byte line."""


@dataclass(frozen=True, slots=True)
class ThreadMap(ABC):
    """
    A regular cover of a tile by the accesses of all threads.

    Every pair is (contiguous, strided), in elements of the operand unless stated otherwise.

    Attributes:
        shape: Tile extent.
        threads: Threads of the CTA.
        elements_per_access: Vector length of one access.

    Source: CUTLASS include/cutlass/transform/pitch_linear_thread_map.h; golden threadmap_*.json.
    """

    shape: tuple[int, int]
    threads: int
    elements_per_access: int

    @property
    @abstractmethod
    def iterations(self) -> tuple[int, int]:
        """Accesses of one thread along each dimension."""

    @property
    @abstractmethod
    def delta(self) -> tuple[int, int]:
        """Elements between neighbouring accesses of one thread."""

    @abstractmethod
    def initial_offsets(self) -> IntArray:
        """Return (contiguous, strided) of every thread's first access. Shape [threads, 2]."""

    @property
    def accesses(self) -> int:
        """Accesses of one thread over the tile."""
        return self.iterations[0] * self.iterations[1]

    def access_offsets(self) -> IntArray:
        """Return each access relative to the first, contiguous fastest (the order of ``++``). Shape [accesses, 2]."""
        strided, contiguous = np.divmod(np.arange(self.accesses, dtype=np.int64), self.iterations[0])
        return np.stack([contiguous * self.delta[0], strided * self.delta[1]], axis=-1)

    def offsets(self) -> IntArray:
        """Return the tile coordinate (contiguous, strided) of every access. Shape [threads, accesses, 2], read-only."""
        return _offsets(self)


@lru_cache(maxsize=64)
def _offsets(thread_map: ThreadMap) -> IntArray:
    offsets: IntArray = thread_map.initial_offsets()[:, None, :] + thread_map.access_offsets()[None, :, :]
    offsets.flags.writeable = False
    return offsets


@dataclass(frozen=True, slots=True)
class WarpThreadMap(ThreadMap):
    """
    A thread map in which the lanes of a warp form a rectangle of vectors, packed along the contiguous dimension.

    The warps of the CTA are distributed along the strided dimension first.

    Attributes:
        warp_arrangement: Lanes of one warp along (contiguous, strided); their product is the warp size.
        striped: False (raked): every warp owns a block of the tile. True: the warps' accesses alternate.

    Raises:
        ValueError: The warp arrangement or the warps do not divide the tile.

    Source: PitchLinearWarpRakedThreadMap, PitchLinearWarpStripedThreadMap.
    """

    warp_arrangement: tuple[int, int]
    striped: bool = False

    def __post_init__(self) -> None:
        """Refuse what CUTLASS refuses at compile time."""
        lanes = self.warp_arrangement[0] * self.warp_arrangement[1]
        if lanes != WARP_SIZE or self.threads % WARP_SIZE:
            raise ValueError(
                f"a warp must be {WARP_SIZE} lanes and divide the threads,"
                f" got arrangement {self.warp_arrangement}, {self.threads} threads"
            )
        covered = tuple(
            lane * warp * count
            for lane, warp, count in zip(self.warp_arrangement, self.warp_counts, self.iterations, strict=True)
        )
        if (covered[0] * self.elements_per_access, covered[1]) != self.shape or self.warps != (
            self.warp_counts[0] * self.warp_counts[1]
        ):
            raise ValueError(
                f"tile {self.shape} is not covered by {self.warps} warps of {self.warp_arrangement} lanes"
                f" with {self.elements_per_access} elements each"
            )

    @property
    def warps(self) -> int:
        """Number of warps of the CTA."""
        return self.threads // WARP_SIZE

    @property
    def _warp_accesses(self) -> tuple[int, int]:
        """Accesses of a whole warp that the tile holds along each dimension."""
        vectors = self.shape[0] // self.elements_per_access
        return vectors // self.warp_arrangement[0], self.shape[1] // self.warp_arrangement[1]

    @property
    def warp_counts(self) -> tuple[int, int]:
        """Number of warps along each dimension; the strided dimension is partitioned first."""
        strided = min(self.warps, self._warp_accesses[1])
        contiguous = self.warps // strided if strided and self.warps > self._warp_accesses[1] else 1
        return contiguous, strided

    @property
    def iterations(self) -> tuple[int, int]:
        """Accesses of one thread along each dimension."""
        contiguous, strided = self._warp_accesses
        warps_contiguous, warps_strided = self.warp_counts
        return contiguous // warps_contiguous, strided // max(warps_strided, 1)

    @property
    def delta(self) -> tuple[int, int]:
        """Elements between neighbouring accesses of one thread."""
        contiguous, strided = self.warp_counts if self.striped else (1, 1)
        lanes_contiguous, lanes_strided = self.warp_arrangement
        return lanes_contiguous * self.elements_per_access * contiguous, lanes_strided * strided

    def initial_offsets(self) -> IntArray:
        """Return (contiguous, strided) of every thread's first access. Shape [threads, 2]."""
        warp, lane = np.divmod(np.arange(self.threads, dtype=np.int64), WARP_SIZE)
        warp_strided, warp_contiguous = np.divmod(warp, self.warp_counts[0])
        lane_strided, lane_contiguous = np.divmod(lane, self.warp_arrangement[0])
        owned = (1, 1) if self.striped else self.iterations
        contiguous = warp_contiguous * self.warp_arrangement[0] * owned[0] + lane_contiguous
        strided = warp_strided * self.warp_arrangement[1] * owned[1] + lane_strided
        return np.stack([contiguous * self.elements_per_access, strided], axis=-1)


@dataclass(frozen=True, slots=True)
class StripMinedThreadMap(ThreadMap):
    """
    A thread map in which all threads stand side by side along the contiguous dimension, row after row, ignoring warps.

    Raises:
        ValueError: The threads do not cover the tile in whole strips.

    Source: PitchLinearStripminedThreadMap.
    """

    def __post_init__(self) -> None:
        """Refuse what CUTLASS refuses at compile time."""
        vectors, rest = divmod(self.shape[0], self.elements_per_access)
        whole = self.threads % vectors == 0 if self._rows_at_once else vectors % self.threads == 0
        if rest or not whole or self.shape[1] % max(self._rows_at_once, 1):
            raise ValueError(
                f"tile {self.shape} is not covered by strips of {self.threads} threads"
                f" with {self.elements_per_access} elements each"
            )

    @property
    def _rows_at_once(self) -> int:
        """Rows that all threads cover together; 0 if one row takes all threads more than once."""
        return self.threads * self.elements_per_access // self.shape[0]

    @property
    def iterations(self) -> tuple[int, int]:
        """Accesses of one thread along each dimension."""
        if self._rows_at_once:
            return 1, self.shape[1] // self._rows_at_once
        return self.shape[0] // self.elements_per_access // self.threads, self.shape[1]

    @property
    def delta(self) -> tuple[int, int]:
        """Elements between neighbouring accesses of one thread; 1, as in CUTLASS, along a dimension with one access."""
        return (1, self._rows_at_once) if self._rows_at_once else (self.threads * self.elements_per_access, 1)

    def initial_offsets(self) -> IntArray:
        """Return (contiguous, strided) of every thread's first access. Shape [threads, 2]."""
        thread = np.arange(self.threads, dtype=np.int64)
        strided, contiguous = np.divmod(thread * self.elements_per_access, self.shape[0])
        return np.stack([contiguous, strided], axis=-1)


@lru_cache(maxsize=256)
def crosswise_thread_map(k: int, strided: int, threads: int, bits: int) -> WarpThreadMap:
    """
    Build the map DefaultMmaCore picks for a K-contiguous operand of tensor-core kernels.

    Each 128-bit vector of a row of ``k`` elements has a lane. The warp's other lanes cover the next rows.

    Args:
        k: Tile extent along K, in elements.
        strided: Tile extent along M or N, in rows.
        threads: Threads of the CTA.
        bits: Element width.

    Raises:
        ValueError: The map does not cover the tile.

    Source: CUTLASS include/cutlass/gemm/threadblock/default_mma_core_sm80.h; golden threadmap_f16_tn_*.json.
    """
    elements_per_access = VECTOR_BITS // bits
    lanes_contiguous = k // elements_per_access
    if k % elements_per_access or not lanes_contiguous or WARP_SIZE % lanes_contiguous:
        raise ValueError(f"a row of {k} elements of {bits} bits is not a whole share of a warp's 128-bit vectors")
    return WarpThreadMap(
        shape=(k, strided),
        threads=threads,
        warp_arrangement=(lanes_contiguous, WARP_SIZE // lanes_contiguous),
        elements_per_access=elements_per_access,
    )


@lru_cache(maxsize=256)
def congruous_thread_map(contiguous: int, k: int, threads: int, bits: int) -> WarpThreadMap:
    """
    Build the map DefaultMmaCore picks for an operand of tensor-core kernels that is contiguous along M or N.

    A warp covers 4 rows of one 128-byte line each, whatever the tile and the element width.

    Args:
        contiguous: Tile extent along M or N, in elements.
        k: Tile extent along K, in rows.
        threads: Threads of the CTA.
        bits: Element width.

    Raises:
        ValueError: The map does not cover the tile.

    Source: CUTLASS include/cutlass/gemm/threadblock/default_mma_core_sm80.h; golden threadmap_*_nt_*, threadmap_*_nn_*.
    """
    return WarpThreadMap(
        shape=(contiguous, k),
        threads=threads,
        elements_per_access=VECTOR_BITS // bits,
        warp_arrangement=CONGRUOUS_LANES,
    )
