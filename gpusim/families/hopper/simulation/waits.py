"""What the warps of each role wait for, from the cycles of each instruction by stall reason."""

from collections import Counter
from collections.abc import Sequence
from typing import Final

from gpusim.arrays import IntArray
from gpusim.families.hopper.simulation.instructions import RING_NAMES
from gpusim.results.result import RoleWait
from gpusim.sim.code import Decoded
from gpusim.sim.core.constants import BAR, MBARRIER, STORE_WAIT, WAITS, WGMMA
from gpusim.sim.stall_reasons import BARRIER, GMMA, LONG_SCOREBOARD, MATH_PIPE_THROTTLE, REASONS, SELECTED, WAIT

_LEAST: Final = 0.02
"""Least share of a role's cycles that is shown."""

WGMMA_DONE, TENSOR_CORE, STORES, NAMED = "wgmma in flight", "room in the queue of wgmma", "TMA stores", "named barrier"


def role_waits(code: Sequence[Decoded], roles: Sequence[str], cycles: IntArray) -> tuple[RoleWait, ...]:
    """
    Return what each role waits for, role by role, the longest first; roles that wait at no mbarrier are left out.

    Args:
        code: All instructions.
        roles: The role of each.
        cycles: Warp cycles of each instruction by stall reason. Shape [instructions, reasons].
    """
    found: dict[str, Counter[str]] = {}
    for place, (one, role) in enumerate(zip(code, roles, strict=True)):
        own = found.setdefault(role, Counter())
        for reason, count in enumerate(cycles[place].tolist()):
            if count:
                own[_awaited(code, place, one, reason)] += count
    rows = []
    for role, own in found.items():
        if not any(name in RING_NAMES for name in own):
            continue
        total = sum(own.values())
        for name, count in own.most_common():
            if count >= _LEAST * total:
                rows.append(RoleWait(role, name, round(count / total, 4)))
    return tuple(rows)


def _awaited(code: Sequence[Decoded], place: int, one: Decoded, reason: int) -> str:
    """Return what an instruction's cycles with a stall reason are spent on."""
    if reason == BARRIER:
        # A wait is charged to the instruction behind it.
        before = code[place - 1]
        if before.kind == MBARRIER and before.meets == WAITS:
            return RING_NAMES[before.k_group]
        return NAMED if before.kind == BAR else REASONS[reason]
    if reason == GMMA:
        return WGMMA_DONE
    if reason == MATH_PIPE_THROTTLE and one.kind == WGMMA:
        return TENSOR_CORE
    if reason == LONG_SCOREBOARD and one.kind == STORE_WAIT:
        return STORES
    return "issue" if reason in (SELECTED, WAIT) else REASONS[reason]
