"""Compares answers about kernels of the user's own: keys that differ, every figure, and the cause of the difference."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from gpusim.errors import BadInput
from gpusim.results.kernel_result import SELECTED_REASON, KernelResult
from gpusim.results.plain import plain
from gpusim.results.stall_words import STALL_WORDS
from gpusim.verbs.compare import Difference, Metric, differences_of, flattened

MOST_CAUSES: Final = 3
"""Stall reasons that are named as causes."""

LEAST_CAUSE: Final = 0.05
"""Least share of the change in warp cycles with which a stall reason is a cause."""

COMPARED_COUNTS: Final = (
    ("wavefronts in shared memory", "wavefronts"),
    ("wavefronts without bank conflicts", "ideal_wavefronts"),
    ("sectors of global memory", "sectors"),
    ("sectors without unused bytes", "ideal_sectors"),
)
"""Totals over the instructions, and their names in ``KernelRow``."""


@dataclass(frozen=True, slots=True)
class KernelComparison:
    """
    A comparison of launches.

    Attributes:
        names: Name of each side.
        results: Their answers.
        differences: Keys in which the scenarios differ.
        metrics: Every figure of all sides.
        causes: Sentences on each side after the first: its time beside the first one's, and what changed.
    """

    names: tuple[str, ...]
    results: tuple[KernelResult, ...]
    differences: tuple[Difference, ...]
    metrics: tuple[Metric, ...]
    causes: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return the comparison as plain data, as ``gpusim compare --json`` prints it."""
        return {
            "sides": [
                {"name": name, "kind": "kernel", "result": one.to_dict()}
                for name, one in zip(self.names, self.results, strict=True)
            ],
            "differences": plain(self.differences),
            "metrics": [plain(one) | {"ratios": list(one.ratios)} for one in self.metrics],
            "causes": list(self.causes),
        }


def compare_kernels(names: Sequence[str], results: Sequence[KernelResult]) -> KernelComparison:
    """
    Compare two or more answers with the first one.

    Raises:
        BadInput: There are fewer than two.
    """
    if len(results) < 2:
        raise BadInput(f"a comparison needs two sides or more, got {len(results)}")
    first, *others = results
    causes = [
        sentence
        for name, other in zip(names[1:], others, strict=True)
        for sentence in _causes(names[0], first, name, other)
    ]
    differences = tuple(differences_of([flattened(one.scenario) for one in results]))
    return KernelComparison(tuple(names), tuple(results), differences, tuple(_metrics(results)), tuple(causes))


def _metrics(results: Sequence[KernelResult]) -> Iterator[Metric]:
    def metric(name: str, unit: str, values: Sequence[float]) -> Metric:
        return Metric(name, unit, tuple(values))

    yield metric("cycles", "", [one.cycles.elapsed for one in results])
    yield metric("cycles active", "", [one.cycles.active for one in results])
    yield metric("time", "us", [one.time_us for one in results])
    yield metric("CTAs", "", [one.ctas for one in results])
    yield metric("CTAs per SM", "", [one.ctas_per_sm for one in results])
    yield metric("waves", "", [one.waves for one in results])
    yield metric("registers per thread", "", [one.registers_per_thread for one in results])
    yield metric("shared memory per CTA", "bytes", [one.shared_bytes for one in results])
    yield metric("warp instructions", "", [one.warp_instructions for one in results])
    for name, count in COMPARED_COUNTS:
        yield metric(name, "", [one.total(count) for one in results])
    yield metric("DRAM read", "bytes", [one.dram_read_bytes for one in results])
    yield metric("DRAM written", "bytes", [one.dram_written_bytes for one in results])
    yield metric("L2 sectors", "", [one.l2_sectors for one in results])
    yield metric("warp cycles", "", [one.warp_cycles for one in results])
    for reason in dict.fromkeys(reason for one in results for reason in one.stalls):
        yield metric(f"warp cycles {reason}", "", [one.stalls.get(reason, 0) for one in results])


def _causes(name: str, first: KernelResult, other_name: str, other: KernelResult) -> Iterator[str]:
    ratio = other.cycles.elapsed / first.cycles.elapsed
    yield (
        f"{other_name} takes {ratio:.3f} times the cycles of {name}, {other.cycles.elapsed:,} for"
        f" {first.cycles.elapsed:,}"
    )
    change = other.warp_cycles - first.warp_cycles
    deltas = {
        reason: other.stalls.get(reason, 0) - first.stalls.get(reason, 0) for reason in {**first.stalls, **other.stalls}
    }
    ranked = sorted(deltas.items(), key=lambda one: (-abs(one[1]), one[0]))
    shown = [(reason, delta) for reason, delta in ranked if change and delta / change >= LEAST_CAUSE][:MOST_CAUSES]
    if shown:
        listed = ", ".join(f"{reason} {delta:+,}" for reason, delta in shown)
        yield f"  warp cycles {change:+,}: {listed}"
        reason, delta = shown[0]
        if reason != SELECTED_REASON:
            yield _place(*((other_name, other) if delta > 0 else (name, first)), reason)
    for title, count in (*COMPARED_COUNTS, ("warp instructions", "issues")):
        before, after = first.total(count), other.total(count)
        if before != after and not count.startswith("ideal"):
            yield f"  {title}: {after:,} for {before:,}"
    if first.ctas_per_sm != other.ctas_per_sm:
        yield f"  CTAs per SM: {other.ctas_per_sm} for {first.ctas_per_sm}"


def _place(name: str, result: KernelResult, reason: str) -> str:
    """Return the instruction behind a stall reason, in a sentence."""
    row = max(result.rows, key=lambda row: row.stalls.get(reason, 0))
    share = row.stalls.get(reason, 0) / result.stalls[reason]
    words = STALL_WORDS[reason].waits_for or reason
    return f"  {words}: {100 * share:.0f} % of it in {name} before {row.address:#06x} {row.text}"
