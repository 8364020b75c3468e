"""What all warps do before their roles: mbarriers are initialised, and the CTA or the cluster meets."""

from gpusim.families.hopper.collective import PRODUCER_ARRIVALS, Collective
from gpusim.families.hopper.problem import WARPGROUP
from gpusim.families.hopper.program.ops import (
    CLUSTER_ARRIVE,
    CLUSTER_WAIT,
    FENCE_BARRIER_INIT,
    SYNC_THREADS,
    Init,
    Mbarrier,
    Prefetch,
    RoleOp,
)


def empty_arrivals(collective: Collective) -> int:
    """Return the arrivals that empty a stage: all consumer threads', or in a cluster one of each group and sharer."""
    along_m, along_n = collective.scenario.kernel.cluster
    if collective.cluster_size == 1:
        return WARPGROUP * collective.consumers
    return (along_m + along_n - 1) * collective.consumers


def initialisations(collective: Collective) -> tuple[tuple[Init, ...], ...]:
    """Return the initialisations of each pipeline, in order; a fence follows each of them."""
    consumers, stages, epilogue = WARPGROUP * collective.consumers, collective.stages, collective.epilogue
    found = [_ring("mainloop", stages, 1, empty_arrivals(collective))]
    if epilogue is not None:
        found.append(_ring("epi_load", epilogue.stages_c, PRODUCER_ARRIVALS, consumers))
    if collective.scenario.kernel.schedule in ("cooperative", "pingpong"):
        found.append(tuple(Init(Mbarrier("load_order", index), PRODUCER_ARRIVALS) for index in range(2)))
    if collective.scenario.kernel.schedule == "pingpong":
        found.append(tuple(Init(Mbarrier("math_wg_order", index), WARPGROUP) for index in range(4)))
    return tuple(found)


def _ring(name: str, stages: int, full: int, empty: int) -> tuple[Init, ...]:
    pairs = (
        (Init(Mbarrier(f"{name}.full", at), full), Init(Mbarrier(f"{name}.empty", at), empty)) for at in range(stages)
    )
    return tuple(one for pair in pairs for one in pair)


def setup(collective: Collective, *, leads: bool) -> list[RoleOp]:
    """Return what a warp does before its role; ``leads``: it is the first warp, which initialises."""
    ops: list[RoleOp] = []
    if leads:
        tensors = "AB" if collective.epilogue is None else "ABCD" if collective.epilogue.has_c else "ABD"
        ops += map(Prefetch, tensors)
    for pipeline in initialisations(collective):
        ops += pipeline if leads else ()
        ops.append(FENCE_BARRIER_INIT)
    if collective.cluster_size > 1:
        return [*ops, CLUSTER_ARRIVE, CLUSTER_WAIT]
    return [*ops, SYNC_THREADS]
