"""
The order of the epilogue's ops: accumulators through shared memory to the output, a few rows of every warp at a time.
"""

from gpusim.numerics.output_op import OutputOp
from gpusim.schedule.ops import Barrier, LoadBias, LoadShared, LoadSource, Op, StoreGlobal, StoreShared
from gpusim.tile.epilogue import EpilogueTile


def epilogue_ops(tile: EpilogueTile, does: OutputOp) -> tuple[Op, ...]:
    """
    Return every op of the epilogue, in order.

    The bias, which all rows share, is loaded once before the first step. A step first loads its source, so that these
    loads overlap the exchange. A barrier then frees the staging of the step before, and the warps store their rows. A
    second barrier makes the rows visible, and each thread loads and stores vectors of the output.

    Args:
        tile: Threads, vectors and staging of the epilogue.
        does: Output operation, which says whether source and bias are read.

    Source: CUTLASS include/cutlass/epilogue/threadblock/epilogue.h (3.x and later: one fragment per iteration,
    ``source.load()`` ahead of the first barrier) and epilogue_with_broadcast.h.
    """
    bias: list[Op] = [LoadBias(access) for access in range(tile.bias_accesses if does.with_bias else 0)]
    return (*bias, *tile_ops(tile, with_source=does.with_source))


def tile_ops(tile: EpilogueTile, *, with_source: bool = False) -> tuple[Op, ...]:
    """Return every op of one tile's epilogue steps, without a bias."""
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
