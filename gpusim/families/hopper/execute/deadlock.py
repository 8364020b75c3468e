"""Explains a deadlock: who waits for what, what came of it, and why the rest never comes."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from gpusim.families.hopper.execute.barriers import MbarrierState, Meeting
from gpusim.families.hopper.execute.kernel import HopperRun
from gpusim.families.hopper.execute.role_state import RoleState
from gpusim.families.hopper.program.ops import Expect, LoadC, MbarrierArrive, RoleOp, SyncNamed, TmaLoad, Wgmma


class _Cluster(NamedTuple):
    roles: Sequence[RoleState]
    meeting: Meeting


def report_deadlock(kernel: HopperRun, roles: Sequence[RoleState], meeting: Meeting) -> None:
    """
    Record one hazard that explains why the roles of a cluster do not go on.

    Args:
        kernel: The execution.
        roles: All roles of the cluster.
        meeting: The cluster's barrier.
    """
    cluster = _Cluster(roles, meeting)
    stuck = [role for role in roles if not role.ended]
    waiting = [role for role in stuck if role.blocked_on is not None]
    root = _root(cluster, waiting)
    missing = _missing(cluster, root)
    k_tile, stage = _next_place(root)
    others = len(stuck) - 1
    more = f"; {others} other {'role waits' if others == 1 else 'roles wait'} behind it" if others else ""
    message = f"{root} waits for {_awaited(root)}{_purpose(root)}: {_came(root)}; {_reason(root, missing)}{more}"
    kernel.found("deadlock", message, k_tile, "", stage)


def _root(cluster: _Cluster, waiting: list[RoleState]) -> RoleState:
    """Return the role whose wait no stuck role could end; if all could, one of those that wait for one another."""
    for role in waiting:
        if all(one.ended for one in _missing(cluster, role)):
            return role
    role, seen = waiting[0], set[int]()
    while role.number not in seen:
        seen.add(role.number)
        role = next(one for one in _missing(cluster, role) if not one.ended)
    return role


def _missing(cluster: _Cluster, role: RoleState) -> list[RoleState]:
    """Return the roles that would have to arrive, or to load, for a role to go on."""
    wait = role.blocked_on
    if isinstance(wait, Meeting):
        mates = cluster.roles if wait is cluster.meeting else [one for one in cluster.roles if one.cta is role.cta]
        return [one for one in mates if one.number not in wait.roles and _meets(one, wait)]
    if wait is None:
        return []
    state = wait[0]
    found = []
    for one in cluster.roles:
        arrivals = max((count for op in one.role.ops for count in _arrivals(one, op, role, state)), default=0)
        if arrivals > state.arrived[one.number] or (
            not state.pending and state.bytes > 0 and _brings(one, role, state)
        ):
            found.append(one)
    return found


def _meets(role: RoleState, meeting: Meeting) -> bool:
    named = (f"named barrier {op.number}" for op in role.role.ops if isinstance(op, SyncNamed))
    return not meeting.words.startswith("named") or meeting.words in named


def _arrivals(one: RoleState, op: RoleOp, waiter: RoleState, state: MbarrierState) -> Iterator[int]:
    """Yield how many threads of a role arrive with an operation at an mbarrier of the waiter's CTA."""
    if isinstance(op, MbarrierArrive) and op.barrier == state.barrier:
        rank = waiter.cta.program.place.rank
        yield sum(count for to, count in op.arrivals() if to == rank)
    elif isinstance(op, Expect) and op.barrier == state.barrier and op.arrives and one.cta is waiter.cta:
        yield 1


def _brings(one: RoleState, waiter: RoleState, state: MbarrierState) -> bool:
    """Return whether a role has loads for an mbarrier of the waiter's CTA, and has not issued those of the phase."""
    if (state.phase, one.number) in state.loaders:
        return False
    rank = waiter.cta.program.place.rank
    loads = (op for op in one.role.ops if isinstance(op, TmaLoad) and op.barrier == state.barrier)
    return any(op.mask >> rank & 1 if op.mask else one.cta is waiter.cta for op in loads)


def _awaited(role: RoleState) -> str:
    wait = role.blocked_on
    if isinstance(wait, Meeting):
        return wait.words
    if wait is None:
        return "nothing"
    state, parity = wait
    return f"phase {state.phase} (parity {parity}) of {state.barrier}"


def _came(role: RoleState) -> str:
    wait = role.blocked_on
    if isinstance(wait, Meeting):
        return f"{wait.arrived} of {wait.threads} threads came"
    if wait is None:
        return "it could go on"
    state = wait[0]
    arrivals = f"{state.count - state.pending} of {state.count} arrivals"
    expected, brought = state.expected[state.phase], state.brought[state.phase]
    return f"{arrivals} and {brought} of {expected} bytes came" if expected or brought else f"{arrivals} came"


def _reason(root: RoleState, missing: list[RoleState]) -> str:
    wait = root.blocked_on
    if not missing and isinstance(wait, tuple) and not wait[0].pending:
        if wait[0].bytes < 0:
            return "more bytes came than are expected"
        return "no load brings the rest: the bytes are miscounted, or a load goes to another CTA"
    if not missing:
        came = wait[0].arrived if isinstance(wait, tuple) else wait
        return "all who arrive there have arrived, so the arrivals are miscounted" if came else "no role arrives there"
    each = []
    for role in missing:
        if role.ended:
            each.append(f"{role} would have to arrive and has ended")
        elif role is root:
            each.append("it would itself have to arrive")
        else:
            each.append(f"{role} would have to arrive and waits for {_awaited(role)}, of which {_came(role)}")
    return "; ".join(each)


def _next(role: RoleState) -> TmaLoad | Wgmma | LoadC | None:
    """Return the next operation of a role that says which k tile or subtile it is about, before another wait."""
    return next((op for op in role.role.ops[role.at :] if isinstance(op, TmaLoad | Wgmma | LoadC)), None)


def _next_place(role: RoleState) -> tuple[int, int]:
    op = _next(role)
    if op is None:
        return -1, -1
    return (-1, op.stage) if isinstance(op, LoadC) else (op.k_tile, op.stage)


def _purpose(role: RoleState) -> str:
    """Return what a role waits for something for, in words."""
    match _next(role):
        case TmaLoad(tensor="C", stage=stage):
            return f" to load C into stage {stage}"
        case TmaLoad(k_tile=k_tile, stage=stage):
            return f" to load k tile {k_tile} into stage {stage}"
        case Wgmma(k_tile=k_tile, stage=stage):
            return f" to multiply k tile {k_tile} in stage {stage}"
        case LoadC(stage=stage):
            return f" to read C in stage {stage}"
        case _:
            return " before it ends"
