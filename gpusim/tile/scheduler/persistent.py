"""The grid and the tiles of each CTA where a CTA computes whole output tiles. It never knows how a tile is split."""

from dataclasses import dataclass

import numpy as np

from gpusim.arrays import IntArray
from gpusim.tile.scheduler.cluster_tiles import ClusterTiles
from gpusim.tile.scheduler.cta_work import CtaWork, blocks_of, whole_tiles

# GH100: 9 TPCs a GPC, 2 SMs a TPC. The scheduler takes each GPC for a full one, the last for the rest.
_SMS_OF_A_GPC = 18


@dataclass(frozen=True, slots=True)
class OneTileScheduler:
    """
    One tile a CTA: blockIdx (x, y, z) computes output tile (m, n, l). Swizzle and raster order have no say.

    Source: CUTLASS include/cutlass/gemm/kernel/sm90_gemm_tma.hpp and sm90_gemm_tma_warpspecialized.hpp, get_grid_shape
    and operator(); grids of golden kernel_trace_f16_tn_*_tma_* and *_warpspecialized_*.
    """

    tiles: ClusterTiles

    @property
    def grid(self) -> tuple[int, int, int]:
        """The launch's gridDim (x, y, z): the tiles, padded to whole clusters."""
        m, n, batch = self.tiles.clustered
        return m, n, batch

    def work(self) -> CtaWork:
        """Return the one tile of each CTA."""
        blocks = blocks_of(self.grid)
        first = np.arange(len(blocks) + 1, dtype=np.int64)
        return CtaWork(self.grid, first, whole_tiles(blocks, self.tiles.k_tiles))


@dataclass(frozen=True, slots=True)
class PersistentScheduler:
    """
    PersistentTileSchedulerSm90: as many CTAs as are resident at once, each with every so-many-th tile of the order.

    Attributes:
        tiles: The output tiles and their order.
        sm_count: SMs of the device, or as many as the kernel may fill.
        max_active_clusters: Clusters that are resident at once, as the driver tells (cudaOccupancyMaxActiveClusters).
            0: unknown; the count then follows from full GPCs of 18 SMs, each of which holds whole clusters only.

    Raises:
        ValueError: A count is negative, or the SMs do not hold one row of a cluster.

    Source: CUTLASS include/cutlass/gemm/kernel/static_tile_scheduler.hpp; tile_scheduler_params.h, get_grid_shape and
    get_max_cta_occupancy; golden hopper/scheduler_persistent.json.
    """

    tiles: ClusterTiles
    sm_count: int
    max_active_clusters: int = 0

    def __post_init__(self) -> None:
        check_device(self.tiles, self.sm_count, self.max_active_clusters)

    @property
    def grid(self) -> tuple[int, int, int]:
        """The launch's gridDim (x, y, z)."""
        return persistent_grid(self.tiles, self.sm_count, self.max_active_clusters)

    def work(self) -> CtaWork:
        """Return the tiles of each CTA, in order."""
        total = self.tiles.numbered.total
        first, numbers = shares(self.grid, self.tiles, total)
        return CtaWork(self.grid, first, whole_tiles(self.tiles.tiles_of(numbers), self.tiles.k_tiles))


def check_device(tiles: ClusterTiles, sm_count: int, max_active_clusters: int) -> None:
    """
    Refuse a device on which the grid would be empty.

    Raises:
        ValueError: Names the count, what is allowed, and what was given.
    """
    if sm_count < tiles.minor:
        raise ValueError(f"sm_count must be at least {tiles.minor} for clusters of {tiles.cluster}, got {sm_count}")
    if max_active_clusters < 0:
        raise ValueError(f"max_active_clusters must not be negative, got {max_active_clusters}")


def resident_ctas(sm_count: int, cluster_size: int) -> int:
    """
    Return the CTAs that are resident at once, one an SM, where clusters do not straddle GPCs of 18 SMs.

    Fewer than 18 SMs are taken for one GPC, whether or not they hold whole clusters.
    """
    gpcs, rest = divmod(sm_count, _SMS_OF_A_GPC) if sm_count >= _SMS_OF_A_GPC else (1, 0)
    whole = sum(count * (sms - sms % cluster_size) for count, sms in ((gpcs, _SMS_OF_A_GPC), (1, rest)))
    return min(sm_count, whole)


def persistent_grid(
    tiles: ClusterTiles, sm_count: int, max_active_clusters: int = 0, *, at_most_tiles: bool = True
) -> tuple[int, int, int]:
    """
    Return gridDim (x, y, z) of a persistent kernel: a cluster wide along the minor dimension, long along the raster's.

    A device of few or odd SMs may get a length that is no multiple of the cluster. CUTLASS returns it all the same, and
    the driver refuses the launch.

    Args:
        tiles: The output tiles and their order.
        sm_count: SMs of the device.
        max_active_clusters: Clusters that are resident at once; 0: unknown. Ignored where they would not fit the SMs.
        at_most_tiles: Launch no CTA that has no tile. Stream-K does not ask for this.
    """
    if tiles.cluster_size == 1:
        length = sm_count
    elif 0 < max_active_clusters * tiles.cluster_size <= sm_count:
        length = max_active_clusters * tiles.major
    else:
        length = resident_ctas(sm_count, tiles.cluster_size) // tiles.minor
    if at_most_tiles:
        length = min(length, tiles.numbered.total // tiles.minor)
    return (tiles.minor, length, 1) if tiles.raster == "along_n" else (length, tiles.minor, 1)


def shares(grid: tuple[int, int, int], tiles: ClusterTiles, total: int) -> tuple[IntArray, IntArray]:
    """
    Deal 0..total - 1 to the CTAs of a persistent grid: each takes its own place in the raster, then steps by the grid.

    Returns:
        Where the numbers of each CTA begin, and at last their count, of shape [ctas + 1], CTAs in launch order; and the
        numbers themselves, of shape [total].
    """
    x, y, _ = grid
    places = np.arange(x * y, dtype=np.int64)
    if tiles.raster == "along_m":
        places = places % x * y + places // x
    counts = np.maximum(-(-(total - places) // len(places)), 0)
    first = np.concatenate(([0], np.cumsum(counts)))
    turns = np.arange(total, dtype=np.int64) - np.repeat(first[:-1], counts)
    return first, np.repeat(places, counts) + turns * len(places)
