"""The work units of each CTA under stream-K, tile by tile. It never knows what a fix-up costs or how long it waits."""

from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeAlias

import numpy as np

from gpusim.arrays import IntArray
from gpusim.tile.scheduler.cluster_tiles import ClusterTiles
from gpusim.tile.scheduler.cta_work import CtaWork
from gpusim.tile.scheduler.decomposition import (
    FEWEST_K_TILES,
    Decomposition,
    DecompositionOption,
    check_decomposition,
    decompose,
)
from gpusim.tile.scheduler.persistent import check_device, persistent_grid, shares

PartialSums: TypeAlias = Literal["deterministic", "nondeterministic"]

_REDUCTIONS = ("deterministic", "nondeterministic")


@dataclass(frozen=True, slots=True)
class StreamKScheduler:
    """
    PersistentTileSchedulerSm90StreamK: a wave of CTAs, each with a share of the k tiles of the tiles that are split.

    The CTAs of a cluster share their first k tile and number of k tiles, so that multicasts hold. A unit that spans
    several output tiles begins with the last of them, of which it has the first k tiles: others wait for those.

    Attributes:
        tiles: The output tiles and their order.
        sm_count: SMs of the device.
        splits: Units that share each tile under split-K.
        decomposition: The division asked for.
        reduction: How partial sums meet. It changes no unit, only what a unit waits for.
        max_active_clusters: Clusters that are resident at once, as the driver tells; 0: unknown.

    Raises:
        ValueError: The device holds no cluster, or splits, decomposition and reduction do not go together.

    Source: CUTLASS include/cutlass/gemm/kernel/sm90_tile_scheduler_stream_k.hpp; tile_scheduler_params.h; golden
    hopper/scheduler_streamk.json.
    """

    tiles: ClusterTiles
    sm_count: int
    splits: int = 1
    decomposition: DecompositionOption = "heuristic"
    reduction: PartialSums = "deterministic"
    max_active_clusters: int = 0

    def __post_init__(self) -> None:
        check_device(self.tiles, self.sm_count, self.max_active_clusters)
        check_decomposition(self.decomposition, self.splits)
        if self.reduction not in _REDUCTIONS:
            raise ValueError(f"reduction must be {' or '.join(_REDUCTIONS)}, got {self.reduction!r}")

    @property
    def grid(self) -> tuple[int, int, int]:
        """The launch's gridDim (x, y, z). It may hold CTAs without work."""
        return persistent_grid(self.tiles, self.sm_count, self.max_active_clusters, at_most_tiles=False)

    @property
    def decomposed(self) -> Decomposition:
        """What the tiles are divided into."""
        x, y, _ = self.grid
        return decompose(self.tiles, x * y, self.sm_count, self.decomposition, self.splits)

    def work(self) -> CtaWork:
        """Return the work of each CTA, in order: one row for each output tile that a unit has k tiles of."""
        first, numbers = shares(self.grid, self.tiles, self.decomposed.units)
        spans = _spans(self.tiles, self.decomposed, numbers)
        rows, counts = _rows(self.tiles, spans, numbers % self.tiles.cluster_size)
        return CtaWork(self.grid, np.concatenate(([0], np.cumsum(counts)))[first], rows)

    def awaited(self, work: CtaWork) -> IntArray:
        """
        Return how many k tiles of its output tile must have been added before a unit adds its own sum. Shape [units].

        A deterministic sum grows in the order of K. A nondeterministic one asks for a first sum only, except that the
        unit with the epilogue needs all. A unit with the first k tiles, or with a whole tile, waits for none.
        """
        before = work.rows[:, 3]
        if self.reduction == "deterministic":
            return before
        return np.where(work.rows[:, 6] == 1, before, np.minimum(before, 1))


class _Spans(NamedTuple):
    """
    The k tiles of units, counted through a list of clusters of output tiles.

    Entry t of the list is cluster ``offset + t * step`` of the order.
    """

    start: IntArray
    end: IntArray
    offset: IntArray
    step: IntArray


def _spans(tiles: ClusterTiles, parts: Decomposition, numbers: IntArray) -> _Spans:
    """Return the spans of units, by their numbers."""
    clusters = numbers // tiles.cluster_size
    none = np.zeros_like(clusters)
    if parts.splits > 1:
        split, cluster = np.divmod(clusters, parts.tiles // tiles.cluster_size)
        start, end = _shares_of_k(split, none + tiles.k_tiles, parts.splits)
        return _Spans(cluster * tiles.k_tiles + start, cluster * tiles.k_tiles + end, none, none + 1)
    unit, group = np.divmod(clusters, parts.groups)
    shared = parts.stream_k_tiles // tiles.cluster_size
    units = parts.stream_k_units // tiles.cluster_size
    of_group = (shared // parts.groups + (group < shared % parts.groups)) * tiles.k_tiles
    start, end = (
        _without_short_ends(bound, tiles.k_tiles)
        for bound in _shares_of_k(unit, of_group, max(units // parts.groups, 1))
    )
    whole = clusters >= units
    tile = clusters - units + shared
    return _Spans(
        np.where(whole, tile * tiles.k_tiles, start),
        np.where(whole, (tile + 1) * tiles.k_tiles, end),
        np.where(whole, 0, group),
        np.where(whole, 1, parts.groups),
    )


def _shares_of_k(part: IntArray, k_tiles: IntArray, parts: int) -> tuple[IntArray, IntArray]:
    """Return first and end k tile of a part where k tiles are shared evenly, the first parts taking what is over."""
    each, over = np.divmod(k_tiles, parts)
    start = part * each + np.minimum(part, over)
    return start, start + each + (part < over)


def _without_short_ends(bounds: IntArray, k_tiles: int) -> IntArray:
    """
    Return bounds between units, moved to the edge of an output tile where one side would have too few k tiles of it.

    Both sides move together, so nothing is lost or shared. A unit of few k tiles may lose all.
    """
    inside = bounds % k_tiles
    down = inside < FEWEST_K_TILES
    up = ~down & (inside > k_tiles - FEWEST_K_TILES)
    return bounds - np.where(down, inside, 0) + np.where(up, k_tiles - inside, 0)


def _rows(tiles: ClusterTiles, spans: _Spans, places: IntArray) -> tuple[IntArray, IntArray]:
    """
    Return the rows of units, each from its last output tile back to its first, and the number of rows of each unit.

    A unit that lost its k tiles has no row. CUTLASS ends a CTA there. Nothing is lost by it: such a unit is of a grid
    whose CTAs have at most one unit each.
    """
    k_tiles = tiles.k_tiles
    last = (spans.end - 1) // k_tiles
    counts = np.where(spans.end > spans.start, last - spans.start // k_tiles + 1, 0)
    of_unit = np.repeat(np.arange(len(counts), dtype=np.int64), counts)
    turn = np.arange(len(of_unit), dtype=np.int64) - np.repeat(np.cumsum(counts) - counts, counts)
    entry = last[of_unit] - turn
    start = np.maximum(spans.start[of_unit] - entry * k_tiles, 0)
    end = np.minimum(spans.end[of_unit] - entry * k_tiles, k_tiles)
    cluster = spans.offset[of_unit] + entry * spans.step[of_unit]
    at = tiles.tiles_of(cluster * tiles.cluster_size + places[of_unit])
    count = end - start
    columns = (start, count, np.zeros_like(start), end == k_tiles, count != k_tiles)
    return np.concatenate((at, np.stack(columns, axis=-1)), axis=-1), counts
