"""Chooses the CTAs of a sampled run: those of a smaller chip, in the grid's proportions."""

from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from itertools import pairwise

ELAPSED_ERROR_PERCENT = 2.0
"""
Expected error of a sampled launch's elapsed cycles, either way, if nothing is in doubt.

18 of the 19 such launches in reports/sampling_error.md are within it (95 %); the last one is 2.07 % off.
"""

DRAM_ERROR_PERCENT = 1.0
"""Expected error of the bytes read from DRAM, if they do not depend on how far CTAs drift apart."""

DOUBTFUL_ERROR_PERCENT = 25.0
"""Expected error of cycles or bytes that are in doubt."""

LEAST_SMS = 4
"""Fewest SMs that are simulated together. Requests of fewer SMs come in bursts that a whole chip does not show."""

LEAST_INSTRUCTIONS = 3_000_000
"""Budget of a sample in warp instructions (D22), which limits its SMs; the fewest possible SMs may exceed it."""

UNEVEN_INSTRUCTIONS = 12_000_000
"""Budget of a sample of CTAs with unequal work: which SM ends last then depends on many CTAs (D30)."""

WHOLE_AT_MOST = 400_000_000
"""Largest launch, in warp instructions, that is simulated whole because a sample is in doubt: 20 to 50 seconds."""

_LARGEST_PART = 4
"""Least ratio of the chip's SMs to the SMs of a sample whose CTAs are of equal work."""

_FEW_WAVES = 4
"""Number of waves below which left-over CTAs decide the time of a launch."""

_TOLERANCE_PERCENT = 2
"""Largest error of an SM's bandwidth, in per cent, that rounding ``share`` to an integer may cause."""


@dataclass(frozen=True, slots=True)
class Sample:
    """
    A smaller chip and its CTAs (D14).

    Attributes:
        sms: Number of SMs that are simulated together.
        share: Number of SMs that each of them represents at the L2 and DRAM.
        ctas: The CTAs, in launch order.
    """

    sms: int
    share: int
    ctas: tuple[int, ...]


def hangs_on_a_few(ctas: int, *, working: int, slots: int) -> bool:
    """
    Return whether left-over CTAs decide the time of a launch. No sample can tell how many of them each SM gets.

    Left-over CTAs follow the whole waves of a grid. They decide if they are at most a quarter of a wave, or if every SM
    could have one slot free: an SM whose CTAs end together takes as many as it has slots, and another SM takes none. In
    a grid of less than a wave, left-over CTAs follow the whole rounds of one CTA for each SM; they decide if at most
    half of the SMs have one.

    Args:
        ctas: CTAs of the grid.
        working: Number of SMs that have a CTA.
        slots: CTAs that are resident on an SM at once.
    """
    wave = slots * working
    few = max(wave // 4, (slots - 1) * working)
    beyond = wave < ctas < _FEW_WAVES * wave and 0 < ctas % wave <= few
    within = working < ctas < wave and 0 < ctas % working <= working // 2
    return beyond or within


def take_sample(
    kinds: Sequence[Hashable],
    *,
    working: int,
    slots: int,
    instructions: int,
    is_even: bool,
    first: Sequence[int] | None = None,
) -> Sample:
    """
    Choose the SMs and the CTAs of a sampled run.

    The grid is cut into rounds of one CTA for each SM. The sample takes from each round as many CTAs as it has SMs,
    spread evenly over the round and with each kind in proportion. It takes the same proportion of the last, incomplete
    round, so that the sample's SMs have left-over CTAs as often as the chip's.

    Args:
        kinds: Kind of every CTA of the grid, in launch order.
        working: Number of SMs that have a CTA.
        slots: CTAs that are resident on an SM at once.
        instructions: Warp instructions of the grid.
        is_even: Whether all CTAs are of equal work.
        first: First CTA of the chain that each CTA's epilogue waits for, or the CTA itself; a chain is taken as a
            whole. None if no CTA waits for another.
    """
    sms = _sms(len(kinds), working, slots, instructions, is_even=is_even)
    if first is None:
        chosen = _in_proportion(kinds, sms, working)
    else:
        alone = [cta for cta, one in enumerate(first) if cta == one]
        taken = {alone[place] for place in _in_proportion([kinds[cta] for cta in alone], sms, working)}
        chosen = [cta for cta, one in enumerate(first) if one in taken]
    return Sample(sms, _nearest(working, sms), tuple(chosen))


def _in_proportion(kinds: Sequence[Hashable], sms: int, working: int) -> list[int]:
    """Return the CTAs of each round that ``sms`` of the ``working`` SMs take."""
    ctas = len(kinds)
    seen: Counter[Hashable] = Counter()
    taken: Counter[Hashable] = Counter()
    chosen: list[int] = []
    for first in range(0, ctas, working):
        end = min(first + working, ctas)
        count = max(1, _nearest((end - first) * sms, working))
        bounds = [first + (end - first) * part // count for part in range(count + 1)]
        for begin, stop in pairwise(bounds):
            seen.update(kinds[begin:stop])
            middle = (begin + stop) // 2
            # Pick the CTA kind that is most under-represented so far, and of that kind the median CTA.
            cta = min(
                range(begin, stop),
                key=lambda one: (taken[kinds[one]] * working - seen[kinds[one]] * sms, abs(one - middle)),
            )
            taken[kinds[cta]] += 1
            chosen.append(cta)
    return chosen


def _sms(ctas: int, working: int, slots: int, instructions: int, *, is_even: bool) -> int:
    """Return the number of SMs to simulate."""
    left = ctas % working
    within = working // _LARGEST_PART if is_even else working
    budget = LEAST_INSTRUCTIONS if is_even else UNEVEN_INSTRUCTIONS
    fewest = min(LEAST_SMS, working)
    if left and slots * working < ctas < _FEW_WAVES * slots * working:
        # An SM whose CTAs end together takes as many left-over CTAs as it has slots.
        fewest = max(fewest, -(-min(left, slots) * working // left))
    most = max(fewest, min(within, budget * working // instructions))
    fit = [sms for sms in range(1, working + 1) if _fits(sms, working)]
    return max((sms for sms in fit if fewest <= sms <= most), default=next(sms for sms in fit if sms >= fewest))


def _fits(sms: int, working: int) -> bool:
    """Return whether the number of SMs that each simulated SM represents is close enough to an integer."""
    return abs(_nearest(working, sms) * sms - working) * 100 <= _TOLERANCE_PERCENT * working


def _nearest(numerator: int, denominator: int) -> int:
    return (2 * numerator + denominator) // (2 * denominator)
