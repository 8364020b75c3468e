"""Compares runs, scenarios and profiles: the keys in which the scenarios differ, and every figure of both."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias

from gpusim.arguments import text
from gpusim.errors import BadInput, printable
from gpusim.families.registry import load_scenario
from gpusim.machine import Machine, load_machine
from gpusim.machine.difference import FigureDifference, figure_differences
from gpusim.results.resources import resources_of
from gpusim.results.result import ELAPSED, Result
from gpusim.results.run_directory import RESULT, read_run
from gpusim.results.timeline import Timeline
from gpusim.scenario.catalogue import find_scenario
from gpusim.scenario.models import Scenario
from gpusim.verbs.simulate import simulate

SideKind: TypeAlias = Literal["run", "scenario", "ncu"]
"""Origin of a side's figures: a run directory or a result, a scenario that is simulated now, or an ncu report."""

MISSING: Final = "-"
"""Value of a key that a side's scenario does not have."""


@dataclass(frozen=True, slots=True)
class Profiled:
    """
    A launch that ncu profiled, with the figures that a result has, too.

    Attributes:
        kernel: Name of the kernel.
        grid, block: gridDim and blockDim.
        counters: Values by full metric name.
        stalls: Share of warp cycles by stall reason.
    """

    kernel: str
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    counters: Mapping[str, float]
    stalls: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class ComparedSide:
    """
    One side of a comparison.

    Attributes:
        name: Name of the side in tables.
        kind: Origin of the figures.
        result: The simulated result; None for a profile.
        profiled: The profile; None for a result.
        timeline: Timeline of the watched CTA; None for a profile or a bare result.
    """

    name: str
    kind: SideKind
    result: Result | None = None
    profiled: Profiled | None = None
    timeline: Timeline | None = field(default=None, repr=False)

    def to_dict(self) -> dict[str, Any]:
        """Return the side as plain data; ``result`` is result.json, or the profile's counters."""
        found = self.result if self.result is not None else self.profiled
        return {"name": self.name, "kind": self.kind, "result": None if found is None else asdict(found)}


@dataclass(frozen=True, slots=True)
class Difference:
    """A key in which scenarios differ, with its value in each side; ``MISSING`` if a side has none."""

    key: str
    values: tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Metric:
    """
    One figure of all sides.

    Attributes:
        name: Name of the figure; a counter has its full ncu metric name.
        unit: Unit of the figure; empty for a count.
        values: Value of the figure in each side; None if a side lacks it.
    """

    name: str
    unit: str
    values: tuple[float | None, ...]

    @property
    def deltas(self) -> tuple[float | None, ...]:
        """Value less that of the first side, for each side; None if either lacks it."""
        first = self.values[0]
        return tuple(None if first is None or value is None else value - first for value in self.values)

    @property
    def ratios(self) -> tuple[float | None, ...]:
        """Value over that of the first side, for each side; None if either lacks it or the first is 0."""
        first = self.values[0]
        return tuple(None if not first or value is None else value / first for value in self.values)

    @property
    def ratio(self) -> float | None:
        """Value of the last side over that of the first."""
        return self.ratios[-1]


@dataclass(frozen=True, slots=True)
class Comparison:
    """
    A comparison of sides.

    Attributes:
        sides: The compared sides. Ratios and deltas refer to the first side.
        differences: Keys in which the scenarios differ, and the streams if they differ.
        metrics: Every figure that at least two sides have.
        bounds: The bound of each side, in words; empty for a profile.
        machines: Machine of each side; None for a profile, and if the machine's file was deleted or changed since.
    """

    sides: tuple[ComparedSide, ...]
    differences: tuple[Difference, ...]
    metrics: tuple[Metric, ...]
    bounds: tuple[str, ...]
    machines: tuple[Machine | None, ...] = field(default=(), repr=False)

    @property
    def machine_figures(self) -> tuple[FigureDifference, ...]:
        """Figures in which the machines differ, in the order of the machine files."""
        return figure_differences(self.machines)

    def __hash__(self) -> int:
        """Return a hash; equal comparisons have equal hashes."""
        return hash((self.bounds, tuple(side.name for side in self.sides), len(self.metrics)))

    def metric(self, name: str) -> Metric:
        """
        Return a figure by its name.

        Raises:
            BadInput: No two sides have it.
        """
        text("name", name)
        for one in self.metrics:
            if one.name == name:
                return one
        raise BadInput(
            f"no two sides have a figure {name!r:.60}; they have {', '.join(one.name for one in self.metrics)}"
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the comparison as plain data, as ``gpusim compare --json`` prints it."""
        return {
            "sides": [side.to_dict() for side in self.sides],
            "differences": [{"key": one.key, "values": list(one.values)} for one in self.differences],
            "metrics": [
                {
                    "name": one.name,
                    "unit": one.unit,
                    "values": list(one.values),
                    "deltas": list(one.deltas),
                    "ratio": one.ratio,
                    "ratios": list(one.ratios),
                }
                for one in self.metrics
            ],
            "machine_figures": [one.to_dict() for one in self.machine_figures],
            "bounds": list(self.bounds),
        }


def compare(
    *sides: ComparedSide | Scenario | Result | str | Path,
    exact: bool | None = None,
    stream: str = "auto",
    progress: Callable[[str], None] | None = None,
) -> Comparison:
    """
    Compare two or more sides.

    Args:
        *sides: Run directories, scenarios by file or shipped name, scenarios, results, or ready sides. A profile is a
            ready side (``gpusim.measure.compare.profiled_side``).
        exact, stream: As of ``simulate``, for scenarios.
        progress: Called with a line about each simulation.

    Raises:
        BadInput: There are fewer than two sides, or a text names nothing.
    """
    if len(sides) < 2:
        raise BadInput(f"a comparison needs two sides or more, got {len(sides)}")
    found = tuple(side_of(one, exact=exact, stream=stream, progress=progress) for one in sides)
    metrics, bounds = tuple(_metrics(found)), tuple(map(_bound, found))
    differences = tuple(differences_of([_settings(side.result) for side in found]))
    return Comparison(found, differences, metrics, bounds, tuple(map(_machine, found)))


def side_of(
    what: ComparedSide | Scenario | Result | str | Path,
    name: str = "",
    *,
    exact: bool | None = None,
    stream: str = "auto",
    progress: Callable[[str], None] | None = None,
) -> ComparedSide:
    """
    Make a side; arguments and errors are those of ``compare``.

    Args:
        what: The content of the side.
        name: Name of the side; if empty, the name of the file or folder, or the kind of problem.
        exact, stream, progress: As of ``compare``.
    """
    if isinstance(what, ComparedSide):
        return what
    if isinstance(what, Result):
        return ComparedSide(name or str(what.scenario["problem"]["kind"]), "run", what)
    if isinstance(what, str | Path):
        path = Path(what)
        if (path / RESULT).is_file():
            result, timeline = read_run(path)
            return ComparedSide(name or printable(path.name or str(path)), "run", result, timeline=timeline)
        file = find_scenario(str(what))
        name, what = name or printable(file.stem), load_scenario(file)
    if progress is not None:
        progress(f"simulating {name or what.kind}")
    result, timeline = simulate(what, exact=exact, stream=stream)
    return ComparedSide(name or what.kind, "scenario", result, timeline=timeline)


def changed_side(
    side: ComparedSide, settings: Sequence[str], scenario: Scenario, *, exact: bool | None, stream: str = "auto"
) -> ComparedSide:
    """
    Return a side with other settings.

    Args:
        side: A simulated side.
        settings: The settings, as ``--set`` takes them, for the name.
        scenario: The side's scenario with the settings.
        exact: As of ``simulate``.
        stream: As of ``simulate``; "auto" is the origin of the side's streams, or "estimated" if they cannot be
            compiled.
    """
    if stream == "auto" and side.result is not None and side.result.stream == "estimated":
        stream = "estimated"
    result, timeline = simulate(scenario, exact=exact, stream=stream)
    return ComparedSide(", ".join(settings), "scenario", result, timeline=timeline)


# --- differences of the scenarios ---


def flattened(scenario: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Return a resolved scenario's values by their dotted keys; a list is one value."""
    flat: dict[str, Any] = {}
    for key, value in scenario.items():
        if isinstance(value, Mapping):
            flat |= flattened(value, f"{prefix}{key}.")
        else:
            flat[f"{prefix}{key}"] = value
    return flat


def differences_of(flat: Sequence[Mapping[str, Any] | None]) -> Iterator[Difference]:
    """Yield the keys in which sides differ. Each side has its values by key, or None if it has no scenario."""
    known = [one for one in flat if one is not None]
    for key in dict.fromkeys(key for one in known for key in one):
        if any(one.get(key, MISSING) != known[0].get(key, MISSING) for one in known):
            yield Difference(key, tuple(MISSING if one is None else one.get(key, MISSING) for one in flat))


def _settings(result: Result | None) -> dict[str, Any] | None:
    return None if result is None else flattened(result.scenario) | {"stream": result.stream}


def _machine(side: ComparedSide) -> Machine | None:
    """Return the machine of a side; None if the figures that it was simulated with are no longer known."""
    if side.result is None:
        return None
    try:
        machine = load_machine(str(side.result.scenario["machine"]))
    except BadInput:
        return None
    return machine if machine.digest() == side.result.machine.get("digest") else None


# --- figures ---


def _metrics(sides: Sequence[ComparedSide]) -> Iterator[Metric]:
    figures = [_figures(side) for side in sides]
    for name, unit in dict.fromkeys(key for own in figures for key in own):
        values = tuple(own.get((name, unit)) for own in figures)
        if sum(value is not None for value in values) > 1:
            yield Metric(name, unit, values)


def _figures(side: ComparedSide) -> dict[tuple[str, str], float]:
    """Return every figure of a side by name and unit, the most important first."""
    if side.result is not None:
        return dict(_of_result(side.result))
    return {} if side.profiled is None else dict(_of_profile(side.profiled))


def _of_result(result: Result) -> Iterator[tuple[tuple[str, str], float]]:
    yield ("cycles elapsed", "cycles"), result.cycles.elapsed
    yield ("cycles active", "cycles"), result.cycles.active
    yield ("time", "us"), result.time_us
    yield ("throughput", "TFLOP/s"), result.tflops
    yield ("CTAs", ""), result.ctas
    yield ("waves", ""), result.waves
    yield ("CTAs per SM", ""), result.ctas_per_sm
    yield ("registers per thread", ""), result.registers_per_thread
    yield ("shared memory of a CTA", "bytes"), result.shared_bytes
    yield ("bound's use", "share"), result.bound["utilisation"]
    for one in resources_of(result):
        yield (f"use of {one.name}", "share"), round(one.percent / 100, 6)
    for row in result.bank_conflicts:
        yield (f"wavefronts {row.op} {row.operand}", ""), row.wavefronts
        yield (f"conflicts {row.op} {row.operand}", ""), row.conflicts
    for reason, share in result.stalls.items():
        yield (f"stall {reason}", "share"), share
    for metric, value in result.counters.items():
        if metric != ELAPSED:
            yield (metric, unit_of_metric(metric)), value


def _of_profile(profiled: Profiled) -> Iterator[tuple[tuple[str, str], float]]:
    counters = profiled.counters
    named = {
        ELAPSED: ("cycles elapsed", "cycles", 1),
        "gpu__time_duration.sum": ("time", "us", 1000),
        "launch__registers_per_thread": ("registers per thread", "", 1),
    }
    for metric, (name, unit, scale) in named.items():
        if metric in counters:
            yield (name, unit), counters[metric] / scale
    for reason, share in profiled.stalls.items():
        yield (f"stall {reason}", "share"), share
    for metric, value in counters.items():
        if metric not in named:
            yield (metric, unit_of_metric(metric)), value


def unit_of_metric(metric: str) -> str:
    """Return the unit of one of ncu's metrics, from its name; empty for a count."""
    for word, unit in (("cycles", "cycles"), ("bytes", "bytes"), (".pct", "%"), ("sectors", "sectors")):
        if word in metric:
            return unit
    return ""


def _bound(side: ComparedSide) -> str:
    return "" if side.result is None else str(side.result.bound["reason"])
