"""Explains the time of a kernel of the user's own: what warps wait for and where, and which accesses cost more."""

from dataclasses import dataclass
from typing import Any, Final

from gpusim.report.own.tables import kernel_verdict, stall_shares
from gpusim.report.stall_shares import percent
from gpusim.report.tables import counted
from gpusim.results.kernel_result import ConflictNote, KernelResult, KernelRow
from gpusim.results.plain import plain
from gpusim.results.stall_words import STALL_WORDS

LEAST_WAIT: Final = 0.05
"""Least share of warp cycles with which a stall reason is explained."""

MOST_PLACES: Final = 3
"""Instructions that are named for a stall reason."""


@dataclass(frozen=True, slots=True)
class ExplainedWait:
    """
    A stall reason that takes a large part of warps' cycles.

    Attributes:
        reason: Its name in ncu.
        cycles, share: Warp cycles, and their share of all.
        waits_for, helps: What warps wait for, and the usual remedy.
        places: The instructions before which warps are stalled so, the most cycles first.
    """

    reason: str
    cycles: int
    share: float
    waits_for: str
    helps: str
    places: tuple[KernelRow, ...]


@dataclass(frozen=True, slots=True)
class KernelExplanation:
    """
    What a kernel's time goes into.

    Attributes:
        verdict: Its time, and what its warps wait for most.
        waits: The stall reasons that matter, the largest first.
        conflicting: Instructions with more wavefronts than without bank conflicts, the most of them first.
        scattered: Instructions with more sectors than their bytes need, the most of them first.
        conflicts: Worst access of each of them, and what would free it.
        findings: Races and unwritten reads of shared memory.
        sentences: All of it in words.
    """

    verdict: str
    waits: tuple[ExplainedWait, ...]
    conflicting: tuple[KernelRow, ...]
    scattered: tuple[KernelRow, ...]
    conflicts: tuple[ConflictNote, ...]
    findings: tuple[str, ...]
    sentences: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return the explanation as plain data."""
        found: dict[str, Any] = plain(self)
        return found


def explain_kernel(result: KernelResult) -> KernelExplanation:
    """Explain the answer about a kernel of the user's own."""
    waits = tuple(_waits(result))
    conflicting = _sorted(result, lambda row: row.wavefronts - row.ideal_wavefronts)
    scattered = _sorted(result, lambda row: row.sectors - row.ideal_sectors)
    sentences = [
        *map(_wait_sentence, waits),
        *_fill_sentences(result),
        *(_access_sentence(row, row.wavefronts, row.ideal_wavefronts, "wavefronts") for row in conflicting),
        *(f"{one.words}." for one in result.conflicts),
        *(_access_sentence(row, row.sectors, row.ideal_sectors, "sectors") for row in scattered),
    ]
    if scattered:
        sentences.append("Sectors are fewest if neighbouring lanes access neighbouring elements.")
    sentences += result.findings
    return KernelExplanation(
        verdict=kernel_verdict(result),
        waits=waits,
        conflicting=conflicting,
        scattered=scattered,
        conflicts=result.conflicts,
        findings=result.findings,
        sentences=tuple(sentences),
    )


def place_of(row: KernelRow) -> str:
    """Return an instruction with its address, and its source line if that is known."""
    return f"{row.address:#06x} {row.text}{f' ({row.source})' if row.source else ''}"


def _waits(result: KernelResult) -> list[ExplainedWait]:
    found = []
    for reason, share in stall_shares(result):
        words = STALL_WORDS[reason]
        if share < LEAST_WAIT or not words.waits_for:
            continue
        at = sorted((row for row in result.rows if row.stalls.get(reason)), key=lambda row: -row.stalls[reason])
        found.append(
            ExplainedWait(reason, result.stalls[reason], share, words.waits_for, words.helps, tuple(at[:MOST_PLACES]))
        )
    return found


def _sorted(result: KernelResult, excess: Any) -> tuple[KernelRow, ...]:
    return tuple(sorted((row for row in result.rows if excess(row) > 0), key=lambda row: (-excess(row), row.address)))


def _wait_sentence(wait: ExplainedWait) -> str:
    first = wait.places[0]
    share, of = percent(wait.share), 100 * first.stalls[wait.reason] / wait.cycles
    return (
        f"{wait.reason}: warps wait {share} of their cycles for {wait.waits_for}, {of:.0f} % of that before"
        f" {place_of(first)}. Helps: {wait.helps}."
    )


def _fill_sentences(result: KernelResult) -> list[str]:
    limiter = result.limiter.replace("_", " ")
    found = [f"Occupancy: an SM holds {counted(result.ctas_per_sm, 'CTA')}, limited by {limiter}."]
    rest = result.waves % 1
    if result.waves > 1 and rest:
        found.append(f"Waves: the last of {result.waves:,.2f} fills {100 * rest:.0f} % of the SMs' places.")
    elif result.waves < 1:
        found.append(f"Waves: {result.waves:,.2f}, so that CTAs take {result.sms} SMs and leave places free.")
    return found


def _access_sentence(row: KernelRow, count: int, ideal: int, unit: str) -> str:
    apart = f"; neighbouring lanes are {row.lane_stride:,} bytes apart" if row.lane_stride is not None else ""
    times = f"{count / ideal:.1f} times as many as needed" if ideal else "none of them needed"
    return f"{place_of(row)}: {count:,} {unit}, {times}{apart}."
