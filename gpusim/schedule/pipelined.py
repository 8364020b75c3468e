"""
The mainloop without cp.async: global loads into registers, stores into two stages of shared memory, one barrier.

This module knows the order of ops and the stages they touch; addresses and predicates come from the tile iterators.
GEMM and convolution share this order.
"""

from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar

from gpusim.scenario.kernel import PIPELINED_STAGES
from gpusim.schedule.mainloop import Iterations, Mainloop, MainloopPolicy, MainloopShape, warp_fragment_loads
from gpusim.schedule.ops import Barrier, CacheOperator, LoadGlobal, Op, StoreTile, WarpMma
from gpusim.tile.operand import SIDES, Side


class Pipelined(MainloopPolicy):
    """The order of a pipelined mainloop."""

    through_registers: ClassVar[bool] = True

    def cache(self, operand: Side, access_bits: int) -> CacheOperator:  # noqa: ARG002 - all are alike
        """Return "ca", since loads into registers go through L1."""
        return "ca"

    def mainloop(self, shape: MainloopShape, k_iterations: int) -> Mainloop:
        """Return the ops that consume ``k_iterations`` k tiles."""
        return mainloop(shape, k_iterations)


PIPELINED = Pipelined()


@lru_cache(maxsize=64)
def mainloop(shape: MainloopShape, k_iterations: int, first_stage: int = 0) -> Mainloop:
    """
    Return prologue, one tuple of ops per k tile consumed, and an empty tail.

    Fetch f is loaded into the threadblock fragment (registers that hold one k tile) in the first k group of k tile f -
    1, so that the MMAs of that k tile hide its latency. In the last k group it is stored to the stage that is not being
    read. The barrier after the stores makes it visible and frees the other stage, so the two stages swap. The fetch at
    ``k_iterations`` is the overrun: it loads and stores zeros.

    Args:
        shape: Shape of the mainloop, with two stages.
        k_iterations: k tiles consumed.
        first_stage: Stage of fetch 0: 0, or the result of ``wind_down`` if the mainloop has run before.

    Source: CUTLASS include/cutlass/gemm/threadblock/mma_pipelined.h and include/cutlass/conv/threadblock/
    implicit_gemm_pipelined.h; golden trace_conv_turing_*.

    Not modelled: a transform of the threadblock fragment between load and store (the kernels' is the identity).
    """
    prologue = [
        *_loads(shape, 0),
        *_stores(shape, 0, first_stage),
        Barrier(),
        *warp_fragment_loads(shape, k_tile=0, k_group=0, stage=first_stage),
    ]
    return tuple(prologue), PipelinedIterations(shape, k_iterations, first_stage), ()


@dataclass(frozen=True, slots=True)
class PipelinedIterations(Iterations):
    """
    The ops of each k tile.

    Attributes:
        shape: Shape of the mainloop.
        k_tiles: Number of k tiles.
        first_stage: Stage of k tile 0.
    """

    shape: MainloopShape
    k_tiles: int
    first_stage: int

    def at(self, k_tile: int) -> tuple[Op, ...]:
        """Return the ops of one k tile."""
        return _iteration(self.shape, k_tile, (self.first_stage + k_tile) % PIPELINED_STAGES)


def wind_down(k_iterations: int, first_stage: int = 0) -> int:
    """
    Return the ``first_stage`` of another problem that follows in the same mainloop.

    The fragments loaded last lie one stage behind the one that is written next, so the read iterator catches up with
    the write iterator. The next prologue then fills the stage that no warp has read since the last barrier.

    Source: CUTLASS include/cutlass/gemm/threadblock/mma_pipelined.h, wind_down.
    """
    return (first_stage + k_iterations + 1) % PIPELINED_STAGES


@lru_cache(maxsize=256)
def _iteration(shape: MainloopShape, k_tile: int, stage: int) -> tuple[Op, ...]:
    ops: list[Op] = []
    last = shape.k_groups - 1
    other = (stage + 1) % PIPELINED_STAGES
    for k_group in range(shape.k_groups):
        if k_group == last:
            ops += [*_stores(shape, k_tile + 1, other), Barrier()]
            ops += warp_fragment_loads(shape, k_tile + 1, 0, other)
        else:
            ops += warp_fragment_loads(shape, k_tile, k_group + 1, stage)
        if k_group == 0:
            ops += _loads(shape, k_tile + 1)
        ops.append(WarpMma(k_tile, k_group))
    return tuple(ops)


def _loads(shape: MainloopShape, fetch: int) -> list[Op]:
    return [
        LoadGlobal(operand, fetch, access, vec, zfill=True)
        for operand in SIDES
        for access in range(shape.of(operand).accesses)
        for vec in range(shape.of(operand).vecs)
    ]


def _stores(shape: MainloopShape, fetch: int, stage: int) -> list[Op]:
    return [
        StoreTile(operand, fetch, access, stage) for operand in SIDES for access in range(shape.of(operand).accesses)
    ]
