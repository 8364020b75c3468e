"""Explains a kernel whose warps have roles: the division of the time of all SMs, and what changes would gain."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from gpusim.results.resources import resources_of
from gpusim.results.result import Result
from gpusim.scenario.models import Scenario
from gpusim.verbs.explanation.losses import Budget, Loss
from gpusim.verbs.explanation.schedules import WhatIf, rescheduled


def role_budget(result: Result, working: float) -> Budget:
    """
    Return the division of the time of all SMs.

    Args:
        result: The result.
        working: Part of the SMs that have CTAs.
    """
    tensor = next((one.percent for one in resources_of(result) if one.name == "tensor core"), 0.0)
    elapsed, active = result.cycles.elapsed, result.cycles.active
    idle = 100 * (1 - working) * active / elapsed
    launch = 100 * (elapsed - active) / elapsed
    waiting = max(0.0, 100 - tensor - idle - launch)
    losses = (
        Loss("launch, and SMs that end sooner", round(launch, 2)),
        Loss("SMs without a CTA", round(idle, 2)),
        Loss("tensor cores wait where a CTA runs", round(waiting, 2)),
    )
    return Budget(losses, round(tensor, 2), 1.0)


def role_what_ifs(
    scenario: Scenario,
    result: Result,
    changes: Iterable[tuple[str, Mapping[str, Any]]],
    say: Callable[[str], None],
) -> tuple[WhatIf, ...]:
    """
    Simulate changes of a scenario; return them, the largest gain first.

    Args:
        scenario: The scenario.
        result: Its result.
        changes: Each change in words, and its settings.
        say: Called with a line.
    """
    say("simulating other stages, schedules, clusters and tiles")
    found = [
        rescheduled(scenario, result, name, settings, exact=None, stream="estimated") for name, settings in changes
    ]
    return tuple(sorted(found, key=lambda one: -1e9 if one.gain_percent is None else -one.gain_percent))
