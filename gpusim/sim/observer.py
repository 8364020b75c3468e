"""Watches one CTA: collects its spans and k-tile activities while it runs."""

from typing import Any

from gpusim.results.result import PipelineRow
from gpusim.results.timeline import KTileSpan, Timeline, WarpSpan
from gpusim.sim.assembly import BAR, COPY, FRAGMENT, MMA, STORE
from gpusim.sim.stall_reasons import REASONS
from gpusim.sim.warp import Warp

Window = list[int]
"""[begin, end] of an activity so far."""


class Observer:
    """
    Notes of the observed warps. Cycles are absolute; ``timeline`` and ``pipeline`` count from the CTA's launch.

    Attributes:
        retired: Observed warps that have exited, in order of their exit.
    """

    def __init__(self) -> None:
        self._copies: dict[tuple[int, int], Window] = {}
        self._fragments: dict[tuple[int, int, int], Window] = {}
        self._mmas: dict[tuple[int, int, int], Window] = {}
        self._waits: dict[int, list[Window]] = {}
        self._open_wait: dict[int, bool] = {}
        self.retired: list[Warp] = []

    def note(self, warp: Warp, at: int, landed: int) -> None:
        """One observed instruction issued at ``at``, its result there at ``landed``."""
        instruction = warp.instruction
        k_tile = instruction.k_tile + warp.trip * warp.segment.tiles_per_trip
        what = instruction.observed
        if what == MMA:
            _widen(self._mmas, (warp.index, k_tile, instruction.k_group), at, landed)
        elif what == FRAGMENT:
            _widen(self._fragments, (warp.index, k_tile, instruction.k_group), at, landed)
        elif what == COPY:
            _widen(self._copies, (warp.index, k_tile), at, landed)
        elif what == STORE:
            _widen(self._copies, (warp.index, k_tile), at, landed)
            self._open(warp, at)
        elif instruction.kind == BAR:
            if self._open_wait.get(warp.index):
                self._waits[warp.index][-1][1] = -1
                self._open_wait[warp.index] = False
        else:
            self._open(warp, at)

    def _open(self, warp: Warp, at: int) -> None:
        """A wait begins where its instruction could have issued had all groups, or loaded registers, been there."""
        if not self._open_wait.get(warp.index):
            self._waits.setdefault(warp.index, []).append([min(at, warp.stalled_until), at])
            self._open_wait[warp.index] = True

    def released(self, warp: Warp, at: int) -> None:
        """The warp leaves a barrier at ``at``: its open wait ends there."""
        waits = self._waits.get(warp.index)
        if waits and waits[-1][1] == -1:
            waits[-1][1] = at

    def retire(self, warp: Warp) -> None:
        """The warp has exited."""
        self.retired.append(warp)

    def pipeline(self, k_tiles: int, stages: int) -> tuple[PipelineRow, ...]:
        """The k tiles of warp 0. The first wait makes k tile 0 visible, each next one the next tile."""
        if not self.retired:
            return ()
        begin = self.retired[0].launched
        waits = self._waits.get(0, [])
        rows = []
        for k_tile in range(k_tiles):
            copy = self._copies[0, k_tile]
            groups = [window for (warp, tile, _), window in self._mmas.items() if warp == 0 and tile == k_tile]
            rows.append(
                PipelineRow(
                    k_tile=k_tile,
                    stage=k_tile % stages,
                    copy_issue=copy[0] - begin,
                    copy_done=copy[1] - begin,
                    wait_begin=waits[k_tile][0] - begin,
                    wait_end=waits[k_tile][1] - begin,
                    mma_begin=min(window[0] for window in groups) - begin,
                    mma_end=max(window[1] for window in groups) - begin,
                )
            )
        return tuple(rows)

    def timeline(self, stages: int) -> Timeline:
        """Everything noted, warp by warp."""
        warps = sorted(self.retired, key=lambda warp: warp.index)
        if not warps:
            return Timeline((), ())
        begin = warps[0].launched
        spans = [
            WarpSpan(warp.cta.index, warp.index, warp.smsp, first - begin, end - begin, REASONS[reason])
            for warp in warps
            for first, end, reason in warp.spans or ()
        ]
        windows = [
            *((*key, -1, "copy", window) for key, window in self._copies.items()),
            *((*key, "ldmatrix", window) for key, window in self._fragments.items()),
            *((*key, "mma", window) for key, window in self._mmas.items()),
            *(
                (warp, number, -1, "wait", window)
                for warp, waits in self._waits.items()
                for number, window in enumerate(waits)
            ),
        ]
        activities = [
            KTileSpan(
                cta=warps[0].cta.index,
                warp=warp,
                k_tile=k_tile,
                k_group=k_group,
                stage=k_tile % stages,
                activity=activity,
                begin=window[0] - begin,
                end=window[1] - begin,
            )
            for warp, k_tile, k_group, activity, window in windows
        ]
        activities.sort(key=lambda span: (span.warp, span.begin, span.k_tile, span.k_group, span.activity))
        return Timeline(tuple(spans), tuple(activities))


def _widen(windows: dict[Any, Window], key: Any, begin: int, end: int) -> None:
    window = windows.get(key)
    if window is None:
        windows[key] = [begin, end]
    else:
        window[0] = min(window[0], begin)
        window[1] = max(window[1], end)
