"""The epilogue's op order: accumulators through shared memory to the output, a few rows of every warp at a time."""

from gpusim.scenario import Scenario
from gpusim.schedule.ops import Barrier, LoadShared, LoadSource, Op, StoreGlobal, StoreShared
from gpusim.tile.epilogue import EpilogueTile, epilogue_tile


def source_needed(scenario: Scenario, slice_: int = 0) -> bool:
    """
    Whether a CTA reads the source tensor: when beta is not 0, or as a later slice of a serial split-K.

    Later serial slices read what the slice before stored (their beta is 1). Parallel slices read no source: beta is
    the reduction kernel's.

    Source: CUTLASS include/cutlass/epilogue/thread/linear_combination.h, is_source_needed and set_k_partition.
    """
    problem = scenario.problem
    if problem.split_k_slices > 1 and problem.split_k == "parallel":
        return False
    return problem.beta != 0 or slice_ > 0


def epilogue_ops(scenario: Scenario, *, with_source: bool) -> tuple[Op, ...]:
    """
    Every step of the epilogue, in order.

    A step loads its source first (so that the loads overlap the exchange), then a barrier frees the staging of the
    step before, the warps store their rows, a barrier makes them visible, and each thread loads and stores vectors
    of the output.

    Args:
        scenario: Gives the epilogue's tile.
        with_source: Whether the source tensor is read.

    Source: CUTLASS include/cutlass/epilogue/threadblock/epilogue.h (3.x and later: one fragment per iteration,
    ``source.load()`` ahead of the first barrier).
    """
    tile = epilogue_tile(scenario)
    return tuple(op for step in range(tile.steps) for op in _step(tile, step, with_source=with_source))


def _step(tile: EpilogueTile, step: int, *, with_source: bool) -> list[Op]:
    accesses = range(tile.accesses_per_step)
    source: list[Op] = [LoadSource(step, access) for access in accesses] if with_source else []
    return [
        *source,
        Barrier(),
        *(StoreShared(step, access) for access in range(tile.stores_per_step)),
        Barrier(),
        *(LoadShared(step, access) for access in range(tile.loads_per_step)),
        *(StoreGlobal(step, access) for access in accesses),
    ]
