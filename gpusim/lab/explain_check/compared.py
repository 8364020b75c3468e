"""Compares ``explain`` with measurements: the bound of each record, and the gain of each pair of records."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from gpusim.families.registry import parse_scenario
from gpusim.lab.explain_check.chosen import SAME_WITHIN, RecordPair
from gpusim.lab.explain_check.truth import MeasuredBound, measured_bound, measured_throughputs
from gpusim.machine.load import load_machine
from gpusim.records.record import Record
from gpusim.results.bound import Bound, bound_of
from gpusim.results.resources import Resource, resources_of
from gpusim.results.result import ELAPSED
from gpusim.verbs.compare import flattened
from gpusim.verbs.explanation.schedules import rescheduled
from gpusim.verbs.simulate import simulate

WITHIN_POINTS: Final = 5.0
"""Largest difference, in points, of a simulated gain that counts as near the measured one."""


@dataclass(frozen=True, slots=True)
class BoundRow:
    """
    The bound of one record.

    Attributes:
        name: Name of the record.
        stream: Origin of the simulated stream.
        measured, simulated: Its bound, measured and explained.
        throughputs: Measured throughputs by resource, per cent of the peak.
        used: Simulated use of the resources.
    """

    name: str
    stream: str
    measured: MeasuredBound
    simulated: Bound
    throughputs: dict[str, float]
    used: tuple[Resource, ...]

    @property
    def right(self) -> bool:
        """Whether both name the same resource."""
        return self.measured.resource == self.simulated.resource


@dataclass(frozen=True, slots=True)
class GainRow:
    """
    The gain of one pair of records.

    Attributes:
        what: The difference of the two records.
        before, after: Their names.
        measured, simulated: Elapsed cycles that the second one saves, per cent of the slower one's: the reversed pair
            has the same gain with the other sign.
    """

    what: str
    before: str
    after: str
    measured: float
    simulated: float

    @property
    def sign_right(self) -> bool:
        """Whether both gain, both lose, or neither does."""
        small = max(abs(self.measured), abs(self.simulated)) < SAME_WITHIN
        return small or self.measured * self.simulated > 0

    @property
    def near(self) -> bool:
        """Whether the two gains differ by at most ``WITHIN_POINTS``."""
        return abs(self.measured - self.simulated) <= WITHIN_POINTS


def bound_rows(records: Sequence[Record], say: Callable[[str], None]) -> Iterator[BoundRow]:
    """Yield the bound of every record, measured and explained, with compiled streams if there are any."""
    for record in records:
        say(f"bound of {record.name}")
        result, _ = simulate(parse_scenario(record.scenario, record.name), stream="auto")
        used, machine = resources_of(result), load_machine(record.scenario["machine"])
        yield BoundRow(
            record.name,
            result.stream,
            measured_bound(record.counters, machine),
            bound_of(used, result.stalls),
            measured_throughputs(record.counters, machine),
            used,
        )


def gain_rows(chosen: Sequence[RecordPair], say: Callable[[str], None]) -> Iterator[GainRow]:
    """
    Yield the gain of every pair, measured and as a what-if: the first one's scenario with the keys of the second.

    Raises:
        BadInput: The second scenario is refused.
    """
    for what, before, after in chosen:
        say(f"what if {before.name} were {after.name}")
        scenario = parse_scenario(before.scenario, before.name)
        result, _ = simulate(scenario, stream="auto")
        predicted = rescheduled(scenario, result, what, _settings(before.scenario, after.scenario), exact=None)
        if predicted.cycles is None:
            say(f"{before.name}: {predicted.refused}")
            continue
        measured = _gain(before.counters[ELAPSED], after.counters[ELAPSED])
        yield GainRow(what, before.name, after.name, measured, _gain(result.cycles.elapsed, predicted.cycles))


def _gain(before: float, after: float) -> float:
    """Return the cycles saved, per cent of the slower one's."""
    return 100 * (before - after) / max(before, after)


def _settings(before: dict[str, Any], after: dict[str, Any]) -> dict[str, Any]:
    """Return the keys in which a resolved scenario differs from another, with their new values."""
    own, other = flattened(before), flattened(after)
    return {key: other[key] for key in own.keys() | other.keys() if own.get(key) != other.get(key) and key in other}
