"""Watches one CTA: collects its spans and what its warps did for each k tile, or key block, while it runs."""

from typing import NamedTuple

from gpusim.results.result import PipelineRow
from gpusim.results.timeline import KTileSpan, Timeline, WarpSpan
from gpusim.sim.code import BAR, DEPBAR, Decoded
from gpusim.sim.stall_reasons import REASONS
from gpusim.sim.timed_kernel import Watch
from gpusim.sim.warp import Warp


class _Done(NamedTuple):
    """One stretch of an activity: which warp's, of which k tile and k group, and after how many of its waits."""

    warp: int
    activity: str
    k_tile: int
    k_group: int
    waits: int


class _Wait(NamedTuple):
    """A wait, its [begin, end], and the k tile that it is of."""

    name: str
    k_tile: int
    window: list[int]


class Observer:
    """
    Notes of the observed warps. Cycles are absolute; ``timeline`` and ``pipeline`` count from the CTA's launch.

    Attributes:
        retired: Observed warps that have exited, in order of their exit.
    """

    def __init__(self, watch: Watch) -> None:
        self._watch = watch
        self._windows: dict[_Done, list[int]] = {}
        self._waits: dict[int, list[_Wait]] = {}
        self._waiting: set[int] = set()
        self.retired: list[Warp] = []

    def note(self, warp: Warp, at: int, landed: int) -> None:
        """One observed instruction issued at ``at``, its result there at ``landed``."""
        instruction, watch = warp.instruction, self._watch
        k_tile = instruction.k_tile + warp.trip * warp.segment.tiles_per_trip
        if instruction.kind not in (DEPBAR, BAR):
            if not watch.numbers_waits:
                self._waiting.discard(warp.index)
            activity = watch.activities[instruction.activity]
            self._widen(warp.index, activity, instruction, k_tile, (at, landed))
        if instruction.opens_wait and warp.index not in self._waiting:
            waits = self._waits.setdefault(warp.index, [])
            begin = at if instruction.kind == BAR else min(at, warp.stalled_until)
            if watch.numbers_waits:
                waits.append(_Wait("wait", len(waits), [begin, at]))
            else:
                waits.append(_Wait(f"wait_{watch.activities[instruction.activity]}", k_tile, [begin, at + 1]))
            self._waiting.add(warp.index)

    def _widen(self, warp: int, activity: str, instruction: Decoded, k_tile: int, window: tuple[int, int]) -> None:
        """What is done for a k tile lasts from its first instruction's issue to the last one's result."""
        stretch = 0 if activity in self._watch.uncut else len(self._waits.get(warp, ()))
        done = _Done(warp, activity, k_tile, instruction.k_group, stretch)
        so_far = self._windows.setdefault(done, list(window))
        so_far[0], so_far[1] = min(so_far[0], window[0]), max(so_far[1], window[1])

    def released(self, warp: Warp, at: int) -> None:
        """The warp leaves a barrier at ``at``: its open wait ends there."""
        if warp.index in self._waiting:
            self._waits[warp.index][-1].window[1] = at
            self._waiting.discard(warp.index)

    def retire(self, warp: Warp) -> None:
        """The warp has exited."""
        self.retired.append(warp)

    def pipeline(self, k_tiles: int, stages: int) -> tuple[PipelineRow, ...]:
        """
        The k tiles, or key blocks by turn, of warp 0: when they were copied, waited for, multiplied.

        Where nothing was waited for, the wait is empty and lies at the first MMA.
        """
        if not self.retired:
            return ()
        begin, watch = self.retired[0].launched, self._watch
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
        """Spans of the watched CTA's warps and of what they did, warp by warp."""
        warps = sorted(self.retired, key=lambda warp: warp.index)
        if not warps:
            return Timeline((), ())
        begin, cta = warps[0].launched, warps[0].cta.index
        spans = [
            WarpSpan(cta, warp.index, warp.smsp, first - begin, end - begin, REASONS[reason])
            for warp in warps
            for first, end, reason in warp.spans or ()
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
