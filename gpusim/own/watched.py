"""Reads the core's log of a watched CTA: the states of its warps, each with the instruction that is issued next."""

from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np

from gpusim.arrays import IntArray
from gpusim.lower.sass.decode import Sass
from gpusim.lower.stream import INSTRUCTION_BYTES
from gpusim.own.paths import Paths
from gpusim.results.kernel_warps import LoggedWarp, WarpLog
from gpusim.sim.columns import rows_of
from gpusim.sim.core.chip import Chip
from gpusim.sim.core.constants import NOTE_WIDTH, RETIRED, SPAN_WIDTH
from gpusim.sim.stall_reasons import REASONS, SELECTED

MOST_STATES: Final = 200_000
"""States that are logged, some 10 MB. Of a longer CTA the first cycles are logged."""


def warp_log(chip: Chip, cta: int, launched: int, code: Sequence[Sass | None], executed: Sequence[IntArray]) -> WarpLog:
    """
    Return the log of a watched CTA.

    Args:
        chip: The SMs, after their last CTA has ended.
        cta: Linear number of the CTA.
        launched: Cycle of its launch.
        code: The kernel's instructions.
        executed: Numbers of the instructions that each of its warps executed (``executed_by``).
    """
    notes, spans = rows_of(chip.notes.column, NOTE_WIDTH), rows_of(chip.spans.column, SPAN_WIDTH)
    if len(spans) > MOST_STATES:
        spans = spans[spans[:, 1] < np.partition(spans[:, 1], MOST_STATES)[MOST_STATES]]
    exits = notes[notes[:, 1] == RETIRED]
    smsp = dict(zip(exits[:, 0].tolist(), exits[:, 2].tolist(), strict=True))
    texts = tuple(
        f"{at * INSTRUCTION_BYTES:#06x} {'(not decoded)' if one is None else one.text}" for at, one in enumerate(code)
    )
    warps = tuple(
        _logged(warp, smsp[warp], spans[spans[:, 0] == warp, 1:] - np.array([launched, launched, 0]), executed[warp])
        for warp in sorted(smsp)
    )
    return WarpLog(cta, REASONS, texts, warps)


def _logged(warp: int, smsp: int, spans: IntArray, executed: IntArray) -> LoggedWarp:
    """Return the states of a warp; a span of several issues is divided."""
    begin, end, reason = spans.T
    pieces = np.where(reason == SELECTED, end - begin, 1)
    place = np.arange(int(pieces.sum())) - (np.cumsum(pieces) - pieces).repeat(pieces)
    begin, end, reason = begin.repeat(pieces), end.repeat(pieces), reason.repeat(pieces)
    issues = reason == SELECTED
    begin = begin + np.where(issues, place, 0)
    end = np.where(issues, begin + 1, end)
    before = np.cumsum(issues) - issues
    row = executed[np.minimum(before, len(executed) - 1)]
    return LoggedWarp(warp, smsp, *(tuple(column.tolist()) for column in (begin, end, reason, row)))


def executed_by(paths: Paths, first: int, origin: IntArray) -> IntArray:
    """
    Return the numbers of the instructions of a path.

    Args:
        paths: The paths.
        first: First segment of the path.
        origin: Number of the instruction of each entry of the code. A path ends with an entry of an exit that is a
            warp's last instruction, which lies behind the text.
    """
    entries: IntArray = np.concatenate(list(_segments(paths, first)))
    executed: IntArray = origin[entries]
    return executed


def _segments(paths: Paths, first: int) -> Iterator[IntArray]:
    last = frozenset(paths.last[paths.last >= 0].tolist())
    for at in range(first, len(paths.first)):
        yield np.tile(np.arange(paths.first[at], paths.end[at]), paths.trips[at])
        if paths.first[at] in last:
            return
