"""Chooses the CTAs of a sampled run: those of a smaller chip, in the grid's proportions."""

from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from itertools import pairwise

ELAPSED_ERROR_PERCENT = 2.0
"""
Expected error of a sampled launch's elapsed cycles, either way, where nothing is in doubt.

Of the 19 such launches in reports/sampling_error.md 18 are within it, 95 %; the last one is 2.07 % off.
"""

DRAM_ERROR_PERCENT = 1.0
"""The same of the bytes that it reads from DRAM, where they do not hang on how far CTAs drift apart."""

DOUBTFUL_ERROR_PERCENT = 25.0
"""The same of cycles, or of bytes, that a sample cannot tell."""

LEAST_SMS = 4
"""Fewest SMs that are simulated together: the requests of fewer come in bursts that a chip's do not."""

LEAST_INSTRUCTIONS = 3_000_000
"""Warp instructions that a sample takes where more SMs would take more (D22); the fewest SMs may take any number."""

UNEVEN_INSTRUCTIONS = 12_000_000
"""The same where CTAs are of unequal work: which SM ends last then depends on many (D30)."""

WHOLE_AT_MOST = 400_000_000
"""Warp instructions up to which a launch that cannot be sampled well is simulated whole: 20 to 50 seconds' work."""

_LARGEST_PART = 4
"""The SMs of a chip are at least so many times those of a sample whose CTAs are of equal work."""

_FEW_WAVES = 4
"""Waves up to which left-over CTAs decide what the launch takes."""

_TOLERANCE_PERCENT = 2
"""Part of an SM's bandwidth by which the integer ``share`` may be wrong."""


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
    Return whether left-over CTAs decide what a launch takes: which SM gets how many of them, no sample knows.

    They are those beyond the whole waves, where they are a quarter of one or fewer, or leave room for one on each SM:
    an SM whose CTAs end together takes as many as it has room for, and another one none. Or, of a grid below a wave,
    those that at most half of the SMs have beyond as many as all have.

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

    The grid is cut into rounds of one CTA for each SM. Each round gives as many CTAs as there are simulated SMs, spread
    evenly over the round, CTAs of each kind in proportion. The last round gives its part, so that the SMs of the sample
    have left-over CTAs as often as those of the chip.

    Args:
        kinds: Kind of every CTA of the grid, in launch order.
        working: Number of SMs that have a CTA.
        slots: CTAs that are resident on an SM at once.
        instructions: Warp instructions of the grid.
        is_even: Whether all CTAs are of equal work.
        first: The CTA that each CTA's epilogue waits for, directly or not, or itself; those that wait for a CTA are
            taken with it. None where no CTA waits for another.
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
    """Return the CTAs that some SMs of those working take of each round."""
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
            # In proportion: the kind of which most are missing, and of its CTAs the one in the middle.
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
        # Left-over CTAs go to an SM whose CTAs end together, as many as it has room for.
        fewest = max(fewest, -(-min(left, slots) * working // left))
    most = max(fewest, min(within, budget * working // instructions))
    fit = [sms for sms in range(1, working + 1) if _fits(sms, working)]
    return max((sms for sms in fit if fewest <= sms <= most), default=next(sms for sms in fit if sms >= fewest))


def _fits(sms: int, working: int) -> bool:
    """Return whether the SMs that each represents are near enough to a whole number."""
    return abs(_nearest(working, sms) * sms - working) * 100 <= _TOLERANCE_PERCENT * working


def _nearest(numerator: int, denominator: int) -> int:
    return (2 * numerator + denominator) // (2 * denominator)
