"""Simulates one SM of each kind, and extrapolates to its further CTAs and to the other SMs."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from gpusim.sim.run import Ran

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
        stands_for: Each simulated SM with the number of SMs that it represents, in the order of the kinds.
        active: Mean active span of all SMs that have work, cycles.
        longest: Longest active span, cycles.
        l2_sectors: Sectors that all represented SMs read from L2.
    """

    stands_for: list[tuple[Ran, int]]
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
    kinds: Sequence[SampledKind],
    slots: int,
    run: Callable[[Sequence[int], int], Ran],
    progress: Callable[[str], None],
) -> SampledSms:
    """
    Simulate one SM of each kind.

    Args:
        kinds: Kinds of all SMs that have work.
        slots: Number of CTAs that an SM holds.
        run: Simulates one SM until a queue of CTAs is done, its requests standing for those of some SMs.
        progress: Called with a line about each kind.
    """
    stands_for: list[tuple[Ran, int]] = []
    spans: list[int] = []
    l2_sectors = 0
    for kind in kinds:
        mine = kind.queue[:CTAS_SIMULATED_PER_SM]
        progress(f"simulating {len(mine)} of {len(kind.queue)} CTAs of one SM for {kind.count} like it")
        ran = run(mine, kind.share)
        stands_for.append((ran, kind.count))
        spans.append(ran.spans()[0] + _steady_rate(ran, slots) * (len(kind.queue) - len(mine)))
        l2_sectors += ran.l2_sectors * kind.count
    total = sum(span * kind.count for span, kind in zip(spans, kinds, strict=True))
    return SampledSms(stands_for, total // sum(kind.count for kind in kinds), max(spans), l2_sectors)


def _steady_rate(ran: Ran, slots: int) -> int:
    """Return the mean cycles between the ends of CTAs on a full SM, over the later half of those simulated."""
    ends = [life.finished for life in ran.lives]
    half = max(slots, len(ends) // 2)
    if len(ends) <= half:
        return 0
    return (ends[-1] - ends[half - 1]) // (len(ends) - half)
