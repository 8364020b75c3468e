"""
The order of the epilogue's ops: accumulators through shared memory to the output, a few rows of every warp at a time.
"""

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

from gpusim.numerics.output_op import OutputOp
from gpusim.schedule.ops import Barrier, LoadBias, LoadShared, LoadSource, Op, StoreGlobal, StoreShared
from gpusim.tile.epilogue import EpilogueTile


@lru_cache(maxsize=64)
def epilogue_ops(tile: EpilogueTile, does: OutputOp) -> tuple[Op, ...]:
    """
    Return every op of the epilogue, in order.

    The bias, which all rows share, is loaded once before the first step. A step first loads its source, so that these
    loads overlap the exchange. A barrier then frees the previous step's staging, and the warps store their rows. A
    second barrier makes the rows visible. Each thread then loads and stores vectors of the output.

    Args:
        tile: Threads, vectors and staging of the epilogue.
        does: Output operation, which says whether source and bias are read.

    Source: CUTLASS include/cutlass/epilogue/threadblock/epilogue.h (3.x and later: one fragment per iteration,
    ``source.load()`` ahead of the first barrier) and epilogue_with_broadcast.h.
    """
    bias: list[Op] = [LoadBias(access) for access in range(tile.bias_accesses if does.with_bias else 0)]
    return (*bias, *tile_ops(tile, loads=int(does.with_source)))


def tile_ops(
    tile: EpilogueTile, *, loads: int = 0, stores: int = 1, scale: Callable[[int], Sequence[Any]] = lambda _vector: ()
) -> tuple[Any, ...]:
    """
    Return every op of one tile's epilogue steps, without a bias.

    Args:
        tile: The vectors and the staging of the tile.
        loads: Loads of one vector of the source; 0 if the source is not read.
        stores: Stores of one vector of the output.
        scale: A family's own ops ahead of the stores of a vector, by its number in the tile.
    """
    return tuple(op for step in range(tile.steps) for op in _step(tile, step, loads, stores, scale))


def _step(tile: EpilogueTile, step: int, loads: int, stores: int, scale: Callable[[int], Sequence[Any]]) -> list[Any]:
    accesses = range(tile.accesses_per_step)
    ops: list[Any] = [LoadSource(step, access) for access in range(tile.accesses_per_step * loads)]
    ops += [Barrier(), *(StoreShared(step, access) for access in range(tile.stores_per_step)), Barrier()]
    ops += [LoadShared(step, access) for access in range(tile.loads_per_step)]
    for access in accesses:
        ops += scale(step * tile.accesses_per_step + access)
        ops += [StoreGlobal(step, access * stores + part) for part in range(stores)]
    return ops
