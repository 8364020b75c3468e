"""How stream-K divides output tiles and their k tiles into work units. It never knows which CTA takes a unit."""

from dataclasses import dataclass
from typing import Literal, TypeAlias

from gpusim.tile.scheduler.cluster_tiles import ClusterTiles

DecompositionOption: TypeAlias = Literal["heuristic", "data_parallel", "split_k", "stream_k"]

FEWEST_K_TILES = 8
"""K tiles that a stream-K unit computes at least of a tile that it shares."""

_MOST_GROUPS = 8
_OPTIONS = ("heuristic", "data_parallel", "split_k", "stream_k")
_TAKE_SPLITS = ("heuristic", "split_k")


@dataclass(frozen=True, slots=True)
class Decomposition:
    """
    What the numbered output tiles are divided into.

    Stream-K units come first, then one unit for each tile that is computed whole. A group is a set of stream-K units
    that share a set of tiles: group g has the clusters of tiles g, g + groups, g + 2 groups and so on.

    Attributes:
        tiles: Output tiles, padding included.
        splits: Units that share each tile evenly: 1, but for split-K.
        stream_k_tiles: Tiles, the first in the order, that stream-K units share; a multiple of the cluster.
        stream_k_units: Units that share them; a multiple of the cluster.
        groups: Groups of stream-K units.
    """

    tiles: int
    splits: int = 1
    stream_k_tiles: int = 0
    stream_k_units: int = 0
    groups: int = 1

    @property
    def units(self) -> int:
        """All work units."""
        return self.splits * (self.tiles - self.stream_k_tiles + self.stream_k_units)

    @property
    def kind(self) -> Literal["data_parallel", "split_k", "stream_k"]:
        """The name of the division."""
        if self.stream_k_units:
            return "stream_k"
        return "split_k" if self.splits > 1 else "data_parallel"


def check_decomposition(option: DecompositionOption, splits: int) -> None:
    """
    Refuse what CUTLASS's can_implement refuses, and names and counts that do not exist.

    Raises:
        ValueError: Names the argument, what is allowed, and what was given.
    """
    if option not in _OPTIONS:
        raise ValueError(f"decomposition must be {', '.join(_OPTIONS)}, got {option!r}")
    if splits < 1:
        raise ValueError(f"splits must be at least 1, got {splits}")
    if splits > 1 and option not in _TAKE_SPLITS:
        raise ValueError(f"splits must be 1 unless decomposition is {' or '.join(_TAKE_SPLITS)}, got {splits}")


def decompose(
    tiles: ClusterTiles, wave: int, sm_count: int, option: DecompositionOption = "heuristic", splits: int = 1
) -> Decomposition:
    """
    Return the division of the tiles that CUTLASS chooses.

    A last wave that is not full makes stream-K units share the tiles of up to two waves, the last one and the one
    before. The heuristic does without where that wave is at least half full. It takes split-K where the units are a
    multiple of the tiles. All tiles are whole where their k tiles are too few to share.

    Separate reduction is not modelled: CUTLASS has it disabled. Neither is the alignment of first k tiles, which sm_90
    does not ask for.

    Args:
        tiles: The output tiles and their order.
        wave: CTAs of the grid.
        sm_count: SMs of the device.
        option: The division asked for.
        splits: Units that share each tile; above 1 the heuristic takes split-K.

    Source: CUTLASS include/cutlass/gemm/kernel/tile_scheduler_params.h, PersistentTileSchedulerSm90StreamKParams;
    golden hopper/scheduler_streamk.json.
    """
    total = tiles.numbered.total
    if option == "split_k" or splits > 1:
        return Decomposition(total, splits=min(splits, sm_count, tiles.k_tiles))
    shared = _stream_k_tiles(tiles, wave, option)
    units = min(wave // tiles.cluster_size, shared * tiles.k_tiles // FEWEST_K_TILES // tiles.cluster_size)
    units *= tiles.cluster_size
    if units == 0:
        return Decomposition(total)
    if option == "heuristic" and units > shared and units % shared == 0:
        return Decomposition(total, splits=units // shared)
    return Decomposition(total, 1, shared, units, _groups(tiles, shared, units))


def _stream_k_tiles(tiles: ClusterTiles, wave: int, option: DecompositionOption) -> int:
    full_waves, last_wave = divmod(tiles.numbered.total, wave)
    if option == "data_parallel" or last_wave == 0 or tiles.k_tiles <= FEWEST_K_TILES:
        return 0
    if option == "heuristic" and 2 * last_wave >= wave:
        return 0
    shared = tiles.numbered.total - max(full_waves - 1, 0) * wave
    return shared - shared % tiles.cluster_size


def _groups(tiles: ClusterTiles, shared: int, units: int) -> int:
    """
    Return the number of groups: the most that divide clusters of units and of tiles, else the most that divide units.

    A group must leave each of its units enough k tiles.
    """
    cluster_units, cluster_tiles = units // tiles.cluster_size, shared // tiles.cluster_size
    clusters = tiles.numbered.m // tiles.cluster[0], tiles.numbered.n // tiles.cluster[1]
    most = min(clusters[0 if tiles.raster == "along_m" else 1], _MOST_GROUPS)
    valid = [
        groups
        for groups in range(most, 1, -1)
        if cluster_units % groups == 0
        and cluster_tiles // groups * tiles.k_tiles // (cluster_units // groups) >= FEWEST_K_TILES
    ]
    return next((groups for groups in valid if cluster_tiles % groups == 0), valid[0] if valid else 1)
