"""Watches one CTA of an attention kernel: what each warp did for each key block, and when it waited."""

from gpusim.families.attention.code import ACTIVITIES
from gpusim.results.result import PipelineRow
from gpusim.results.timeline import KTileSpan, Timeline, WarpSpan
from gpusim.sim.assembly import BAR, DEPBAR, FIRST_ACTIVITY
from gpusim.sim.observer import Observer, Window
from gpusim.sim.stall_reasons import REASONS
from gpusim.sim.warp import Warp


class AttentionObserver(Observer):
    """
    Notes by warp, activity and key block; key blocks are numbered in the order in which the CTA walks them.

    A wait ends what the warp was at: the same activity after it is a stretch of its own. Copies go on.
    """

    def __init__(self) -> None:
        super().__init__()
        self._activities: dict[tuple[int, str, int], dict[int, Window]] = {}
        self._waited: dict[int, list[tuple[str, int, Window]]] = {}
        self._waiting: set[int] = set()

    def note(self, warp: Warp, at: int, landed: int) -> None:
        """One observed instruction issued at ``at``, its result there at ``landed``."""
        instruction = warp.instruction
        activity = ACTIVITIES[instruction.observed - FIRST_ACTIVITY]
        block = instruction.k_tile + warp.trip * warp.segment.tiles_per_trip
        if instruction.kind in (DEPBAR, BAR):
            if warp.index not in self._waiting:
                begin = min(at, warp.stalled_until) if instruction.kind == DEPBAR else at
                self._waited.setdefault(warp.index, []).append((activity, block, [begin, at + 1]))
            self._waiting.add(warp.index)
            return
        self._waiting.discard(warp.index)
        stretch = 0 if activity.startswith("copy") else len(self._waited.get(warp.index, ()))
        stretches = self._activities.setdefault((warp.index, activity, block), {})
        window = stretches.setdefault(stretch, [at, landed])
        window[0], window[1] = min(window[0], at), max(window[1], landed)

    def released(self, warp: Warp, at: int) -> None:
        """The warp leaves a barrier at ``at``: its open wait ends there."""
        waits = self._waited.get(warp.index)
        if waits and warp.index in self._waiting:
            waits[-1][2][1] = at
            self._waiting.discard(warp.index)

    def pipeline(self, k_tiles: int, stages: int) -> tuple[PipelineRow, ...]:  # noqa: ARG002 - key blocks have no ring
        """
        The key blocks of warp 0, in the order walked: K's copies, the first wait, first MMA of S to last of the output.
        """
        if not self.retired:
            return ()
        begin = self.retired[0].launched
        rows = []
        for block in range(k_tiles):
            keys = self._activities[0, "copy_k", block][0]
            first = min(self._activities[0, "qk", block].values())
            last = max(self._activities[0, "pv", block].values())
            wait = next((window for _, of, window in self._waited.get(0, []) if of == block), [first[0], first[0]])
            rows.append(
                PipelineRow(
                    k_tile=block,
                    stage=0,
                    copy_issue=keys[0] - begin,
                    copy_done=keys[1] - begin,
                    wait_begin=wait[0] - begin,
                    wait_end=wait[1] - begin,
                    mma_begin=first[0] - begin,
                    mma_end=last[1] - begin,
                )
            )
        return tuple(rows)

    def timeline(self, stages: int) -> Timeline:  # noqa: ARG002 - key blocks have no ring
        """Spans of the watched CTA's warps and of what they did for each key block, from the CTA's launch."""
        warps = sorted(self.retired, key=lambda warp: warp.index)
        if not warps:
            return Timeline((), ())
        begin, cta = warps[0].launched, warps[0].cta.index
        spans = [
            WarpSpan(cta, warp.index, warp.smsp, first - begin, end - begin, REASONS[reason])
            for warp in warps
            for first, end, reason in warp.spans or ()
        ]
        found = [
            (warp, activity, block, window)
            for (warp, activity, block), stretches in self._activities.items()
            for window in stretches.values()
        ]
        found += [
            (warp, f"wait_{activity}", block, window)
            for warp, waits in self._waited.items()
            for activity, block, window in waits
        ]
        activities = [
            KTileSpan(cta, warp, block, -1, 0, activity, window[0] - begin, window[1] - begin)
            for warp, activity, block, window in found
        ]
        activities.sort(key=lambda span: (span.warp, span.begin, span.k_tile, span.activity))
        return Timeline(tuple(spans), tuple(activities))
