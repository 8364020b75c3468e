"""Simulates candidates until no other can win. If they exceed the budget, optuna chooses the next candidates."""

import json
import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any, Final

from gpusim.errors import missing_extra
from gpusim.verbs.sweeping.point import Base, PointRow
from gpusim.verbs.sweeping.workers import simulated
from gpusim.verbs.tuning.candidates import KernelCandidate

ROUND: Final = 48
"""Number of configurations that are simulated before the search drops configurations that can no longer win."""

_SEED: Final = 0

_TOGETHER: Final = (
    ("kernel.threadblock", "kernel.warp", "kernel.instruction"),
    ("kernel.mainloop", "kernel.stages"),
    ("problem.split_k_slices", "problem.split_k"),
    ("kernel.queries_per_block", "kernel.keys_per_block"),
)
"""Groups of keys that optuna chooses as one value."""

_ASKED_FOR_ONE: Final = 20


@dataclass(slots=True)
class KernelSearch:
    """
    A search among candidates.

    Attributes:
        candidates: All candidates, ordered by their lower bound.
        base: The common part of all candidates.
        jobs: Local processes.
        scheduler: Address of a Dask scheduler; None simulates here.
        budget: Most simulations.
        say: Called with a line after each round.
        rows: Rows of the simulated candidates, by the candidate's number.
    """

    candidates: Sequence[KernelCandidate]
    base: Base
    jobs: int
    scheduler: str | None
    budget: int
    say: Callable[[str], None]
    rows: dict[int, PointRow] = field(default_factory=dict)

    @property
    def best(self) -> float:
        """The fewest cycles simulated so far."""
        return min((row["cycles"] for row in self.rows.values() if "error" not in row), default=float("inf"))

    def can_win(self, number: int) -> bool:
        """Return whether a candidate is not simulated yet, and its lower bound is below the best."""
        return number not in self.rows and self.candidates[number].least_cycles < self.best

    def simulate(self, numbers: Sequence[int]) -> None:
        """Simulate some candidates."""
        points = {number: dict(self.candidates[number].settings) for number in numbers}
        for number, row in simulated(self.base, points, jobs=self.jobs, scheduler=self.scheduler):
            self.rows[number] = row
        self.say(f"{len(self.rows)} simulated, the best takes {self.best:,.0f} cycles")


def searched(search: KernelSearch) -> str:
    """
    Simulate candidates that can win, and return how they were chosen: "all", or "optuna" if they exceed the budget.

    Raises:
        CannotRun: They exceed the budget, and optuna is not installed.
    """
    if len(search.candidates) <= search.budget:
        _all_that_can_win(search)
        return "all"
    _by_optuna(search)
    return "optuna"


def _all_that_can_win(search: KernelSearch) -> None:
    while True:
        left = [number for number in range(len(search.candidates)) if search.can_win(number)]
        if not left:
            return
        search.simulate(left[:ROUND])


def _by_optuna(search: KernelSearch) -> None:
    """Simulate one candidate of each tile, then those that a tree of Parzen estimators expects to be best."""
    try:
        optuna: Any = import_module("optuna")
    except ImportError as error:
        what = f"a space of {len(search.candidates)} configurations, which is more than --budget {search.budget},"
        raise missing_extra(what, "tune") from error
    logging.getLogger("optuna").setLevel(logging.ERROR)
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    choices = _all_choices(search.candidates)
    numbers = {json.dumps(one, sort_keys=True): number for number, one in enumerate(choices)}
    axes = {name: optuna.distributions.CategoricalDistribution(_values(choices, name)) for name in choices[0]}
    sampler = optuna.samplers.TPESampler(seed=_SEED, multivariate=True, n_startup_trials=0)
    study = optuna.create_study(sampler=sampler)

    def learn(chosen: Sequence[int]) -> None:
        search.simulate(chosen)
        for number in chosen:
            cycles = search.rows[number].get("cycles")
            if cycles is not None:
                trial = optuna.trial.create_trial(params=choices[number], distributions=axes, value=float(cycles))
                study.add_trial(trial)

    learn(list(_first_of_each(choices))[: search.budget])
    while len(search.rows) < search.budget:
        wanted = min(ROUND, search.budget - len(search.rows))
        chosen = list(dict.fromkeys(_asked(study, axes, numbers, search, wanted)))
        others = (number for number in range(len(choices)) if search.can_win(number) and number not in chosen)
        while len(chosen) < wanted and (other := next(others, None)) is not None:
            chosen.append(other)
        if not chosen:
            return
        learn(chosen)


def _asked(
    study: Any, axes: Mapping[str, Any], numbers: Mapping[str, int], search: KernelSearch, wanted: int
) -> Iterator[int]:
    """Yield the study's suggestions that are candidates and can win; skip the others."""
    found = set[int]()
    for _ in range(_ASKED_FOR_ONE * wanted):
        trial = study.ask(axes)
        number = numbers.get(json.dumps(trial.params, sort_keys=True))
        study.tell(trial, state=import_module("optuna").trial.TrialState.FAIL)
        if number is not None and number not in found and search.can_win(number):
            found.add(number)
            yield number
        if len(found) == wanted:
            return


def _all_choices(candidates: Sequence[KernelCandidate]) -> list[dict[str, str]]:
    """Return the choices of each configuration, as text, for single keys or keys chosen together; "" for none."""
    group = {key: keys[0] for keys in _TOGETHER for key in keys}
    found = []
    for one in candidates:
        chosen: dict[str, dict[str, Any]] = {}
        for key, value in one.settings.items():
            chosen.setdefault(group.get(key, key), {})[key] = value
        found.append({name: json.dumps(values) for name, values in chosen.items()})
    names = list(dict.fromkeys(name for one in found for name in one))
    return [{name: one.get(name, "") for name in names} for one in found]


def _values(choices: Sequence[Mapping[str, str]], name: str) -> list[str]:
    return list(dict.fromkeys(one[name] for one in choices))


def _first_of_each(choices: Sequence[Mapping[str, str]]) -> Iterator[int]:
    """Yield, for each value of each choice, the candidate with the least lower bound."""
    seen = set[tuple[str, str]]()
    for number, one in enumerate(choices):
        if not seen.issuperset(one.items()):
            seen.update(one.items())
            yield number
