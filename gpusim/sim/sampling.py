"""One SM stands for all of its kind: how many of its CTAs are simulated, and what the others are charged."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from gpusim.machine.spec import Machine
from gpusim.sim.l2 import SampledL2
from gpusim.sim.sm import Sm
from gpusim.sim.stall_reasons import REASONS

CTAS_SIMULATED_PER_SM = 24
"""Beyond these, an SM's further CTAs are charged the steady rate of the later half of the simulated ones (D22)."""


@dataclass(frozen=True, slots=True)
class SampledKind:
    """
    SMs that are taken to behave alike (D14).

    Attributes:
        queue: CTAs of the one that is simulated.
        count: How many SMs there are.
        share: For how many SMs its requests count at the chip's L2 and DRAM.
    """

    queue: Sequence[int]
    count: int
    share: int


@dataclass(frozen=True, slots=True)
class SampledSms:
    """
    What the simulated SMs did.

    Attributes:
        stands_for: SM -> how many it stands for, in the order of the kinds.
        active: Mean active span of all SMs that have work.
        longest: Longest active span.
        l2_sectors: Sectors that all of them read from L2.
    """

    stands_for: dict[Sm, int]
    active: int
    longest: int
    l2_sectors: int


def share_of(working: int, ctas: int, of_sm: int) -> int:
    """
    For how many SMs one counts that runs ``of_sm`` of the grid's ``ctas``, where ``working`` have any.

    An SM with more CTAs than others asks for more than its share: the chip moves what all CTAs ask for.
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
        kinds: Of every SM that has work.
        slots: CTAs an SM holds.
        run: Simulates an SM with an L2 of its own until a queue of CTAs is done.
        progress: Called with a line about what is being done.
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
    """Reason -> warp cycles, each simulated SM counted as often as it stands for others; without those that are 0."""
    totals = [sum(sm.stalls[reason] * count for sm, count in stands_for.items()) for reason in range(len(REASONS))]
    return {reason: cycles for reason, cycles in zip(REASONS, totals, strict=True) if cycles}


def _steady_rate(sm: Sm, slots: int) -> int:
    """Cycles between two CTAs' ends on a full SM, over the later half of those simulated."""
    ends = [life.finished for life in sm.lives]
    half = max(slots, len(ends) // 2)
    if len(ends) <= half:
        return 0
    return (ends[-1] - ends[half - 1]) // (len(ends) - half)
