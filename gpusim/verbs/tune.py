"""Finds the fastest kernel for a problem: legal configurations are bounded, simulated, and ranked with reasons."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from gpusim.arguments import exactness, function, plain_table, refusal, whole_number, word
from gpusim.errors import CannotRun
from gpusim.families.registry import family_of
from gpusim.results.plain import frame, plain
from gpusim.scenario.models import Scenario
from gpusim.verbs.load import ScenarioSource, load
from gpusim.verbs.simulate import STREAM_CHOICES
from gpusim.verbs.sweeping.point import PointRow, about_streams, point_row
from gpusim.verbs.sweeping.workers import processes_of
from gpusim.verbs.tuning.candidates import base_without_kernel, candidates_of
from gpusim.verbs.tuning.label import label
from gpusim.verbs.tuning.reasons import why_faster
from gpusim.verbs.tuning.search import KernelSearch, searched

if TYPE_CHECKING:
    import pandas as pd

BUDGET: Final = 200
"""Most configurations that are simulated by default. If more are legal, optuna chooses."""

MOST_BUDGET: Final = 1_000_000
"""Upper limit of the budget, in simulations."""


@dataclass(frozen=True, slots=True)
class Ranked:
    """
    A ranked configuration.

    Attributes:
        rank: 1 for the fastest.
        name: The configuration in one short line.
        settings: Keys and values of the configuration, dotted.
        cycles: Elapsed cycles, simulated.
        time_us: Microseconds at the machine's clock.
        tflops: 10^12 operations a second.
        bound: Bound of the configuration: a resource or a stall reason.
        least_cycles: Lower bound of its elapsed cycles.
        reason: Reason why it is faster than the next configuration.
        figures: All figures of its simulation (``sweep``'s columns).
        measured_cycles: Elapsed cycles on a GPU; None if it was not measured.
    """

    rank: int
    name: str
    settings: dict[str, Any]
    cycles: int
    time_us: float
    tflops: float
    bound: str
    least_cycles: int
    reason: str
    figures: dict[str, Any]
    measured_cycles: float | None = None


@dataclass(frozen=True, slots=True)
class Tuning:
    """
    The kernels for a problem, fastest first.

    Attributes:
        scenario: The scenario that was tuned, as plain data.
        own: Figures of the scenario's own kernel; ``error`` if it cannot be simulated.
        ranking: The simulated configurations, fastest first.
        tried: Number of configurations of the space.
        illegal: Configurations that are not legal for the problem.
        bounded: Configurations that cannot win, by resource: this resource alone needs at least the best's cycles.
        unsimulated: Configurations that could still have won when the budget was spent.
        failed: Configurations that could not be simulated, by reason.
        chosen_by: "all" if every configuration that could win was simulated, else "optuna".
        notes: Remarks about the space.
    """

    scenario: dict[str, Any]
    own: dict[str, Any]
    ranking: tuple[Ranked, ...]
    tried: int
    illegal: int
    bounded: dict[str, int]
    unsimulated: int
    failed: dict[str, int]
    chosen_by: str
    notes: tuple[str, ...] = ()

    def __hash__(self) -> int:
        """Return a hash; equal tunings have equal hashes."""
        return hash((self.tried, self.illegal, self.unsimulated, self.chosen_by, len(self.ranking)))

    @property
    def best(self) -> Ranked:
        """The fastest configuration: if some were measured, the fastest of these."""
        measured = [one for one in self.ranking if one.measured_cycles is not None]
        return min(measured, key=lambda one: one.measured_cycles or 0) if measured else self.ranking[0]

    @property
    def speedup(self) -> float | None:
        """Simulated cycles of the scenario's own kernel over those of the best; None if the own kernel has none."""
        return self.own["cycles"] / self.best.cycles if "cycles" in self.own else None

    def to_dict(self) -> dict[str, Any]:
        """Return the tuning as plain data, as ``gpusim tune --json`` prints it."""
        data: dict[str, Any] = plain(self)
        return {"best": plain(self.best), "speedup": self.speedup, **data}

    def to_dataframe(self) -> "pd.DataFrame":
        """
        Return the ranking as a pandas data frame.

        Raises:
            CannotRun: pandas is not installed.
        """
        columns = ("rank", "name", "cycles", "time_us", "tflops", "bound", "least_cycles", "measured_cycles", "reason")
        return frame([{column: getattr(one, column) for column in columns} for one in self.ranking], columns)

    def with_measured(self, cycles: Mapping[str, float]) -> "Tuning":
        """Return the tuning with measured cycles, given by the configuration's name."""
        return replace(self, ranking=tuple(replace(one, measured_cycles=cycles.get(one.name)) for one in self.ranking))


def tune(
    scenario: ScenarioSource,
    jobs: int | None = None,
    *,
    budget: int = BUDGET,
    configurations: Iterable[Mapping[str, Any]] | None = None,
    scheduler: str | None = None,
    exact: bool | None = None,
    stream: str = "auto",
    progress: Callable[[str], None] | None = None,
) -> Tuning:
    """
    Rank the kernels that could be compiled for a scenario's problem, by simulated time.

    The scenario's kernel and its split of K are replaced by those of the space: tiles, warps, stages, iterators, orders
    of CTAs and splits that CUTLASS can compile. A configuration is simulated only if its fewest possible cycles are
    below the best simulated ones.

    Args:
        scenario: A scenario, or what ``gpusim.load`` takes: a file, the name of a shipped scenario, data.
        jobs: Processes; None takes one for each core, 1 simulates in this process.
        budget: Most simulations. If more configurations are legal, optuna chooses among them.
        configurations: Settings by dotted key to choose from, in place of the family's space.
        scheduler: Address of a Dask scheduler; its workers then simulate the configurations.
        exact: True simulates every CTA, False samples; None chooses by the number of warp instructions.
        stream: Origin of the instruction streams, as in ``gpusim.simulate``.
        progress: Called with a line from time to time.

    Raises:
        BadInput: The scenario is wrong, or no configuration is legal for its problem.
        CannotRun: None could be simulated, no scheduler answers, or optuna is needed and not installed.

    >>> stages = [{"kernel.stages": stages} for stages in (3, 4, 11)]
    >>> found = tune("gemm_ragged", jobs=1, stream="estimated", configurations=stages)
    >>> len(found.ranking), found.illegal
    (2, 1)
    """
    budget, processes = whole_number("budget", budget, 1, MOST_BUDGET), processes_of(jobs, scheduler)
    given = None if configurations is None else _given(configurations)
    function("progress", progress)
    exact, stream = exactness(exact), word("stream", stream, STREAM_CHOICES)
    say, read = progress or (lambda _: None), load(scenario)
    base = base_without_kernel(read, exact=exact, stream=stream)
    candidates, illegal = candidates_of(read, base, given)
    say(f"{len(candidates)} configurations are legal, {illegal} are not")
    search = KernelSearch(candidates, base, processes, scheduler, budget, say)
    chosen_by = searched(search)
    ranking = _ranking(search)
    left = [number for number in range(len(candidates)) if number not in search.rows]
    bounded = [candidates[number].limit for number in left if not search.can_win(number)]
    errors = [row["error"] for row in search.rows.values() if "error" in row]
    return Tuning(
        scenario=read.resolved(),
        own=_own(read, exact=exact, stream=stream),
        ranking=ranking,
        tried=len(candidates) + illegal,
        illegal=illegal,
        bounded=_counts(bounded),
        unsimulated=len(left) - len(bounded),
        failed=_counts(errors),
        chosen_by=chosen_by,
        notes=(*family_of(read).spaces.notes(read), *filter(None, [about_streams(search.rows.values())])),
    )


def _given(configurations: object) -> list[dict[str, Any]]:
    """Return the caller's settings as plain data."""
    found = list(configurations) if isinstance(configurations, Iterable) and not isinstance(configurations, str) else []
    if not found or not all(isinstance(one, Mapping) and one for one in found):
        raise refusal("configurations", 'tables of settings, such as [{"kernel.stages": 3}]', configurations)
    return [plain_table("configurations", one) for one in found]


def _own(scenario: Scenario, *, exact: bool | None, stream: str) -> PointRow:
    whole = replace(base_without_kernel(scenario, exact=exact, stream=stream), data=scenario.written())
    return point_row(whole, {})


def _ranking(search: KernelSearch) -> tuple[Ranked, ...]:
    found = sorted((row["cycles"], number) for number, row in search.rows.items() if "error" not in row)
    if not found:
        raise CannotRun(f"no configuration could be simulated: {next(iter(search.rows.values()))['error']}")
    ranking = []
    for rank, (cycles, number) in enumerate(found, 1):
        row, one = search.rows[number], search.candidates[number]
        reason = ""
        if rank < len(found):
            after = found[rank][1]
            reason = why_faster(row, search.rows[after], (one.least, search.candidates[after].least))
        ranking.append(
            Ranked(
                rank=rank,
                name=label(one.settings),
                settings=dict(one.settings),
                cycles=cycles,
                time_us=row["time_us"],
                tflops=row["tflops"],
                bound=row["bound"],
                least_cycles=one.least_cycles,
                reason=reason,
                figures=row,
            )
        )
    return tuple(ranking)


def _counts(names: Iterable[str]) -> dict[str, int]:
    found: dict[str, int] = {}
    for name in names:
        found[name] = found.get(name, 0) + 1
    return found
