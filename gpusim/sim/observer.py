"""Reads what one watched CTA did: its warps' stall spans, and their activities for each k tile or key block."""

from collections.abc import Sequence
from functools import cached_property, partial
from itertools import chain
from operator import attrgetter
from typing import Any, NamedTuple

import numpy as np

from gpusim.arrays import BoolArray, IntArray
from gpusim.results.result import PipelineRow
from gpusim.results.timeline import KTileSpan, Spans, Timeline, WarpSpan
from gpusim.sim.code import BAR, DEPBAR, Decoded
from gpusim.sim.core.chip import NOTED, RELEASED, RETIRED, SPENT
from gpusim.sim.stall_reasons import REASONS
from gpusim.sim.timed_kernel import Watch
from gpusim.tile.global_access import packed


class _Stretches(NamedTuple):
    """
    Stretches of activities and waits of all warps, warp by warp; the arrays have an entry for each.

    Attributes:
        warp: Warp within the CTA.
        name: Index into ``Observer._names``.
        k_tile, k_group: k tile and k group; a wait's k group is -1.
        begin, end: Cycles.
    """

    warp: IntArray
    name: IntArray
    k_tile: IntArray
    k_group: IntArray
    begin: IntArray
    end: IntArray


class Observer:
    """
    Reads the log of a watched CTA (``core.chip``).

    Cycles in the log are absolute. Those in ``timeline`` and ``pipeline`` count from the CTA's launch.

    Args:
        watch: The activities that are observed.
        code: The instructions that the log's places count.
        cta: Number of the CTA.
        launched: Cycle of its launch.
        log: The rows.

    Attributes:
        cta: Number of the CTA.
    """

    def __init__(
        self, watch: Watch, code: Sequence[Decoded], cta: int, launched: int, log: Sequence[tuple[int, ...]]
    ) -> None:
        self.cta = cta
        self._watch, self._code, self._launched = watch, code, launched
        self._log = np.fromiter(chain.from_iterable(log), dtype=np.int64)
        lengths = np.fromiter(map(len, log), dtype=np.int64, count=len(log))
        self._begins = lengths.cumsum() - lengths
        self._kinds = self._log[self._begins]

    @property
    def _names(self) -> tuple[str, ...]:
        """Names of the activities, followed by those of waits."""
        activities = self._watch.activities
        return (*activities, *(["wait"] if self._watch.numbers_waits else [f"wait_{one}" for one in activities]))

    @cached_property
    def spans(self) -> dict[int, list[tuple[int, int, int]]]:
        """(begin, end, stall reason) of each warp, without gaps over its lifetime, in absolute cycles."""
        spans: dict[int, list[tuple[int, int, int]]] = {}
        for warp, begin, end, reason in self._of_kind(SPENT, 4)[0].T.tolist():
            spans.setdefault(warp, []).append((begin, end, reason))
        return spans

    def pipeline(self, k_tiles: int, stages: int) -> tuple[PipelineRow, ...]:
        """
        Return when warp 0 copied, waited for and multiplied each k tile (or key block, in the order of visits).

        If warp 0 did not wait for a k tile, the wait is empty and lies at the first MMA.

        Args:
            k_tiles: Number of rows.
            stages: Slots of the shared-memory ring.
        """
        watch, found = self._watch, self._stretches
        of_first = np.flatnonzero(found.warp == 0)
        columns = (found.name, found.k_tile, found.begin - self._launched, found.end - self._launched)
        windows: dict[tuple[str, int], list[tuple[int, int]]] = {}
        waits: dict[int, tuple[int, int]] = {}
        for number, k_tile, *window in zip(*(column[of_first].tolist() for column in columns), strict=True):
            if number < len(watch.activities):
                windows.setdefault((watch.activities[number], k_tile), []).append((window[0], window[1]))
            else:
                waits.setdefault(k_tile, (window[0], window[1]))
        rows = []
        for k_tile in range(k_tiles):
            copy = windows[watch.copy, k_tile][0]
            first = min(begin for begin, _ in windows[watch.first, k_tile])
            last = max(end for _, end in windows[watch.last, k_tile])
            wait = waits.get(k_tile, (first, first))
            rows.append(PipelineRow(k_tile, k_tile % stages, *copy, *wait, first, last))
        return tuple(rows)

    def timeline(self, stages: int) -> Timeline:
        """Return the stall spans and the activities of the watched CTA's warps, warp by warp."""
        return Timeline(Spans(WarpSpan, self._warp_columns), Spans(KTileSpan, partial(self._k_tile_columns, stages)))

    def _k_tile_columns(self, stages: int) -> list[list[Any]]:
        found, names, begin = self._stretches, self._names, self._launched
        alphabetical = np.argsort(np.argsort(names))
        order = np.lexsort((alphabetical[found.name], found.k_group, found.k_tile, found.begin, found.warp))
        warp, name, k_tile, k_group, first, end = (column[order] for column in found)
        of_name = [names[number] for number in name.tolist()]
        counted = (first - begin).tolist(), (end - begin).tolist()
        rest = (k_tile.tolist(), k_group.tolist(), (k_tile % stages).tolist(), of_name, *counted)
        return [self._of_cta(warp), warp.tolist(), *rest]

    def _warp_columns(self) -> list[list[Any]]:
        spent, _ = self._of_kind(SPENT, 4)
        warp, first, end, reason = spent[:, np.argsort(spent[0], kind="stable")]
        (retired, _, smsp), _ = self._of_kind(RETIRED, 3)
        smsps = np.zeros(int(retired.max(initial=0)) + 1, dtype=np.int64)
        smsps[retired] = smsp
        counted = ((cycle - self._launched).tolist() for cycle in (first, end))
        reasons = [REASONS[one] for one in reason.tolist()]
        return [self._of_cta(warp), warp.tolist(), smsps[warp].tolist(), *counted, reasons]

    def _of_cta(self, rows: IntArray) -> list[int]:
        return [self.cta] * len(rows)

    def _of_kind(self, kind: int, integers: int) -> tuple[IntArray, IntArray]:
        """Return the rows of one kind without it, shape [integers, rows], and their places in the log."""
        places = np.flatnonzero(self._kinds == kind)
        return self._log[self._begins[places] + np.arange(1, integers + 1)[:, None]], places

    def _of_code(self, name: str, places: IntArray) -> IntArray:
        """Return a field of the instructions at some places of the code."""
        return np.fromiter(map(attrgetter(name), self._code), dtype=np.int64, count=len(self._code))[places]

    @cached_property
    def _stretches(self) -> _Stretches:
        """
        The activities of all warps, each warp's in the order of their first instructions, and then the waits.

        An activity of a k tile lasts from the issue of its first instruction to the last result. A wait ends when the
        warp leaves a barrier.
        """
        noted, at_noted = self._of_kind(NOTED, 6)
        released, at_released = self._of_kind(RELEASED, 2)
        order = np.lexsort((np.concatenate([at_noted, at_released]), np.concatenate([noted[0], released[0]])))
        blank = np.zeros((noted.shape[0], released.shape[1]), dtype=np.int64)
        blank[0], blank[3] = released
        warp, place, tiles, at, landed, stalled = np.concatenate([noted, blank], axis=1)[:, order]
        leaves = order >= noted.shape[1]
        kind, activity = self._of_code("kind", place), self._of_code("activity", place)
        k_tile, k_group = self._of_code("k_tile", place) + tiles, self._of_code("k_group", place)
        works = ~leaves & (kind != DEPBAR) & (kind != BAR)
        asks = ~leaves & (self._of_code("opens_wait", place) == 1)

        watch = self._watch
        resumes = leaves | (works & (not watch.numbers_waits))
        waiting = _last_of_warp(warp, asks | resumes, asks)
        opens = asks & (resumes | ~waiting)
        count = opens.cumsum()
        before = count - opens  # waits of all earlier rows
        waits_before = before - before[np.searchsorted(warp, warp)]
        begin = np.where(kind == BAR, at, np.minimum(at, stalled))[opens]
        end = at[opens] + (not watch.numbers_waits)
        ends = leaves & waiting
        end[count[ends] - 1] = at[ends]
        name = activity[opens] if not watch.numbers_waits else np.zeros_like(begin)
        of_wait = waits_before[opens] if watch.numbers_waits else k_tile[opens]
        waits = _Stretches(warp[opens], name + len(watch.activities), of_wait, np.full_like(begin, -1), begin, end)

        uncut = np.array([name in watch.uncut for name in watch.activities], dtype=bool)
        stretch = np.where(uncut[activity], 0, waits_before)
        rows = _Stretches(warp[works], activity[works], k_tile[works], k_group[works], at[works], landed[works])
        active = _joined(rows, stretch[works])
        return _Stretches(*map(np.concatenate, zip(active, waits, strict=True)))


def _last_of_warp(warp: IntArray, counts: BoolArray, value: BoolArray) -> BoolArray:
    """Return the value of the last row before each that counts and is of its warp; False if there is none."""
    last = np.maximum.accumulate(np.where(counts, np.arange(len(warp)), -1))
    last = np.concatenate([np.full(min(1, len(warp)), -1), last[:-1]])
    return value[last] & (last >= np.searchsorted(warp, warp))


def _joined(rows: _Stretches, stretch: IntArray) -> _Stretches:
    """Join rows of equal warp, activity, k tile, k group and stretch, in the order of the first row of each."""
    keys = (rows.warp, rows.name, rows.k_tile, rows.k_group + 1, stretch)
    key = packed(*((one, int(one.max(initial=0)) + 1) for one in keys))
    order = np.argsort(key, kind="stable")
    firsts = np.flatnonzero(np.diff(key[order], prepend=-1))
    begin, end = np.minimum.reduceat(rows.begin[order], firsts), np.maximum.reduceat(rows.end[order], firsts)
    by_row = np.argsort(order[firsts])
    first = order[firsts][by_row]
    return _Stretches(
        rows.warp[first], rows.name[first], rows.k_tile[first], rows.k_group[first], begin[by_row], end[by_row]
    )
