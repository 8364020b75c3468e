"""
Simulates other schedules of the same problem: any settings, and slices of K if some SMs have no CTA.

A serial split-K needs no memory of its own, and its slices store one after another. In a parallel split-K each slice
stores its sums, and a second launch adds them up.
"""

from collections.abc import Callable, Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from itertools import count, takewhile
from typing import Any, Final

from gpusim.errors import GpusimError
from gpusim.families.registry import parse_scenario
from gpusim.results.result import Result
from gpusim.results.stall_words import STALL_WORDS
from gpusim.scenario.models import Scenario
from gpusim.sim.launch import Launch
from gpusim.verbs.simulate import simulate

SLICED: Final[Mapping[str, str]] = {
    "serial": "K in {} slices, which store one after another (serial split-K)",
    "parallel": "K in {} slices, which a second launch adds up (parallel split-K)",
}
"""Kinds of split-K, and the words for a number of slices."""

MISSES: Final = 2
"""Consecutive numbers of slices that are slower than the best one, after which no larger number is tried."""

BEST_KEPT: Final = 2
"""For each kind of split-K, the number of best numbers of slices that are reported."""


@dataclass(frozen=True, slots=True)
class WhatIf:
    """
    A change and its effect.

    Attributes:
        change: The change, in words.
        cycles: Elapsed cycles with the change; None if it cannot be simulated.
        gain_percent: Share of the elapsed cycles that it saves; negative if it costs some. None without ``cycles``.
        settings: Keys of the scenario that make the change, with their values; empty for a machine that does not exist.
        refused: Reason why the change cannot be simulated; empty if it was simulated.
        because: Reason why the change costs cycles; empty if it costs none.
    """

    change: str
    cycles: int | None
    gain_percent: float | None
    settings: Mapping[str, Any] = field(default_factory=dict)
    refused: str = ""
    because: str = ""


def gain_percent(before: float, after: float) -> float:
    """Return the share of cycles saved, per cent; negative if the number of cycles grows."""
    return round(100 * (before - after) / before, 2)


def with_settings(scenario: Scenario, settings: Mapping[str, Any]) -> Scenario:
    """
    Return a scenario with other values at some dotted keys.

    Raises:
        BadInput: The scenario breaks a rule.
    """
    data = deepcopy(scenario.resolved())
    for key, value in settings.items():
        *tables, last = key.split(".")
        table = data
        for one in tables:
            table = table.setdefault(one, {})
        table[last] = value
    return parse_scenario(data, "what if")


def rescheduled(
    scenario: Scenario,
    result: Result,
    name: str,
    settings: Mapping[str, Any],
    *,
    exact: bool | None,
    stream: str | None = None,
) -> WhatIf:
    """
    Simulate another scenario.

    Args:
        scenario: The scenario as it is.
        result: Result of the scenario.
        name: The change, in words.
        settings: The changed keys, with their values.
        exact: As of ``simulate``.
        stream: Origin of the stream; None takes that of the result.
    """
    try:
        other, _ = simulate(with_settings(scenario, settings), exact=exact, stream=stream or result.stream)
    except GpusimError as error:
        return WhatIf(name, None, None, settings, str(error))
    cycles = other.cycles.elapsed
    gain = gain_percent(result.cycles.elapsed, cycles)
    return WhatIf(name, cycles, gain, settings, because="" if gain >= 0 else _why_slower(result, other))


def _why_slower(result: Result, other: Result) -> str:
    """Return why another schedule takes longer, in words."""
    if other.ctas_per_sm != result.ctas_per_sm:
        return f"an SM then holds {_number(other.ctas_per_sm, 'CTA')} in place of {result.ctas_per_sm:,}"
    if other.ctas != result.ctas:
        return f"{_number(other.ctas, 'CTA')} start and store in place of {result.ctas:,}"
    longer = {
        reason: other.cycles.active * share - result.cycles.active * result.stalls.get(reason, 0.0)
        for reason, share in other.stalls.items()
        if STALL_WORDS[reason].waits_for
    }
    if not longer or max(longer.values()) <= 0:
        return "its launch or its last wave takes longer"
    reason = max(longer, key=lambda one: (longer[one], one))
    return f"warps then wait longer for {STALL_WORDS[reason].waits_for} ({reason})"


def _number(of: int, what: str) -> str:
    return f"{of:,} {what}{'' if of == 1 else 's'}"


def sliced(
    scenario: Scenario, result: Result, launch: Launch, *, exact: bool | None, say: Callable[[str], None]
) -> Iterator[WhatIf]:
    """
    Yield the best numbers of slices of K, serial and parallel, if SMs have no CTA without slices.

    Numbers are tried from 2 on, as long as they help. With compiled streams, numbers are chosen by estimated ones,
    because each may have to be compiled.

    Args:
        scenario: The scenario.
        result: Result of the scenario.
        launch: First launch of the scenario.
        exact: As of ``simulate``.
        say: Called with a line about each number.
    """
    problem = result.scenario["problem"]
    own = problem.get("split_k_slices")
    if own is None or launch.ctas // own >= launch.machine.sms:
        return
    for kind, words in SLICED.items():
        found: list[WhatIf] = []
        for slices in _numbers(launch, own):
            settings = {"problem.split_k_slices": slices, "problem.split_k": kind}
            if (own, problem.get("split_k")) == (slices, kind) or not _is_legal(scenario, settings):
                continue
            say(f"what if: {words.format(slices)}")
            name = words.format(slices)
            found.append(rescheduled(scenario, result, name, settings, exact=exact, stream="estimated"))
            if _best(found) < len(found) - MISSES:
                break
        best = sorted(found, key=lambda one: one.cycles or 0)[:BEST_KEPT]
        if result.stream == "estimated":
            yield from best
            continue
        for one in best:
            say(f"what if: {one.change}")
            yield rescheduled(scenario, result, one.change, one.settings, exact=exact)


def _numbers(launch: Launch, own: int) -> list[int]:
    """Return numbers of slices that may help: powers of two, and those that give every SM one CTA or fill it."""
    tiles, sms = launch.ctas // own, launch.machine.sms
    most = max(2, sms * launch.ctas_per_sm // tiles)
    powers = takewhile(lambda power: power <= most, (1 << exponent for exponent in count(1)))
    return sorted({2, *powers, max(2, sms // tiles), most})


def _best(found: list[WhatIf]) -> int:
    """Return the index of the fastest result."""
    return min(range(len(found)), key=lambda place: (found[place].cycles or 0, place))


def _is_legal(scenario: Scenario, settings: Mapping[str, Any]) -> bool:
    try:
        with_settings(scenario, settings)
    except GpusimError:
        return False
    return True
