"""
The gain of a kernel from one change alone: of the machine, of its code, or of its schedule. Each change is simulated.

A change of the machine or the code keeps everything else, so its gain is an upper bound for a better kernel. A change
of the schedule is another scenario, which can be run and measured.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from copy import copy
from typing import Final

from gpusim.results.result import Result
from gpusim.results.stall_words import STALL_WORDS
from gpusim.scenario.models import Scenario
from gpusim.sim.launch import Launch
from gpusim.verbs.explanation import changes
from gpusim.verbs.explanation.schedules import WhatIf, gain_percent, rescheduled, sliced
from gpusim.verbs.explanation.trials import Trials
from gpusim.verbs.simulate import SimulatedLaunch, simulated

ALONE: Final = (
    changes.NO_CONFLICTS,
    changes.STORES_AT_ONCE,
    changes.INFINITE_L2,
    changes.PERFECT_OVERLAP,
    changes.NO_LAUNCH,
    changes.FROM_REGISTERS,
    changes.NO_ADDRESSES,
)
"""Changes of machine and code, each simulated alone."""


def what_ifs(
    scenario: Scenario, result: Result, trials: Trials, *, exact: bool | None, say: Callable[[str], None]
) -> tuple[WhatIf, ...]:
    """
    Simulate every change alone.

    Args:
        scenario: The scenario.
        result: Result of the scenario.
        trials: Simulated launches of the scenario, in order.
        exact: As of ``simulate``.
        say: Called with a line about each change.

    Returns:
        The changes, the largest gain first; then those that cannot be simulated.
    """
    found = []
    elapsed = result.cycles.elapsed
    for change in ALONE:
        say(f"what if: {change.name}")
        without = trials.all_without([change])
        cycles = sum(one.elapsed for one in without)
        gain = gain_percent(elapsed, cycles)
        because = "" if gain >= 0 else _why_slower(trials.launches, without)
        found.append(WhatIf(change.name, cycles, gain, because=because))
    even = _evenly(trials.launches, exact=exact)
    if even is not None and even < elapsed:
        found.append(WhatIf("all SMs busy to the end: no wave tail", even, gain_percent(elapsed, even)))
    if "stages" in result.scenario["kernel"]:
        stages = int(result.scenario["kernel"]["stages"]) + 1
        name = f"one stage more: {stages}"
        say(f"what if: {name}")
        found.append(rescheduled(scenario, result, name, {"kernel.stages": stages}, exact=exact))
    found += sliced(scenario, result, trials.launches[0].launch, exact=exact, say=say)
    return tuple(sorted(found, key=lambda one: -float("inf") if one.gain_percent is None else one.gain_percent))[::-1]


def _why_slower(launches: Sequence[SimulatedLaunch], without: Sequence[SimulatedLaunch]) -> str:
    """
    Return in words why a kernel takes longer without an obstacle.

    The reason is either that SMs end at less equal times, or that they work longer. In the second case it is the stall
    reason that grows most, in cycles of the mean warp.
    """
    behind, later = (sum(one.outcome.longest - one.outcome.active for one in side) for side in (launches, without))
    active, longer = (sum(one.outcome.active for one in side) for side in (launches, without))
    if later - behind > longer - active:
        return (
            f"it also spreads CTAs: without it the last SM ends {later:,} cycles behind the mean one, in place of "
            f"{behind:,}"
        )
    before, after = Counter[str](), Counter[str]()
    for one, other in zip(launches, without, strict=True):
        before.update(one.outcome.stalls)
        after.update(other.outcome.stalls)
    more = {reason: after[reason] - before[reason] for reason in after if STALL_WORDS[reason].waits_for}
    reason = max(more, key=lambda one: (more[one], one), default="wait")
    warps = sum(one.launch.ctas * one.launch.kernel.lanes().warps for one in launches)
    simulated_warps = warps * before["selected"] / sum(one.launch.instructions for one in launches)
    return (
        f"it also keeps warps apart: without it each waits {more[reason] / simulated_warps:,.0f} cycles longer for "
        f"{STALL_WORDS[reason].waits_for} ({reason})"
    )


def _evenly(launches: Sequence[SimulatedLaunch], *, exact: bool | None) -> int | None:
    """
    Return the elapsed cycles if all SMs worked to the end; None if they do, or if some have no CTA.

    The grid is simulated without the last wave, which leaves SMs idle. Its CTAs are assumed to take as long as the
    others in the mean.
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
