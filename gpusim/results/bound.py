"""
Finds the bound of a run: the busiest resource if it is busy enough, else the stall reason with the most cycles.

A resource is busy enough at 60 % of its peak, over all SMs and all elapsed cycles. Records are judged by the same rule
(``reports/explain.md``). A resource is busy enough, too, at 80 % of its peak over the SMs that have work and their
active cycles, so that a kernel of few CTAs has a bound.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final

from gpusim.results.resources import Resource

BOUND_SHARE: Final = 0.6
"""
Use of a resource, as a share of its peak over all SMs and all elapsed cycles, from which it bounds a kernel.

Source: Nsight Compute's "GPU Speed Of Light" rule, which calls a kernel below it latency-bound.
"""

BUSY_SHARE: Final = 0.8
"""
Use of a resource, over the SMs that have work and their active cycles, from which it bounds a kernel.

Source: the same rule, which calls a unit with a higher use the bottleneck in any case.
"""

WAITED_FOR: Final[Mapping[str, str]] = {
    **dict.fromkeys(("long_scoreboard", "lg_throttle", "drain"), "latency of global memory"),
    **dict.fromkeys(("short_scoreboard", "mio_throttle"), "latency of shared memory"),
    **dict.fromkeys(("wait", "branch_resolving", "dispatch_stall"), "fixed-latency dependencies"),
    **dict.fromkeys(("barrier", "membar", "sleeping"), "barriers"),
    **dict.fromkeys(("no_instruction", "imc_miss"), "fetch of instructions and constants"),
    "math_pipe_throttle": "math pipes",
    "gmma": "wgmma in flight",
    "not_selected": "issue slots",
}
"""Words for the waits of warps, by stall reason, without "selected", which is no wait."""

NOTHING: Final = "nothing"
"""The bound of a run in which no resource is used enough, and no warp waits."""


@dataclass(frozen=True, slots=True)
class Bound:
    """
    The bound of a kernel.

    Attributes:
        resource: Name of the resource.
        percent: The resource's use of its peak, or the stall reason's share of all warp cycles.
        reason: The stall reason; empty if a resource is the bound.
        of_active: Whether ``percent`` refers to the SMs that have work and their active cycles, not to all SMs.
    """

    resource: str
    percent: float
    reason: str
    of_active: bool = False


def bound_of(used: Sequence[Resource], stalls: Mapping[str, float]) -> Bound:
    """
    Return the bound of a kernel.

    Args:
        used: Use of the resources, the most used first.
        stalls: Share of warp cycles by stall reason.
    """
    able = [one for one in used if one.bounds]
    most, busiest = able[0], max(able, key=lambda one: one.percent_active)
    if most.percent >= 100 * BOUND_SHARE:
        return Bound(most.name, round(most.percent, 2), "")
    if busiest.percent_active >= 100 * BUSY_SHARE:
        return Bound(busiest.name, round(busiest.percent_active, 2), "", of_active=True)
    waits = {reason: share for reason, share in stalls.items() if reason in WAITED_FOR}
    if not waits:
        return Bound(NOTHING, 0.0, "")
    longest = max(waits, key=lambda reason: (waits[reason], reason))
    return Bound(WAITED_FOR[longest], round(100 * waits[longest], 2), longest)


def bound_table(used: Sequence[Resource], stalls: Mapping[str, float], elapsed: int) -> dict[str, Any]:
    """
    Return the table ``bound`` of a result.

    Args:
        used: Use of the resources, the most used first.
        stalls: Share of warp cycles by stall reason.
        elapsed: Elapsed cycles.

    Returns:
        ``resource``, ``percent``, ``stall`` and ``of_active`` of ``bound_of``; ``busiest``, the resource that bounds
        the kernel or else the most used one, with its ``utilisation`` (a share); ``reason`` in words; ``resources``,
        the use of each resource; ``cycles``, for which the mean SM uses each.
    """
    bound = bound_of(used, stalls)
    able = {one.name: one for one in used if one.bounds}
    most = next(iter(able.values())) if bound.reason or bound.resource == NOTHING else able[bound.resource]
    return {
        "resource": bound.resource,
        "percent": bound.percent,
        "stall": bound.reason,
        "of_active": bound.of_active,
        "busiest": most.name,
        "utilisation": round((most.percent_active if bound.of_active else most.percent) / 100, 4),
        "reason": _in_words(bound, most),
        "resources": [asdict(one) for one in used],
        "cycles": {one.name: round(one.percent * elapsed / 100) for one in used if one.bounds},
    }


def _in_words(bound: Bound, most: Resource) -> str:
    own = f"{most.name} at {most.percent:.0f} % of its peak"
    if round(most.percent_active) > round(most.percent):
        own += f" ({most.percent_active:.0f} % where and while there is work)"
    if bound.resource == most.name and not bound.reason:
        return own
    waits = f"warps wait longest for {bound.reason}, with " if bound.reason else ""
    return f"no resource reaches {100 * BOUND_SHARE:.0f} % of its peak; {waits}{own}"
