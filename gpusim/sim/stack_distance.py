"""Finds in closed form the fetches that miss an LRU cache, if no two fetches of a wave of CTAs share data."""

from collections.abc import Sequence
from functools import cache

import numpy as np

from gpusim.arrays import BoolArray, IntArray


def missed_fetches(waves: Sequence[Sequence[int]], sizes: IntArray, capacity: int, stored: int) -> list[BoolArray]:
    """
    Return the fetches of each wave of CTAs that miss.

    A stream is a sequence of fetches, one for each turn. A wave walks turn by turn, and stream by stream within a turn.
    Each (stream, turn) is data of its own. A fetch hits if its data fits the cache together with all data used since
    its last use: later turns of the stream's last wave, all waves in between, earlier turns of this wave, and the
    stores of these waves. Data used several times is counted once.

    Args:
        waves: Streams of each wave, in the order in which a turn walks them.
        sizes: Bytes of each fetch, shape [streams, turns]; 0 for a fetch that asks for nothing.
        capacity: Bytes that the cache holds. A single fetch that is larger stays until the next one.
        stored: Bytes that each wave stores at its end.

    Returns:
        For each wave an array of shape [streams of the wave, turns].

    Source: R. L. Mattson et al., Evaluation techniques for storage hierarchies, 1970 (stack distance).
    """
    place = np.full((len(waves), len(sizes)), -1, dtype=np.int64)
    for wave, streams in enumerate(waves):
        place[wave, list(streams)] = np.arange(len(streams))
    walked = place >= 0

    @cache
    def other_turns(last: int, wave: int) -> IntArray:
        """Return the bytes of other turns used between a turn of wave ``last`` and the same turn of ``wave``."""
        before = sizes[walked[last + 1 : wave + 1].any(axis=0)].sum(axis=0)
        after = sizes[walked[last:wave].any(axis=0)].sum(axis=0)
        later = after[::-1].cumsum()[::-1] - after
        between: IntArray = before.cumsum() - before + later
        return between

    last_wave: dict[int, int] = {}
    missed = []
    for wave, streams in enumerate(waves):
        found = sizes[list(streams)] > 0
        for row, stream in enumerate(streams):
            last = last_wave.get(stream)
            last_wave[stream] = wave
            if last is None:
                continue
            same_turn = walked[last + 1 : wave].any(axis=0)
            same_turn |= place[last] > place[last, stream]
            same_turn |= walked[wave] & (place[wave] < row)
            same_turn[stream] = False
            others = other_turns(last, wave) + sizes[same_turn].sum(axis=0) + stored * (wave - last)
            found[row] &= (others > 0) & (others + sizes[stream] > capacity)
        missed.append(found)
    return missed
