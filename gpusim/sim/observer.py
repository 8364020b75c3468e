"""Reads the log of a watched CTA: its warps' stall spans, and their activities for each k tile or key block."""

from collections.abc import Sequence
from functools import cached_property, partial
from operator import attrgetter
from typing import NamedTuple

import numpy as np

from gpusim.arrays import BoolArray, IntArray
from gpusim.results.result import PipelineRow
from gpusim.results.timeline import KTileSpan, Spans, Take, Timeline, WarpSpan
from gpusim.sim.code import Decoded
from gpusim.sim.core.constants import BAR, DEPBAR, RELEASED, RETIRED
from gpusim.sim.stall_reasons import REASONS
from gpusim.sim.timed_kernel import Watch
from gpusim.tile.global_access import packed


class _Stretches(NamedTuple):
    """
    Stretches of activities and waits of one warp; the arrays have an entry for each.

    Attributes:
        name: Index into ``Observer._names``.
        k_tile, k_group: k tile and k group; a wait's k group is -1.
        begin, end: Cycles.
    """

    name: IntArray
    k_tile: IntArray
    k_group: IntArray
    begin: IntArray
    end: IntArray


class Observer:
    """
    Reads the logs of a watched CTA (``core.chip``), warp by warp and on demand.

    Cycles in the logs are absolute. Those in ``timeline`` and ``pipeline`` count from the CTA's launch.

    Args:
        watch: The activities that are observed.
        code: The instructions, in the order of the indices in ``notes``.
        cta: Number of the CTA.
        launched: Cycle of the CTA's launch.
        notes: Rows of ``Chip.notes``, shape [rows, ``NOTE_WIDTH``].
        spans: Rows of ``Chip.spans``, shape [rows, ``SPAN_WIDTH``].

    Attributes:
        cta: Number of the CTA.
    """

    def __init__(  # noqa: PLR0917 - both logs, and their CTA
        self, watch: Watch, code: Sequence[Decoded], cta: int, launched: int, notes: IntArray, spans: IntArray
    ) -> None:
        self.cta = cta
        self._watch, self._code, self._launched = watch, code, launched
        self._notes, self._spans = notes, spans

    @property
    def _names(self) -> tuple[str, ...]:
        """Names of the activities, followed by those of waits."""
        activities = self._watch.activities
        return (*activities, *(["wait"] if self._watch.numbers_waits else [f"wait_{one}" for one in activities]))

    @cached_property
    def spans(self) -> dict[int, list[tuple[int, int, int]]]:
        """(begin, end, stall reason) of each warp, without gaps over its lifetime, in absolute cycles."""
        spans: dict[int, list[tuple[int, int, int]]] = {}
        for warp, begin, end, reason in self._spans.tolist():
            spans.setdefault(warp, []).append((begin, end, reason))
        return spans

    def pipeline(self, k_tiles: int, stages: int) -> tuple[PipelineRow, ...]:
        """
        Return the cycles at which warp 0 copied, waited for and multiplied each k tile, or each key block it visited.

        If warp 0 did not wait for a k tile, the wait is empty and lies at the first MMA.

        Args:
            k_tiles: Number of rows.
            stages: Slots of the shared-memory ring.
        """
        watch, found = self._watch, self._stretches(0)
        columns = (found.name, found.k_tile, found.begin - self._launched, found.end - self._launched)
        windows: dict[tuple[str, int], list[tuple[int, int]]] = {}
        waits: dict[int, tuple[int, int]] = {}
        for number, k_tile, *window in zip(*(column.tolist() for column in columns), strict=True):
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
        return Timeline(
            Spans(WarpSpan, self._warp_rows, {"reason": REASONS}),
            Spans(KTileSpan, partial(self._k_tile_rows, stages), {"activity": self._names}),
        )

    def _k_tile_rows(self, stages: int) -> tuple[int, Take]:
        """Return the number of stretches of all warps, and a function that returns their columns."""
        alphabetical = np.argsort(np.argsort(self._names))
        warps = []
        for warp in self._warps():
            found = self._stretches(warp)
            order = np.lexsort((alphabetical[found.name], found.k_group, found.k_tile, found.begin))
            name, k_tile, k_group, begin, end = (column[order] for column in found)
            own, cta = np.full_like(begin, warp), np.full_like(begin, self.cta)
            counted = begin - self._launched, end - self._launched
            warps.append((cta, own, k_tile, k_group, k_tile % stages, name, *counted))
        columns = [np.concatenate(parts) for parts in zip(*warps, strict=True)]
        return len(columns[0]), lambda piece: [column[piece] for column in columns]

    def _warp_rows(self) -> tuple[int, Take]:
        """Return the number of stall spans, and a function that returns their columns; the log stays unchanged."""
        spans, launched = self._spans, self._launched
        order = np.argsort(spans[:, 0].astype(np.int16), kind="stable")  # 16-bit integers take a radix sort
        exits = self._notes[self._notes[:, 1] == RETIRED]
        smsps = np.zeros(int(exits[:, 0].max(initial=0)) + 1, dtype=np.int64)
        smsps[exits[:, 0]] = exits[:, 2]

        def take(piece: slice) -> list[IntArray]:
            warp, begin, end, reason = spans[order[piece]].T
            return [np.full_like(warp, self.cta), warp, smsps[warp], begin - launched, end - launched, reason]

        return len(spans), take

    def _warps(self) -> list[int]:
        """Return the warps of the CTA."""
        return np.flatnonzero(np.bincount(self._notes[:, 0])).tolist()

    @cached_property
    def _fields(self) -> dict[str, IntArray]:
        """Fields of the instructions by index in the code."""
        names = ("kind", "activity", "k_tile", "k_group", "opens_wait")
        read = attrgetter(*names)
        table = np.array([read(one) for one in self._code], dtype=np.int64).T
        return dict(zip(names, table, strict=True))

    def _stretches(self, own: int) -> _Stretches:
        """
        Return the activities of one warp in the order of their first instructions, and then its waits.

        An activity of a k tile lasts from the issue of its first instruction to the last result. A wait ends when the
        warp leaves a barrier.
        """
        noted = self._notes[(self._notes[:, 0] == own) & (self._notes[:, 1] != RETIRED)]
        _, place, tiles, at, landed, stalled = np.ascontiguousarray(noted.T)
        leaves = place == RELEASED
        place = np.where(leaves, 0, place)  # the instruction of a release is ignored
        code = {name: field[place] for name, field in self._fields.items()}
        kind, activity, k_group = code["kind"], code["activity"], code["k_group"]
        k_tile = code["k_tile"] + tiles
        works = ~leaves & (kind != DEPBAR) & (kind != BAR)
        asks = ~leaves & (code["opens_wait"] == 1)

        watch = self._watch
        resumes = leaves | (works & (not watch.numbers_waits))
        waiting = _last(asks | resumes, asks)
        opens = asks & (resumes | ~waiting)
        count = opens.cumsum()
        waits_before = count - opens
        begin = np.where(kind == BAR, at, np.minimum(at, stalled))[opens]
        end = at[opens] + (not watch.numbers_waits)
        ends = leaves & waiting
        end[count[ends] - 1] = at[ends]
        name = activity[opens] if not watch.numbers_waits else np.zeros_like(begin)
        of_wait = waits_before[opens] if watch.numbers_waits else k_tile[opens]
        waits = _Stretches(name + len(watch.activities), of_wait, np.full_like(begin, -1), begin, end)

        uncut = np.array([name in watch.uncut for name in watch.activities], dtype=bool)
        stretch = np.where(uncut[activity], 0, waits_before)
        rows = _Stretches(activity[works], k_tile[works], k_group[works], at[works], landed[works])
        active = _joined(rows, stretch[works])
        return _Stretches(*map(np.concatenate, zip(active, waits, strict=True)))


def _last(counts: BoolArray, value: BoolArray) -> BoolArray:
    """Return, for each row, the value of the last counting row before it; False if there is none."""
    last = np.maximum.accumulate(np.where(counts, np.arange(len(counts)), -1))
    last = np.concatenate([np.full(min(1, len(counts)), -1), last[:-1]])
    return value[last] & (last >= 0)


def _joined(rows: _Stretches, stretch: IntArray) -> _Stretches:
    """Join rows of equal activity, k tile, k group and stretch, in the order of the first row of each."""
    keys = (rows.name, rows.k_tile, rows.k_group + 1, stretch)
    key = packed(*((one, int(one.max(initial=0)) + 1) for one in keys))
    order = np.argsort(key, kind="stable")
    firsts = np.flatnonzero(np.diff(key[order], prepend=-1))
    begin, end = np.minimum.reduceat(rows.begin[order], firsts), np.maximum.reduceat(rows.end[order], firsts)
    by_row = np.argsort(order[firsts])
    first = order[firsts][by_row]
    return _Stretches(rows.name[first], rows.k_tile[first], rows.k_group[first], begin[by_row], end[by_row])
