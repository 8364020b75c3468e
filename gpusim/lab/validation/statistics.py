"""Means, percentiles and worst cases of errors over many kernels. It knows only the kernels' names."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from math import ceil
from typing import Final

import numpy as np

from gpusim.lab.validation.observe import CYCLES, FigurePair, Observation

LEAST_SHARE: Final = 0.01
"""A stall reason counts for a kernel if its measured or simulated share is at least this."""

NOT_A_STALL: Final = "selected"
"""The share of warp cycles in which the warp issues; it is not a stall reason."""


@dataclass(frozen=True, slots=True)
class ErrorSummary:
    """
    The errors of one figure over some kernels. An error is (simulated - measured) / measured.

    Attributes:
        kernels: Number of kernels.
        mean: Mean of absolute errors.
        median: Median of absolute errors.
        p90: 90th percentile of absolute errors, linearly interpolated.
        worst: Signed error of greatest magnitude.
        worst_name: Name of its kernel.
        signed: Mean of signed errors.
    """

    kernels: int
    mean: float
    median: float
    p90: float
    worst: float
    worst_name: str
    signed: float

    def unnamed(self) -> "ErrorSummary":
        """Return the same errors without the name of the worst kernel."""
        return replace(self, worst_name="")


def summarise(errors: Mapping[str, float]) -> ErrorSummary:
    """
    Summarise errors, given by the kernel's name.

    Raises:
        ValueError: There are no errors.
    """
    absolute = np.abs(np.array(list(errors.values())))
    worst = max(errors, key=lambda name: abs(errors[name]))
    return ErrorSummary(
        kernels=len(errors),
        mean=float(absolute.mean()),
        median=float(np.median(absolute)),
        p90=float(np.percentile(absolute, 90)),
        worst=errors[worst],
        worst_name=worst,
        signed=float(np.mean(list(errors.values()))),
    )


def summary_of(observations: Iterable[Observation], figure: str) -> ErrorSummary | None:
    """Summarise the errors of a figure over the kernels that have it; None if none has."""
    errors = {one.name: one.figures[figure].error for one in observations if figure in one.figures}
    return summarise(errors) if errors else None


def grouped(observations: Iterable[Observation], by: str) -> dict[str, list[Observation]]:
    """Return the kernels by their group in one table, groups in alphabetical order."""
    groups: defaultdict[str, list[Observation]] = defaultdict(list)
    for one in observations:
        groups[one.groups[by]].append(one)
    return dict(sorted(groups.items()))


@dataclass(frozen=True, slots=True)
class StallSummary:
    """
    Stall reasons over some kernels.

    Attributes:
        kernels: Number of kernels that have stalls.
        points: Mean absolute difference of a reason's share, in points of a hundred, over all reasons of all kernels
            whose measured or simulated share is at least ``LEAST_SHARE``.
        largest_right: Share of kernels whose largest reason is the same measured and simulated.
        reasons: By reason: mean measured share, mean simulated share, mean absolute difference; over all kernels.
    """

    kernels: int
    points: float
    largest_right: float
    reasons: Mapping[str, tuple[float, float, float]]


def stall_summary(observations: Iterable[Observation]) -> StallSummary | None:
    """Summarise the stalls of the kernels that have some; None if none has."""
    having = [one.stalls for one in observations if one.stalls]
    if not having:
        return None
    differences = [
        abs(both.simulated - both.measured) for stalls in having for both in stalls.values() if max(both) >= LEAST_SHARE
    ]
    right = [_largest(stalls, 0) == _largest(stalls, 1) for stalls in having]
    reasons = {}
    for reason in sorted({reason for stalls in having for reason in stalls}):
        shares = [stalls.get(reason, FigurePair(0.0, 0.0)) for stalls in having]
        if max(max(both) for both in shares) >= LEAST_SHARE:
            measured, simulated = (float(np.mean([both[side] for both in shares])) for side in (0, 1))
            reasons[reason] = (measured, simulated, float(np.mean([abs(one - other) for one, other in shares])))
    return StallSummary(len(having), 100 * float(np.mean(differences)), float(np.mean(right)), reasons)


def _largest(stalls: Mapping[str, FigurePair], side: int) -> str:
    return max((reason for reason in stalls if reason != NOT_A_STALL), key=lambda reason: stalls[reason][side])


@dataclass(frozen=True, slots=True)
class KTile:
    """
    The steady k tile of one kernel: the difference of two launches that differ only in the length of their sums.

    Attributes:
        names: The two records, the shorter sum first.
        stream: Origin of the stream.
        tiles: Difference in k tiles of a CTA, times the rounds of CTAs on an SM.
        figures: Cycles of one k tile, from elapsed and from active cycles.
    """

    names: tuple[str, str]
    stream: str
    tiles: int
    figures: Mapping[str, FigurePair]


def k_tile_pairs(observations: Iterable[Observation]) -> tuple[KTile, ...]:
    """
    Return the steady k tile of every two kernels that are neighbours in the length of the sum and equal otherwise.

    A pair is left out if its measured difference is not positive.
    """
    families: defaultdict[tuple[str, str], list[Observation]] = defaultdict(list)
    for one in observations:
        if one.alike:
            families[one.alike, one.stream].append(one)
    pairs = []
    for family in families.values():
        ordered = sorted(family, key=lambda one: one.k_tiles)
        pairs += [_pair(*both) for both in pairwise(ordered) if _differ(*both)]
    return tuple(sorted(pairs, key=lambda pair: (pair.names, pair.stream)))


def _differ(less: Observation, more: Observation) -> bool:
    both = [one.figures for one in (less, more)]
    known = all(figure in figures for figures in both for figure in CYCLES)
    return (
        less.k_tiles < more.k_tiles
        and known
        and all(both[0][name].measured < both[1][name].measured for name in CYCLES)
    )


def _pair(less: Observation, more: Observation) -> KTile:
    tiles = (more.k_tiles - less.k_tiles) * ceil(less.waves)
    figures = {
        name: FigurePair(
            *((after - before) / tiles for before, after in zip(less.figures[name], more.figures[name], strict=True))
        )
        for name in CYCLES
    }
    return KTile((less.name, more.name), less.stream, tiles, figures)


def best_of_each(observations: Sequence[Observation], problem_of: Mapping[str, str]) -> list[float]:
    """
    Return how much slower the predicted best kernel is than the true best, for each problem with several kernels.

    Args:
        observations: Kernels of one stream.
        problem_of: Problem by name of the kernel.
    """
    problems: defaultdict[str, list[FigurePair]] = defaultdict(list)
    for one in observations:
        if "elapsed" in one.figures:
            problems[problem_of[one.name]].append(one.figures["elapsed"])
    return [
        min(kernels, key=lambda both: both.simulated).measured / min(both.measured for both in kernels) - 1
        for kernels in problems.values()
        if len(kernels) > 1
    ]
