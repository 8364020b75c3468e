"""Explains an sm_90 GEMM: which role waits for which, which barrier binds, and which changes are worth a simulation."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from gpusim.families.hopper.collective import collective_of
from gpusim.families.hopper.problem import HopperScenario
from gpusim.results.bound import Bound
from gpusim.results.resources import Resource
from gpusim.results.result import Result, RoleWait

MEANING: Final[Mapping[str, str]] = {
    "mainloop.full": "for operands that TMA has not brought yet",
    "mainloop.empty": "for a stage that the consumers have not released yet",
    "epi_load.full": "for C",
    "epi_load.empty": "for a stage of C that the epilogue has not released yet",
    "math_wg_order": "while the other consumer has the main loop, or the epilogue",
    "load_order": "for the first loads of A and B",
    "wgmma in flight": "for the end of wgmma in flight",
    "room in the queue of wgmma": "for the tensor core, which others have",
    "named barrier": "for the other warps of the CTA, or of the epilogue",
    "TMA stores": "until TMA has read what it stores",
}
"""What a role waits for, in words."""

_SMALL: Final = 0.1
"""Share of a role's cycles from which a wait is told."""

_BINDING: Final = 0.25
"""Share of a role's cycles from which a wait holds up the pipeline."""


def sentences(result: Result, used: Sequence[Resource]) -> tuple[str, ...]:
    """Return what each role waits for, and which barrier binds, a sentence each."""
    waits: dict[str, list[RoleWait]] = {}
    for row in result.roles:
        if row.waits_for in MEANING and row.share >= _SMALL and row.role != "source producer":
            waits.setdefault(row.role, []).append(row)
    told = [
        f"{_called(role)} waits "
        + "; ".join(f"{MEANING[one.waits_for]} ({one.waits_for}, {100 * one.share:.0f} %)" for one in own)
        + "."
        for role, own in waits.items()
    ]
    return (_binding(result, used), *told)


def _called(role: str) -> str:
    """Return a role's name at the begin of a sentence."""
    return f"Consumer {role[-1]}" if role.startswith("consumer") else f"The {role}"


def _binding(result: Result, used: Sequence[Resource]) -> str:
    """Return which side of the pipeline binds: the producer's memory, or the consumers' tensor cores."""
    of = {(row.role, row.waits_for): row.share for row in result.roles}
    empty = of.get(("producer", "mainloop.empty"), 0.0)
    full = max((share for (role, what), share in of.items() if what == "mainloop.full"), default=0.0)
    busiest = next((one for one in used if one.bounds), None)
    top = "" if busiest is None else f" The most used resource is the {busiest.name}, at {busiest.percent:.0f} %."
    if full >= _BINDING:
        cause = (
            f"; meanwhile the producer waits for stages ({100 * empty:.0f} %), so there are too few"
            if empty >= _BINDING
            else "; the producer is never held up, so the memory is too slow"
        )
        return (
            f"The full barriers bind: consumers wait for operands for {100 * full:.0f} % of their cycles{cause}.{top}"
        )
    return (
        f"The consumers bind: they wait for operands for {100 * full:.0f} % of their cycles only, and the producer is "
        f"ahead: it waits for stages for {100 * empty:.0f} %.{top}"
    )


_SCHEDULES: Final = ("cooperative", "pingpong", "warp_specialized")


def changes(scenario: HopperScenario) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield changes that may help, each in words and as settings: stages, schedules, clusters, tiles."""
    kernel, stages = scenario.kernel, collective_of(scenario).stages
    for number in (stages - 1, stages + 1):
        yield f"{number} stages in place of {stages}", {"kernel.stages": number}
    for schedule in _SCHEDULES:
        if schedule != kernel.schedule:
            walk = "none" if schedule == "warp_specialized" else "persistent"
            yield (
                f"schedule {schedule}",
                {"kernel.schedule": schedule, "kernel.scheduler": walk, "kernel.stages": "auto"},
            )
    for along_m, along_n in ((1, 1), (2, 1), (1, 2)):
        if (along_m, along_n) != kernel.cluster:
            yield f"cluster {along_m}x{along_n}", {"kernel.cluster": [along_m, along_n], "kernel.stages": "auto"}
    m, n, k = kernel.tile
    for width in (2 * n, n // 2):
        yield f"tile {m}x{width}x{k}", {"kernel.tile": [m, width, k], "kernel.stages": "auto"}


def verdict(result: Result, bound: Bound) -> str:
    """Return the main limit in one sentence."""
    if bound.reason:
        waits = [row for row in result.roles if row.waits_for in MEANING and row.role.startswith("consumer")]
        if waits:
            longest = max(waits, key=lambda row: row.share)
            return (
                f"No resource is busy; the consumers wait longest {MEANING[longest.waits_for]} "
                f"({longest.waits_for}, {100 * longest.share:.0f} % of their cycles)."
            )
    return f"The limit is the {bound.resource}, busy for {bound.percent:.0f} % of the time."
