"""
What a kernel would gain from one change alone: of the machine, of its code, or of its schedule. Each is simulated anew.

A change of the machine or the code keeps everything else, so that its gain bounds what a better kernel could get. A
change of the schedule is another scenario, which can be run and measured as it is.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import copy, deepcopy
from dataclasses import dataclass
from typing import Any, Final

from gpusim.errors import GpusimError
from gpusim.families.registry import parse_scenario
from gpusim.results.result import Result
from gpusim.scenario.models import Scenario
from gpusim.sim.launch import Launch
from gpusim.verbs.explanation.changes import (
    INFINITE_L2,
    NO_ADDRESSES,
    NO_CONFLICTS,
    NO_LAUNCH,
    PERFECT_OVERLAP,
    changed,
)
from gpusim.verbs.simulate import SimulatedLaunch, simulate, simulated

ALONE: Final = (NO_CONFLICTS, INFINITE_L2, PERFECT_OVERLAP, NO_ADDRESSES, NO_LAUNCH)
"""Changes of machine and code, each simulated alone."""

MOST_SLICES: Final = 16
"""Most split-K slices that are tried to give every SM work."""


@dataclass(frozen=True, slots=True)
class WhatIf:
    """
    A change and what it does.

    Attributes:
        change: What is changed.
        cycles: Elapsed cycles with the change; None where it cannot be simulated.
        gain_percent: Share of the elapsed cycles that it saves; negative where it costs some. None without ``cycles``.
        settings: Keys of the scenario that make the change, with their values; empty for a machine that does not exist.
        refused: Why it cannot be simulated; empty if it was.
    """

    change: str
    cycles: int | None
    gain_percent: float | None
    settings: Mapping[str, Any]
    refused: str = ""


def what_ifs(
    scenario: Scenario,
    result: Result,
    launches: Sequence[SimulatedLaunch],
    *,
    exact: bool | None,
    say: Callable[[str], None],
) -> tuple[WhatIf, ...]:
    """
    Simulate every change alone.

    Args:
        scenario: The scenario.
        result: Its result.
        launches: Its simulated launches, in order.
        exact: As of ``simulate``.
        say: Called with a line about each change.

    Returns:
        The changes, the largest gain first; then those that cannot be simulated.
    """
    found = []
    elapsed = result.cycles.elapsed
    for change in ALONE:
        say(f"what if: {change.name}")
        cycles = sum(simulated(changed(one.launch, [change]), exact=exact).elapsed for one in launches)
        found.append(WhatIf(change.name, cycles, gain_percent(elapsed, cycles), {}))
    even = _evenly(launches, exact=exact)
    if even is not None:
        found.append(WhatIf("all SMs busy to the end: no wave tail", even, gain_percent(elapsed, even), {}))
    for name, settings in _schedules(scenario, result, launches):
        say(f"what if: {name}")
        found.append(rescheduled(scenario, result, name, settings, exact=exact))
    return tuple(sorted(found, key=lambda one: -float("inf") if one.gain_percent is None else one.gain_percent))[::-1]


def gain_percent(before: float, after: float) -> float:
    """Return the share of cycles saved, per cent; negative where there are more."""
    return round(100 * (before - after) / before, 2)


def rescheduled(
    scenario: Scenario, result: Result, name: str, settings: Mapping[str, Any], *, exact: bool | None
) -> WhatIf:
    """Simulate another scenario with a stream of the same origin."""
    try:
        other, _ = simulate(with_settings(scenario, settings), exact=exact, stream=result.stream)
    except GpusimError as error:
        return WhatIf(name, None, None, settings, str(error))
    cycles = other.cycles.elapsed
    return WhatIf(name, cycles, gain_percent(result.cycles.elapsed, cycles), settings)


def with_settings(scenario: Scenario, settings: Mapping[str, Any]) -> Scenario:
    """
    Return a scenario with other values at some dotted keys.

    Raises:
        BadInput: A check does not hold.
    """
    data = deepcopy(scenario.resolved())
    for key, value in settings.items():
        *tables, last = key.split(".")
        table = data
        for one in tables:
            table = table.setdefault(one, {})
        table[last] = value
    return parse_scenario(data, "what if")


def _schedules(
    scenario: Scenario, result: Result, launches: Sequence[SimulatedLaunch]
) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield changes of the schedule: one stage more, and where SMs have no CTA, slices of K that give them one."""
    problem, kernel = result.scenario["problem"], result.scenario["kernel"]
    if "stages" in kernel:
        stages = int(kernel["stages"]) + 1
        yield f"one stage more: {stages}", {"kernel.stages": stages}
    launch = launches[0].launch
    if launch.working < launch.machine.sms and problem.get("split_k_slices") == 1:
        most = min(launch.machine.sms * launch.ctas_per_sm // launch.ctas, MOST_SLICES)
        slices = {2, next((one for one in range(most, 1, -1) if _is_legal(scenario, _sliced(one))), 2)}
        for one in sorted(slices):
            yield f"all SMs busy: K in {one} slices", _sliced(one)


def _sliced(slices: int) -> dict[str, Any]:
    return {"problem.split_k_slices": slices, "problem.split_k": "serial"}


def _is_legal(scenario: Scenario, settings: Mapping[str, Any]) -> bool:
    try:
        with_settings(scenario, settings)
    except GpusimError:
        return False
    return True


def _evenly(launches: Sequence[SimulatedLaunch], *, exact: bool | None) -> int | None:
    """
    Return the elapsed cycles if all SMs worked to the end; None if they do, or if some have no CTA.

    The CTAs of the last wave, which leaves SMs idle, take as long as the others do in the mean: the grid is simulated
    without them.
    """
    first, *others = launches
    launch = first.launch
    sms, ctas, slots = launch.machine.sms, launch.ctas, launch.ctas_per_sm
    whole = (ctas // (sms * slots) * slots or ctas // sms) * sms
    if whole in (0, ctas):
        return None
    kernel = copy(launch.kernel)
    kernel.launched = kernel.launched[:whole]
    even = simulated(Launch(kernel, launch.streams, slots), exact=exact)
    rest = sum(one.elapsed for one in others)
    return first.elapsed_of(even.outcome.longest * ctas // whole) + rest
