"""Which vectors of an operand tile each thread of a CTA touches: CUTLASS's warp-raked thread map.

It knows tile shapes and thread counts only; which tensor the tile lies in, and when it is fetched, it does not.
"""

from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from gpusim.arrays import IntArray
from gpusim.scenario_models import VECTOR_BITS, Scenario, element_bits

Operand: TypeAlias = Literal["a", "b"]

WARP_SIZE = 32
"""Lanes of a warp."""


@dataclass(frozen=True, slots=True)
class ThreadMap:
    """
    PitchLinearWarpRakedThreadMap: warps own blocks of rows, and lanes of a warp are packed contiguously.

    Every pair is (contiguous, strided), in elements of the operand unless said otherwise.

    Attributes:
        shape: Tile extent.
        threads: Threads of the CTA, a multiple of the warp size.
        warp_arrangement: Lanes of one warp along (contiguous, strided); their product is the warp size.
        elements_per_access: Vector length of one access.

    Raises:
        ValueError: The warp arrangement or the warps do not divide the tile.

    Source: CUTLASS include/cutlass/transform/pitch_linear_thread_map.h; golden threadmap_*.json.
    """

    shape: tuple[int, int]
    threads: int
    warp_arrangement: tuple[int, int]
    elements_per_access: int

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
        """Warps of the CTA."""
        return self.threads // WARP_SIZE

    @property
    def _warp_accesses(self) -> tuple[int, int]:
        """Accesses of a whole warp that the tile holds along each dimension."""
        vectors = self.shape[0] // self.elements_per_access
        return vectors // self.warp_arrangement[0], self.shape[1] // self.warp_arrangement[1]

    @property
    def warp_counts(self) -> tuple[int, int]:
        """Warps along each dimension: the strided one is partitioned first."""
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
    def accesses(self) -> int:
        """Accesses of one thread over the tile."""
        return self.iterations[0] * self.iterations[1]

    @property
    def delta(self) -> tuple[int, int]:
        """Elements between neighbouring accesses of one thread."""
        return self.warp_arrangement[0] * self.elements_per_access, self.warp_arrangement[1]

    def initial_offsets(self) -> IntArray:
        """First access of every thread: (contiguous, strided), shape [threads, 2]."""
        warp, lane = np.divmod(np.arange(self.threads, dtype=np.int64), WARP_SIZE)
        warp_strided, warp_contiguous = np.divmod(warp, self.warp_counts[0])
        lane_strided, lane_contiguous = np.divmod(lane, self.warp_arrangement[0])
        contiguous = warp_contiguous * self.warp_arrangement[0] * self.iterations[0] + lane_contiguous
        strided = warp_strided * self.warp_arrangement[1] * self.iterations[1] + lane_strided
        return np.stack([contiguous * self.elements_per_access, strided], axis=-1)

    def access_offsets(self) -> IntArray:
        """Each access relative to the first, contiguous fastest (the order of ``++``), shape [accesses, 2]."""
        strided, contiguous = np.divmod(np.arange(self.accesses, dtype=np.int64), self.iterations[0])
        return np.stack([contiguous * self.delta[0], strided * self.delta[1]], axis=-1)

    def offsets(self) -> IntArray:
        """Tile coordinate (contiguous, strided) of every access, shape [threads, accesses, 2]."""
        return self.initial_offsets()[:, None, :] + self.access_offsets()[None, :, :]


def crosswise_thread_map(k: int, strided: int, threads: int, bits: int) -> ThreadMap:
    """
    The map DefaultMmaCore picks for a K-contiguous operand of tensor-core kernels.

    A row of ``k`` elements is covered by as many lanes as it has 128-bit vectors; the warp's other lanes
    take the next rows.

    Args:
        k: Tile extent along K, elements.
        strided: Tile extent along M or N, rows.
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
    return ThreadMap(
        shape=(k, strided),
        threads=threads,
        warp_arrangement=(lanes_contiguous, WARP_SIZE // lanes_contiguous),
        elements_per_access=elements_per_access,
    )


def operand_thread_map(scenario: Scenario, operand: Operand) -> ThreadMap:
    """
    The thread map of one operand's global loads and shared stores.

    Not modelled: operands contiguous along M or N.

    Raises:
        ValueError: The map does not cover the tile.
    """
    kernel = scenario.kernel
    tile_m, tile_n, tile_k = kernel.threadblock
    return crosswise_thread_map(
        k=tile_k,
        strided=tile_m if operand == "a" else tile_n,
        threads=kernel.threads,
        bits=element_bits(scenario.problem.dtype.ab),
    )
