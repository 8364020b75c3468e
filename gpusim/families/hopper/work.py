"""Which CTA of an sm_90 GEMM does which tiles, and where it is in its cluster."""

from functools import lru_cache

from gpusim.families.hopper.problem import HopperScenario
from gpusim.families.hopper.program.tiles import Place
from gpusim.tile.scheduler.cluster_tiles import ClusterTiles
from gpusim.tile.scheduler.cta_work import CtaWork
from gpusim.tile.scheduler.persistent import OneTileScheduler, PersistentScheduler
from gpusim.tile.scheduler.stream_k import StreamKScheduler


def tiles_of(scenario: HopperScenario) -> ClusterTiles:
    """Return the output tiles of a scenario and their order."""
    problem, kernel = scenario.problem, scenario.kernel
    extents = (problem.m, problem.n, problem.k, problem.l)
    return ClusterTiles(extents, kernel.tile, kernel.cluster, kernel.max_swizzle, kernel.raster)


@lru_cache(maxsize=64)
def work_of(scenario: HopperScenario, sms: int) -> CtaWork:
    """
    Return the work of every CTA of the grid.

    Args:
        scenario: The problem and its kernel.
        sms: SMs of the machine, which persistent kernels fill.
    """
    tiles = tiles_of(scenario)
    match scenario.kernel.walk:
        case "none":
            return OneTileScheduler(tiles).work()
        case "persistent":
            return PersistentScheduler(tiles, sms).work()
        case "stream_k":
            return StreamKScheduler(tiles, sms).work()


def place_of(scenario: HopperScenario, x: int, y: int) -> Place:
    """Return the place of blockIdx (x, y) in its cluster."""
    along_m, along_n = cluster = scenario.kernel.cluster
    return Place((x % along_m, y % along_n), cluster)
