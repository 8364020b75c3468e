"""Simulates one SM of each kind, and extrapolates to its further CTAs and to the other SMs."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from gpusim.machine.spec import Machine
from gpusim.sim.l2 import SampledL2
from gpusim.sim.sm import Sm
from gpusim.sim.stall_reasons import REASONS

CTAS_SIMULATED_PER_SM = 24
"""
Largest number of CTAs simulated on an SM.

Each further CTA takes the mean interval between the ends of CTAs in the later half of the simulated ones (D22).
"""


@dataclass(frozen=True, slots=True)
class SampledKind:
    """
    SMs that are assumed to behave alike (D14).

    Attributes:
        queue: CTAs of the SM that is simulated for all of them.
        count: Number of SMs of this kind.
        share: Number of SMs that its requests represent at the chip's L2 and DRAM.
    """

    queue: Sequence[int]
    count: int
    share: int


@dataclass(frozen=True, slots=True)
class SampledSms:
    """
    The simulated SMs, and totals over all SMs that they represent.

    Attributes:
        stands_for: Number of SMs that each simulated SM represents, in the order of the kinds.
        active: Mean active span of all SMs that have work, cycles.
        longest: Longest active span, cycles.
        l2_sectors: Sectors that all represented SMs read from L2.
    """

    stands_for: dict[Sm, int]
    active: int
    longest: int
    l2_sectors: int


def share_of(working: int, ctas: int, of_sm: int) -> int:
    """
    Return the number of SMs that one SM's requests represent at the chip's L2 and DRAM.

    An SM with more CTAs than others represents fewer SMs, because the chip serves the requests of all CTAs.

    Args:
        working: Number of SMs that have a CTA.
        ctas: CTAs of the grid.
        of_sm: CTAs of this SM.
    """
    return max(1, min(working, ctas // of_sm))


def sample(
    machine: Machine,
    kinds: Sequence[SampledKind],
    slots: int,
    run: Callable[[SampledL2, Sequence[int]], Sm],
    progress: Callable[[str], None],
) -> SampledSms:
    """
    Simulate one SM of each kind.

    Args:
        machine: The machine.
        kinds: Kinds of all SMs that have work.
        slots: Number of CTAs that an SM holds.
        run: Simulates one SM on the given L2 until a queue of CTAs is done.
        progress: Called with a line about each kind.
    """
    stands_for: dict[Sm, int] = {}
    spans: list[int] = []
    l2_sectors = 0
    for kind in kinds:
        mine = kind.queue[:CTAS_SIMULATED_PER_SM]
        progress(f"simulating {len(mine)} of {len(kind.queue)} CTAs of one SM for {kind.count} like it")
        l2 = SampledL2(machine, kind.share)
        sm = run(l2, mine)
        stands_for[sm] = kind.count
        spans.append(sm.span + _steady_rate(sm, slots) * (len(kind.queue) - len(mine)))
        l2_sectors += l2.sectors_read * kind.count
    total = sum(span * kind.count for span, kind in zip(spans, kinds, strict=True))
    return SampledSms(stands_for, total // sum(kind.count for kind in kinds), max(spans), l2_sectors)


def stall_cycles(stands_for: Mapping[Sm, int]) -> dict[str, int]:
    """Return warp cycles by stall reason, over all represented SMs; reasons without cycles are left out."""
    totals = [sum(sm.stalls[reason] * count for sm, count in stands_for.items()) for reason in range(len(REASONS))]
    return {reason: cycles for reason, cycles in zip(REASONS, totals, strict=True) if cycles}


def _steady_rate(sm: Sm, slots: int) -> int:
    """Return the mean cycles between the ends of CTAs on a full SM, over the later half of those simulated."""
    ends = [life.finished for life in sm.lives]
    half = max(slots, len(ends) // 2)
    if len(ends) <= half:
        return 0
    return (ends[-1] - ends[half - 1]) // (len(ends) - half)
