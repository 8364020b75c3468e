"""Reads what one watched CTA did: its warps' stall spans, and their activities for each k tile or key block."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from gpusim.results.result import PipelineRow
from gpusim.results.timeline import KTileSpan, Timeline, WarpSpan
from gpusim.sim.code import BAR, DEPBAR, Decoded
from gpusim.sim.core.chip import NOTED, RELEASED, SPENT
from gpusim.sim.stall_reasons import REASONS
from gpusim.sim.timed_kernel import Watch


class _Done(NamedTuple):
    """Key of one stretch of an activity: warp, activity, k tile, k group, and the number of waits before it."""

    warp: int
    activity: str
    k_tile: int
    k_group: int
    waits: int


class _Wait(NamedTuple):
    """A wait: its name, its k tile, and its [begin, end] in cycles."""

    name: str
    k_tile: int
    window: list[int]


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
        spans: (begin, end, stall reason) of each warp, without gaps over its lifetime, in absolute cycles.
    """

    def __init__(
        self, watch: Watch, code: Sequence[Decoded], cta: int, launched: int, log: Iterable[tuple[int, ...]]
    ) -> None:
        self.cta = cta
        self._watch, self._code, self._launched = watch, code, launched
        self._windows: dict[_Done, list[int]] = {}
        self._waits: dict[int, list[_Wait]] = {}
        self._waiting: set[int] = set()
        self._smsps: dict[int, int] = {}
        self.spans: dict[int, list[tuple[int, int, int]]] = {}
        for kind, warp, *row in log:
            if kind == SPENT:
                begin, end, reason = row
                self.spans.setdefault(warp, []).append((begin, end, reason))
            elif kind == NOTED:
                self._note(warp, *row)
            elif kind == RELEASED:
                self._released(warp, *row)
            else:
                self._smsps[warp] = row[1]

    def _note(self, warp: int, place: int, tiles: int, at: int, landed: int, stalled: int) -> None:  # noqa: PLR0917 - a row
        """Note an instruction that issued at cycle ``at`` and has its result at cycle ``landed``."""
        instruction, watch = self._code[place], self._watch
        k_tile = instruction.k_tile + tiles
        if instruction.kind not in (DEPBAR, BAR):
            if not watch.numbers_waits:
                self._waiting.discard(warp)
            activity = watch.activities[instruction.activity]
            self._widen(warp, activity, instruction, k_tile, (at, landed))
        if instruction.opens_wait and warp not in self._waiting:
            waits = self._waits.setdefault(warp, [])
            begin = at if instruction.kind == BAR else min(at, stalled)
            if watch.numbers_waits:
                waits.append(_Wait("wait", len(waits), [begin, at]))
            else:
                waits.append(_Wait(f"wait_{watch.activities[instruction.activity]}", k_tile, [begin, at + 1]))
            self._waiting.add(warp)

    def _widen(self, warp: int, activity: str, instruction: Decoded, k_tile: int, window: tuple[int, int]) -> None:
        """Extend the activity of a k tile. It lasts from the issue of its first instruction to the last result."""
        stretch = 0 if activity in self._watch.uncut else len(self._waits.get(warp, ()))
        done = _Done(warp, activity, k_tile, instruction.k_group, stretch)
        so_far = self._windows.setdefault(done, list(window))
        so_far[0], so_far[1] = min(so_far[0], window[0]), max(so_far[1], window[1])

    def _released(self, warp: int, at: int) -> None:
        """End the warp's open wait at cycle ``at``, when it leaves a barrier."""
        if warp in self._waiting:
            self._waits[warp][-1].window[1] = at
            self._waiting.discard(warp)

    def pipeline(self, k_tiles: int, stages: int) -> tuple[PipelineRow, ...]:
        """
        Return when warp 0 copied, waited for and multiplied each k tile (or key block, in the order of visits).

        If warp 0 did not wait for a k tile, the wait is empty and lies at the first MMA.

        Args:
            k_tiles: Number of rows.
            stages: Slots of the shared-memory ring.
        """
        begin, watch = self._launched, self._watch
        of_warp: dict[tuple[str, int], list[list[int]]] = {}
        for done, window in self._windows.items():
            if done.warp == 0:
                of_warp.setdefault((done.activity, done.k_tile), []).append(window)
        waits = {wait.k_tile: wait.window for wait in reversed(self._waits.get(0, []))}
        rows = []
        for k_tile in range(k_tiles):
            copies = of_warp[watch.copy, k_tile]
            first = min(window[0] for window in of_warp[watch.first, k_tile])
            last = max(window[1] for window in of_warp[watch.last, k_tile])
            wait = waits.get(k_tile, [first, first])
            rows.append(
                PipelineRow(
                    k_tile=k_tile,
                    stage=k_tile % stages,
                    copy_issue=copies[0][0] - begin,
                    copy_done=copies[0][1] - begin,
                    wait_begin=wait[0] - begin,
                    wait_end=wait[1] - begin,
                    mma_begin=first - begin,
                    mma_end=last - begin,
                )
            )
        return tuple(rows)

    def timeline(self, stages: int) -> Timeline:
        """Return the stall spans and the activities of the watched CTA's warps, warp by warp."""
        begin, cta = self._launched, self.cta
        spans = [
            WarpSpan(cta, warp, self._smsps[warp], first - begin, end - begin, REASONS[reason])
            for warp in sorted(self._smsps)
            for first, end, reason in self.spans[warp]
        ]
        found = [(done.warp, done.k_tile, done.k_group, done.activity, to) for done, to in self._windows.items()]
        found += [
            (warp, wait.k_tile, -1, wait.name, wait.window) for warp, waits in self._waits.items() for wait in waits
        ]
        activities = [
            KTileSpan(cta, warp, k_tile, k_group, k_tile % stages, activity, window[0] - begin, window[1] - begin)
            for warp, k_tile, k_group, activity, window in found
        ]
        activities.sort(key=lambda span: (span.warp, span.begin, span.k_tile, span.k_group, span.activity))
        return Timeline(tuple(spans), tuple(activities))
