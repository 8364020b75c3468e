"""The consumers' main loop: wgmma on the stages that TMA has filled, and the release of the stage before."""

from collections.abc import Iterator

from gpusim.families.hopper.collective import Collective
from gpusim.families.hopper.problem import PROMOTED_TOGETHER, WARPGROUP
from gpusim.families.hopper.program.descriptors import descriptors
from gpusim.families.hopper.program.ops import (
    WGMMA_COMMIT,
    WGMMA_FENCE,
    Mbarrier,
    MbarrierArrive,
    Promote,
    RoleOp,
    Wait,
    Wgmma,
    WgmmaWait,
)
from gpusim.families.hopper.program.pipelines import PipelineState, release_targets
from gpusim.families.hopper.program.producer import k_tiles_of
from gpusim.families.hopper.program.tiles import Place
from gpusim.tile.scheduler.cta_work import WorkUnit

GROUPS_IN_FLIGHT = 1
"""wgmma groups that stay in flight while the next k tile is waited for (CUTLASS's K_PIPE_MMAS)."""


def multiplied(collective: Collective, slot: int, k_tile: int, stage: int, *, begins: bool) -> Iterator[RoleOp]:
    """
    Yield the wgmma of a warpgroup for a k tile.

    Args:
        collective: The kernel.
        slot: Which of the warpgroups that share a tile.
        k_tile: The k tile.
        stage: Its ring slot.
        begins: Whether the first ones overwrite the accumulators.
    """
    of_a, of_b = (descriptors(operand, collective.stages) for operand in (collective.a, collective.b))
    for k_block in range(collective.k_blocks):
        for number in range(collective.m_blocks):
            m_block = number * collective.consumers + slot
            yield Wgmma(
                name=collective.instruction,
                a=of_a[stage][m_block][k_block],
                b=of_b[stage][0][k_block],
                accumulate=not (begins and k_block == 0),
                stage=stage,
                k_tile=k_tile,
                k_block=k_block,
                m_block=m_block,
            )


def tiles_promoted(collective: Collective) -> int:
    """
    Return after how many k tiles the sums of 8-bit floats are moved to float32 registers; 0 if they never are.

    Source: CUTLASS include/cutlass/gemm/collective/fp8_accumulation.hpp, mma_promotion_interval.
    """
    kernel = collective.scenario.kernel
    if collective.scenario.problem.dtype.ab not in ("e4m3", "e5m2") or kernel.fast_accumulation:
        return 0
    return PROMOTED_TOGETHER // collective.k_blocks


def releases(place: Place, index: int) -> RoleOp:
    """Return the arrivals by which a consumer warpgroup releases a stage."""
    targets = release_targets(place.cta, place.cluster, place.rank)
    return MbarrierArrive(Mbarrier("mainloop.empty", index), targets, WARPGROUP)


def mainloop(
    collective: Collective, place: Place, unit: WorkUnit, slot: int, state: PipelineState, *, tried: bool = True
) -> Iterator[RoleOp]:
    """
    Yield the main loop of a warpgroup for one tile, up to its tail.

    Args:
        collective: The kernel.
        place: The CTA in its cluster.
        unit: The tile and its k tiles.
        slot: Which of the warpgroups that share the tile.
        state: The first stage.
        tried: Whether a wait begins with try_wait.
    """
    before, together = state, tiles_promoted(collective)
    for number, k_tile in enumerate(k_tiles_of(unit)):
        yield Wait(Mbarrier("mainloop.full", state.index), state.phase, tried)
        yield WGMMA_FENCE
        anew = number % together == 0 if together else number == 0
        yield from multiplied(collective, slot, k_tile, state.index, begins=anew)
        yield WGMMA_COMMIT
        if number >= GROUPS_IN_FLIGHT:
            yield WgmmaWait(GROUPS_IN_FLIGHT)
        if together and (number + 1) % together == 0:
            yield WgmmaWait(0)
            yield Promote()
        if number >= GROUPS_IN_FLIGHT:
            yield releases(place, before.index)
            before = before.advance()
        state = state.advance()
    if together and unit.k_tiles % together:
        yield WgmmaWait(0)
        yield Promote()


def tail(place: Place, unit: WorkUnit, state: PipelineState) -> Iterator[RoleOp]:
    """Yield the end of a main loop that began with ``state``: all wgmma are awaited, and the last stages released."""
    yield WgmmaWait(0)
    held = min(GROUPS_IN_FLIGHT, unit.k_tiles)
    state = state.advance(unit.k_tiles - held)
    for _ in range(held):
        yield releases(place, state.index)
        state = state.advance()
