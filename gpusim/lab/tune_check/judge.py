"""Compares the simulator's ranking of each problem's configurations with the measurements, as a page."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from gpusim.errors import BadInput
from gpusim.lab.tune_check.measured import MeasuredConfiguration, MeasuredProblem
from gpusim.lab.tune_check.problems import problem_named
from gpusim.measure.measure import Say
from gpusim.verbs.tune import tune
from gpusim.verbs.tuning.label import label

MEASURED_BEST: Final = 8
"""Configurations of the top of a ranking that a user measures with ``--measure 8``."""


@dataclass(frozen=True, slots=True)
class Judged:
    """
    One problem: the simulator's picks, and their measured speed.

    Attributes:
        name: Name of the problem.
        configurations: Number of measured configurations.
        pick: The first pick.
        best: The fastest measured one.
        cycles: Measured cycles of the fastest.
        first: Speed of the first pick over that of the fastest.
        best_of: Best speed among the first ``MEASURED_BEST`` picks over that of the fastest.
        error: Mean of |simulated / measured - 1| over the simulated configurations.
        unsimulated: Number of configurations that could not win, by their lower bound.
        peer: Speed of the other tool's first measured configuration, over that of the fastest; None if it names none.
    """

    name: str
    configurations: int
    pick: str
    best: str
    cycles: float
    first: float
    best_of: float
    error: float
    unsimulated: int
    peer: float | None = None


def judged(measured: MeasuredProblem, jobs: int | None, peers: Sequence[Mapping[str, Any]] = ()) -> Judged:
    """
    Rank a problem's configurations by simulation, and judge the ranking by the measurements.

    Args:
        measured: The measured problem.
        jobs: Processes; None takes one for each core.
        peers: Another tool's configurations for the problem, the best first.

    Raises:
        BadInput: The configurations are not those of today's stated set, or none was measured.
    """
    problem = problem_named(measured.name)
    if [one.settings for one in measured.configurations] != problem.settings():
        raise BadInput(f"{measured.name}: measured other configurations than are stated today: measure it again")
    timed = {label(one.settings): one for one in measured.configurations if one.cycles}
    if not timed:
        raise BadInput(f"{measured.name}: no configuration was measured")
    given = [one.settings for one in timed.values()]
    found = tune(problem.scenario(given[0]), jobs, budget=len(given), configurations=given)
    cycles = {name: one.elapsed for name, one in timed.items()}
    fastest = min(cycles, key=lambda name: cycles[name])
    picks = [one.name for one in found.ranking]
    errors = [abs(one.cycles / cycles[one.name] - 1) for one in found.ranking]
    return Judged(
        name=measured.name,
        configurations=len(timed),
        pick=picks[0],
        best=fastest,
        cycles=cycles[fastest],
        first=cycles[fastest] / cycles[picks[0]],
        best_of=cycles[fastest] / min(cycles[name] for name in picks[:MEASURED_BEST]),
        error=sum(errors) / len(errors),
        unsimulated=sum(found.bounded.values()),
        peer=_peer(peers, list(timed.values()), cycles[fastest]),
    )


def _peer(peers: Sequence[Mapping[str, Any]], rows: Sequence[MeasuredConfiguration], fastest: float) -> float | None:
    """Return the speed of the first listed kernel that was measured: the fastest one of its tile and split."""
    for named in peers:
        alike = [
            one.elapsed
            for one in rows
            if all(one.settings.get(key, 1 if key == "problem.split_k_slices" else None) == named[key] for key in named)
        ]
        if alike:
            return fastest / min(alike)
    return None


@dataclass(frozen=True, slots=True)
class Peers:
    """
    Another tool's configurations for the problems.

    Attributes:
        tool: The tool, its version and its options.
        named: Settings by problem, the best first.
    """

    tool: str
    named: dict[str, list[dict[str, Any]]]


def read_peers(path: Path) -> Peers:
    """
    Read another tool's configurations.

    Raises:
        BadInput: The file is missing, or not of this form.
    """
    try:
        return Peers(**json.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError) as error:
        raise BadInput(f"{path}: not what a tool names for the problems ({error})") from error


def judge_all(problems: Sequence[MeasuredProblem], jobs: int | None, peers: Peers, say: Say) -> list[Judged]:
    """Judge every problem, and call ``say`` with each result."""
    found = []
    for measured in problems:
        one = judged(measured, jobs, peers.named.get(measured.name, ()))
        say(f"{one.name}: first pick {100 * one.first:.1f} %, best of {MEASURED_BEST} {100 * one.best_of:.1f} %")
        found.append(one)
    return found


def page(found: Sequence[Judged], measured: MeasuredProblem, tool: str, commit: str | None) -> str:
    """
    Return the page ``reports/tune.md``.

    Args:
        found: The problems, in order.
        measured: One of them, for the GPU and the tools.
        tool: The other tool.
        commit: Commit of the simulator.
    """
    head = (
        "problem",
        "set",
        "first pick",
        "share",
        f"best of {MEASURED_BEST}",
        "fastest",
        "cycles",
        "error",
        "other tool",
    )
    environment = measured.environment
    how = (
        f"{len(found)} problems, each with a stated set of kernel configurations, all of them measured on an"
        f" {environment['gpu']} (driver {environment['driver']}, CUDA {environment['cuda_driver']},"
        f" {measured.compiler})."
        " Cycles are the median of three launches with caches flushed, `sm__cycles_elapsed.max`. The simulator ranks"
        " the same set as `gpusim tune` does: default mode, compiled streams. A share is that of the best measured"
        " speed; error is the mean of |simulated / measured - 1|."
    )
    other = (
        f"The other tool is {tool}. It names tiles, splits of K and stages, and runs nothing. Its share is that of the"
        " fastest measured configuration with the tile and the split that it names first, of those in the set."
    )
    lines = (
        *("# What `gpusim tune` picks, beside what is fastest", "", how, ""),
        *(_summary("First pick", [one.first for one in found]), ""),
        *(_summary(f"Best of {MEASURED_BEST} measured", [one.best_of for one in found]), ""),
        *(_summary("Other tool's first", [one.peer for one in found if one.peer is not None]), ""),
        f"| {' | '.join(head)} |",
        "|---|---:|---|---:|---:|---|---:|---:|---:|",
        *(_row(one) for one in found),
        *("", other, ""),
        "`reports/measured/h200/tune` has every figure. `python -m gpusim.lab.tune_check judge` writes this page;",
        f"the simulator was at {commit}.",
    )
    return "\n".join(lines) + "\n"


def _summary(what: str, shares: Sequence[float]) -> str:
    if not shares:
        return f"{what}: none."
    mean = sum(shares) / len(shares)
    return f"{what}: {_percent(mean)} of the best speed in the mean, {_percent(min(shares))} at worst."


def _row(one: Judged) -> str:
    peer = "" if one.peer is None else _percent(one.peer)
    cells = (one.name, str(one.configurations), one.pick, _percent(one.first), _percent(one.best_of), one.best)
    return f"| {' | '.join((*cells, f'{one.cycles:,.0f}', _percent(one.error), peer))} |"


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"
