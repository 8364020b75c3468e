"""Compares the answer about a kernel of the user's own with its entry in a baseline."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from gpusim.errors import BadInput
from gpusim.results.kernel_result import KernelResult
from gpusim.scenario.text import shown
from gpusim.verbs.performance.baseline import LAUNCH_KEYS, PerfBaseline, PerfEntry
from gpusim.verbs.performance.metrics import PERF_METRICS, metrics_of

PerfVerdict: TypeAlias = Literal["beyond", "worse", "better", "equal"]
"""Beyond the threshold, worse within it, better, or equal."""


@dataclass(frozen=True, slots=True)
class PerfChange:
    """
    A metric beside its baseline.

    Attributes:
        metric: Its name in ``PERF_METRICS``.
        before, now: Its value in the baseline, and today's.
        threshold: Percent by which it may be worse; infinity if it is not judged.
    """

    metric: str
    before: int
    now: int
    threshold: float

    @property
    def percent(self) -> float:
        """Change in percent of the baseline; infinity if the baseline is 0 and today's value is not."""
        if self.before == self.now:
            return 0.0
        return 100 * (self.now - self.before) / self.before if self.before else math.inf

    @property
    def verdict(self) -> PerfVerdict:
        """Whether the metric is worse, and whether its threshold allows that."""
        loss = self.percent if PERF_METRICS[self.metric].worse == "more" else -self.percent
        if loss > self.threshold:
            return "beyond"
        return "equal" if not loss else "worse" if loss > 0 else "better"

    def to_dict(self) -> dict[str, Any]:
        """Return the change as plain data; what is infinite is None."""
        return {
            "metric": self.metric,
            "baseline": self.before,
            "now": self.now,
            "change_percent": _finite(self.percent),
            "threshold_percent": _finite(self.threshold),
            "verdict": self.verdict,
        }


@dataclass(frozen=True, slots=True)
class PerfAnswer:
    """
    A kernel beside its baseline.

    Attributes:
        name: Its name in the baseline.
        changes: Every metric; empty if there is an error.
        reasons: Sentences on the cause of metrics beyond their thresholds.
        notes: Sentences on differences from the baseline that are none of the kernel's code.
        trust: The error of its cycles as measured on silicon, in words, with the machine.
        error: Why the kernel could not be compiled or run; empty if it could.
        exit_code: Exit code of that error.
    """

    name: str
    changes: tuple[PerfChange, ...] = ()
    reasons: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    trust: str = ""
    error: str = ""
    exit_code: int = 0

    @property
    def is_beyond(self) -> bool:
        """Whether a metric is worse than its threshold allows."""
        return any(one.verdict == "beyond" for one in self.changes)

    def to_dict(self) -> dict[str, Any]:
        """Return the answer as plain data, as ``gpusim check-perf --json`` prints it."""
        if self.error:
            return {"kernel": self.name, "error": self.error, "exit_code": self.exit_code}
        return {
            "kernel": self.name,
            "beyond": self.is_beyond,
            "metrics": [one.to_dict() for one in self.changes],
            "reasons": list(self.reasons),
            "notes": list(self.notes),
            "trust": self.trust,
        }


def compared(
    entry: PerfEntry, today: PerfEntry, result: KernelResult, baseline: PerfBaseline, given: Mapping[str, float]
) -> PerfAnswer:
    """
    Compare an answer with its entry.

    Args:
        entry: The kernel in the baseline.
        today: The entry that the answer would make.
        result: The answer.
        baseline: The baseline, for its thresholds.
        given: Thresholds in percent that count before the baseline's.

    Raises:
        BadInput: The answer is of another machine.
    """
    if entry.machine != today.machine:
        raise BadInput(
            f"{entry.name}: the baseline is of {entry.machine}, not of {today.machine}; --write-baseline writes one"
        )
    changes = tuple(
        PerfChange(name, entry.metrics[name], now, baseline.threshold(entry, name, given))
        for name, now in metrics_of(result).items()
    )
    beyond = {one.metric: one for one in changes if one.verdict == "beyond"}
    return PerfAnswer(
        entry.name,
        changes,
        tuple(_reasons(beyond, result)),
        tuple(_notes(entry, today)),
        f"{result.machine['name']}: {result.validation}",
    )


def _reasons(beyond: Mapping[str, PerfChange], result: KernelResult) -> Iterator[str]:
    if "ctas_per_sm" in beyond:
        sizes = {
            "registers": f" ({result.registers_per_thread} per thread)",
            "shared_memory": f" ({result.shared_bytes:,} bytes per CTA)",
        }
        limit = f"{result.limiter.replace('_', ' ')}{sizes.get(result.limiter, '')}"
        yield f"CTAs per SM: {result.ctas_per_sm}, {beyond['ctas_per_sm'].before} in the baseline, limited by {limit}"
    if "conflicts" in beyond and result.conflicts:
        yield result.conflicts[0].words
    if "cycles" in beyond and result.rows:
        row = max(result.rows, key=lambda row: row.stalled)
        place = f" ({row.source})" if row.source else ""
        share = 100 * row.stalled / result.warp_cycles
        yield f"warps are stalled most before {row.address:#06x} {row.text}{place}, {share:.0f} % of their cycles"


def _notes(entry: PerfEntry, today: PerfEntry) -> Iterator[str]:
    for key in LAUNCH_KEYS:
        before, now = entry.launch.get(key), today.launch.get(key)
        if before != now:
            yield f"{key} is {shown(now)}, and {shown(before)} in the baseline"
    if entry.compiler != today.compiler:
        yield f"compiled by {today.compiler or 'no compiler'}, the baseline by {entry.compiler or 'none'}"
    if entry.version != today.version:
        yield f"the baseline is of gpusim {entry.version}, this is {today.version}: its model may have moved cycles"
    elif entry.figures != today.figures:
        yield f"the figures of {entry.machine} are not those of the baseline, and may have moved cycles"


def _finite(value: float) -> float | None:
    return round(value, 3) if math.isfinite(value) else None
