"""The numbered output tiles of a GEMM, a cluster's tiles side by side. It never knows how many CTAs there are."""

from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from gpusim.arrays import BoolArray, IntArray
from gpusim.tile.extents import ceil_div

RasterOption: TypeAlias = Literal["heuristic", "along_m", "along_n"]
ChosenRaster: TypeAlias = Literal["along_m", "along_n"]

_RASTER_OPTIONS = ("heuristic", "along_m", "along_n")
_MOST_CTAS_OF_A_CLUSTER = 16

# (least max_swizzle, fewest tiles along the shorter side, log2 of the swizzle), widest first
_SWIZZLES = ((8, 6, 3), (4, 3, 2), (2, 2, 1))


class TileGrid(NamedTuple):
    """Number of output tiles along M, N and the batch."""

    m: int
    n: int
    l: int  # noqa: E741 - CUTLASS's name of the batch mode

    @property
    def total(self) -> int:
        """All tiles."""
        return self.m * self.n * self.l


@dataclass(frozen=True, slots=True)
class ClusterTiles:
    """
    The output tiles of a GEMM and the order in which a persistent scheduler numbers them.

    The tiles of a cluster have consecutive numbers. Clusters are numbered along the raster's dimension (the major one).
    A swizzle of 2, 4 or 8 walks as many clusters along the other (minor) dimension before the next step of the major.
    Both dimensions are padded to whole swizzles of whole clusters. Padding has numbers, too: its CTAs compute, and TMA
    predicates what they load and store. Split modes of a problem (rank > 1) are not modelled.

    Attributes:
        problem: M, N, K in elements, and the batch count L.
        tile: M, N, K of the tile of one CTA, in elements.
        cluster: CTAs of a cluster along M and N.
        max_swizzle: The widest swizzle allowed. The tiles may be too few for it.
        raster_order: The dimension that is walked first. ``heuristic`` takes the one with fewer tiles, N where equal.

    Raises:
        ValueError: An extent is not positive, the cluster is none of sm_90's, or the raster order has no such name.

    Source: CUTLASS include/cutlass/gemm/kernel/tile_scheduler_params.h, PersistentTileSchedulerSm90Params;
    sm90_tile_scheduler.hpp; golden hopper/scheduler_persistent.json.
    """

    problem: tuple[int, int, int, int]
    tile: tuple[int, int, int]
    cluster: tuple[int, int] = (1, 1)
    max_swizzle: int = 1
    raster_order: RasterOption = "heuristic"

    def __post_init__(self) -> None:
        if min(self.problem) < 1:
            raise ValueError(f"problem must be positive along M, N, K and L, got {self.problem}")
        if min(self.tile) < 1:
            raise ValueError(f"tile must be positive along M, N and K, got {self.tile}")
        if any(side < 1 or side & (side - 1) for side in self.cluster) or self.cluster_size > _MOST_CTAS_OF_A_CLUSTER:
            raise ValueError(
                f"cluster must be powers of two of at most {_MOST_CTAS_OF_A_CLUSTER} CTAs, got {self.cluster}"
            )
        if self.max_swizzle < 0:
            raise ValueError(f"max_swizzle must not be negative, got {self.max_swizzle}")
        if self.raster_order not in _RASTER_OPTIONS:
            raise ValueError(f"raster_order must be {', '.join(_RASTER_OPTIONS)}, got {self.raster_order!r}")

    @property
    def cluster_size(self) -> int:
        """CTAs of a cluster."""
        return self.cluster[0] * self.cluster[1]

    @property
    def k_tiles(self) -> int:
        """K tiles of one output tile. The last may be ragged."""
        return ceil_div(self.problem[2], self.tile[2])

    @property
    def tiles(self) -> TileGrid:
        """Tiles that cover the problem. The last along a dimension may be ragged."""
        m, n, _, batch = self.problem
        return TileGrid(ceil_div(m, self.tile[0]), ceil_div(n, self.tile[1]), batch)

    @property
    def clustered(self) -> TileGrid:
        """Tiles padded to whole clusters."""
        return self._padded(1)

    @property
    def numbered(self) -> TileGrid:
        """Tiles padded to whole swizzles of whole clusters: those that have a number."""
        return self._padded(1 << self.log_swizzle)

    @property
    def log_swizzle(self) -> int:
        """Log2 of the clusters that are walked along the minor dimension first: the widest swizzle that fits."""
        shorter = min(self.clustered.m, self.clustered.n)
        allowed = (log for width, fewest, log in _SWIZZLES if self.max_swizzle >= width and shorter >= fewest)
        return next(allowed, 0)

    @property
    def raster(self) -> ChosenRaster:
        """The dimension along which clusters are numbered."""
        if self.raster_order != "heuristic":
            return self.raster_order
        return "along_m" if self.numbered.n > self.numbered.m else "along_n"

    @property
    def minor(self) -> int:
        """CTAs of a cluster along the dimension that is not the raster's."""
        return self.cluster[0 if self.raster == "along_n" else 1]

    @property
    def major(self) -> int:
        """CTAs of a cluster along the raster's dimension."""
        return self.cluster_size // self.minor

    def tiles_of(self, numbers: npt.ArrayLike) -> IntArray:
        """
        Return the output tiles (m, n, l) of numbers.

        Args:
            numbers: Each in 0..``numbered.total`` - 1. Any shape.

        Returns:
            Shape [*numbers, 3]. Tiles outside ``tiles`` are padding.
        """
        numbers = np.asarray(numbers, dtype=np.int64)
        side = 1 << self.log_swizzle
        extent = self.numbered.n if self.raster == "along_n" else self.numbered.m
        batch, rest = np.divmod(numbers, self.numbered.m * self.numbered.n)
        cluster, place = np.divmod(rest, self.cluster_size)
        strip, major = np.divmod(cluster // side, extent // self.major)
        along_minor = (strip * side + cluster % side) * self.minor + place % self.minor
        along_major = major * self.major + place // self.minor
        m, n = (along_minor, along_major) if self.raster == "along_n" else (along_major, along_minor)
        return np.stack((m, n, batch), axis=-1)

    def inside(self, tiles: IntArray) -> BoolArray:
        """Return whether tiles (m, n, ...), of shape [*tiles, 2 or more], are of the problem and no padding."""
        return np.asarray((tiles[..., 0] < self.tiles.m) & (tiles[..., 1] < self.tiles.n))

    def _padded(self, clusters: int) -> TileGrid:
        m, n, batch = self.tiles
        m_step, n_step = (clusters * side for side in self.cluster)
        return TileGrid(ceil_div(m, m_step) * m_step, ceil_div(n, n_step) * n_step, batch)
