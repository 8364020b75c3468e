"""Hopper schedules broken on purpose, with one mistake each, to show that the checks catch them."""

from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise

from gpusim.families.hopper.execute.program import ClusterProgram, CtaProgram
from gpusim.families.hopper.program.ops import (
    PROXY_FENCE,
    WGMMA_FENCE,
    Expect,
    MbarrierArrive,
    RoleOp,
    SyncNamed,
    TmaLoad,
    Wait,
    WaitStores,
    WgmmaWait,
)
from gpusim.families.hopper.program.roles import WarpRole
from gpusim.schedule.mutations import by_name

_FULL, _EMPTY = "mainloop.full", "mainloop.empty"


def full_phase_turned(program: ClusterProgram) -> ClusterProgram:
    """Wait for the other parity of every full barrier of the main loop: for what the slot held before."""
    return _turned(program, _FULL)


def empty_phase_turned(program: ClusterProgram) -> ClusterProgram:
    """Wait for the other parity of every empty barrier of the main loop: the first load waits for a release."""
    return _turned(program, _EMPTY)


def full_not_awaited(program: ClusterProgram) -> ClusterProgram:
    """Let consumers multiply without a wait until TMA has filled the slot."""
    return _without(program, lambda op: _waits(op, _FULL))


def empty_not_awaited(program: ClusterProgram) -> ClusterProgram:
    """Let producers load without a wait until consumers have released the slot."""
    return _without(program, lambda op: _waits(op, _EMPTY))


def source_not_awaited(program: ClusterProgram) -> ClusterProgram:
    """Let consumers read C without a wait until TMA has brought it. Harmless without C."""
    return _without(program, lambda op: _waits(op, "epi_load.full"))


def order_not_awaited(program: ClusterProgram) -> ClusterProgram:
    """Let the groups of a ping-pong kernel not wait for their turn. Harmless with one tile a CTA."""
    return _without(program, lambda op: _waits(op, "math_wg_order"))


def released_too_early(program: ClusterProgram) -> ClusterProgram:
    """Release a slot before the wait for the wgmma that read it."""

    def swapped(_: CtaProgram, role: WarpRole) -> tuple[RoleOp, ...]:
        ops = list(role.ops)
        for at, (before, after) in enumerate(pairwise(role.ops)):
            if isinstance(before, WgmmaWait) and _arrives(after, _EMPTY):
                ops[at : at + 2] = after, before
        return tuple(ops)

    return program.with_ops(swapped)


def one_arrival_too_few(program: ClusterProgram) -> ClusterProgram:
    """Let the first warp or thread of each consumer not arrive when it releases a slot: one arrival is missing."""

    def fewer(op: RoleOp) -> RoleOp:
        if not isinstance(op, MbarrierArrive) or not _arrives(op, _EMPTY):
            return op
        (_, thread), *others = op.targets
        return replace(op, threads=op.threads - 1) if thread is None else replace(op, targets=tuple(others))

    return _each(program, fewer)


def one_arrival_too_many(program: ClusterProgram) -> ClusterProgram:
    """Let one thread or warp of each consumer arrive twice when it releases a slot."""

    def more(op: RoleOp) -> RoleOp:
        if not isinstance(op, MbarrierArrive) or not _arrives(op, _EMPTY):
            return op
        first = op.targets[0]
        return replace(op, threads=op.threads + 1) if first[1] is None else replace(op, targets=(first, *op.targets))

    return _each(program, more)


def too_few_bytes(program: ClusterProgram) -> ClusterProgram:
    """Expect the first box of a k tile only."""

    def fewer(_: CtaProgram, role: WarpRole) -> tuple[RoleOp, ...]:
        boxes = [op.bytes for op in role.ops if isinstance(op, TmaLoad) and op.tensor == "A"]
        return tuple(replace(op, bytes=boxes[0]) if isinstance(op, Expect) and op.arrives else op for op in role.ops)

    return program.with_ops(fewer)


def too_many_bytes(program: ClusterProgram) -> ClusterProgram:
    """Expect 16 bytes more than a k tile has."""
    return _each(program, lambda op: replace(op, bytes=op.bytes + 16) if isinstance(op, Expect) and op.arrives else op)


def multicast_to_wrong_cta(program: ClusterProgram) -> ClusterProgram:
    """Multicast to another CTA in place of the last one, or to one less if all receive the box."""
    ranks = range(len(program.ctas))

    def other(op: RoleOp) -> RoleOp:
        if not isinstance(op, TmaLoad) or not op.mask:
            return op
        last = max(rank for rank in ranks if op.mask >> rank & 1)
        instead = next((1 << rank for rank in ranks if not op.mask >> rank & 1), 0)
        return replace(op, mask=op.mask ^ 1 << last | instead)

    return _each(program, other)


def lax_wgmma_wait(program: ClusterProgram) -> ClusterProgram:
    """Let every wait for wgmma leave one more group in flight."""
    return _each(program, lambda op: replace(op, pending=op.pending + 1) if isinstance(op, WgmmaWait) else op)


def lax_store_wait(program: ClusterProgram) -> ClusterProgram:
    """Let every wait for TMA stores leave one more group reading."""
    return _each(program, lambda op: replace(op, pending=op.pending + 1) if isinstance(op, WaitStores) else op)


def missing_wgmma_fence(program: ClusterProgram) -> ClusterProgram:
    """Leave out every wgmma.fence."""
    return _without(program, lambda op: op == WGMMA_FENCE)


def missing_proxy_fence(program: ClusterProgram) -> ClusterProgram:
    """Leave out every fence.proxy.async."""
    return _without(program, lambda op: op == PROXY_FENCE)


def missing_named_barrier(program: ClusterProgram) -> ClusterProgram:
    """Leave out the named barriers of the epilogue."""
    return _without(program, lambda op: isinstance(op, SyncNamed))


def tile_twice(program: ClusterProgram) -> ClusterProgram:
    """Let each CTA compute its last tile twice; where each has one tile, that of its place in the first cluster."""
    (along_m, along_n), walk = program.collective.scenario.kernel.cluster, program.collective.scenario.kernel.walk
    if walk == "none":
        return program.with_units(
            lambda units: tuple(unit._replace(m=unit.m % along_m, n=unit.n % along_n, l=0) for unit in units)
        )
    return program.with_units(lambda units: (*units, *units[-1:]))


def tile_missing(program: ClusterProgram) -> ClusterProgram:
    """Let each CTA leave out its last tile."""
    return program.with_units(lambda units: units[:-1])


def _waits(op: RoleOp, pipeline: str) -> bool:
    return isinstance(op, Wait) and op.barrier.pipeline == pipeline


def _arrives(op: RoleOp, pipeline: str) -> bool:
    return isinstance(op, MbarrierArrive) and op.barrier.pipeline == pipeline


def _turned(program: ClusterProgram, pipeline: str) -> ClusterProgram:
    def turned(op: RoleOp) -> RoleOp:
        return replace(op, phase=op.phase ^ 1) if isinstance(op, Wait) and _waits(op, pipeline) else op

    return _each(program, turned)


def _each(program: ClusterProgram, change: Callable[[RoleOp], RoleOp]) -> ClusterProgram:
    return program.with_ops(lambda _, role: tuple(map(change, role.ops)))


def _without(program: ClusterProgram, left_out: Callable[[RoleOp], bool]) -> ClusterProgram:
    return program.with_ops(lambda _, role: tuple(op for op in role.ops if not left_out(op)))


HOPPER_MUTATIONS = by_name(
    full_phase_turned,
    empty_phase_turned,
    full_not_awaited,
    empty_not_awaited,
    source_not_awaited,
    order_not_awaited,
    released_too_early,
    one_arrival_too_few,
    one_arrival_too_many,
    too_few_bytes,
    too_many_bytes,
    multicast_to_wrong_cta,
    lax_wgmma_wait,
    lax_store_wait,
    missing_wgmma_fence,
    missing_proxy_fence,
    missing_named_barrier,
    tile_twice,
    tile_missing,
)
"""Each mutation, by its name for ``gpusim verify --mutate``."""
