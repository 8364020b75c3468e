"""Arranges timeline spans in lanes that a trace viewer can draw: no span overlaps another in its lane."""

import heapq
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from gpusim.results.timeline import KTileSpan, WarpSpan

K_TILE_ACTIVITIES = ("copy", "wait", "ldmatrix", "mma")
"""Activities of a k tile, in the order in which it goes through them."""

KEY_BLOCK_ACTIVITIES = (
    *("copy_q", "copy_k", "wait_qk", "qk", "copy_v", "wait_softmax", "softmax", "wait_pv", "pv"),
    *("wait_output", "output"),
)
"""Activities of a key block of attention, in the order in which it goes through them."""

ACTIVITIES = (*K_TILE_ACTIVITIES, *KEY_BLOCK_ACTIVITIES)


@dataclass(frozen=True, slots=True)
class Slice:
    """A named stretch of cycles [begin, end)."""

    begin: int
    end: int
    name: str


def k_tile_slice(span: KTileSpan) -> Slice:
    """Return a span as a slice named by activity, k tile and k group or stage; or by activity and key block."""
    if span.activity in KEY_BLOCK_ACTIVITIES:
        return Slice(span.begin, span.end, f"{span.activity} key block {span.k_tile}")
    where = f"stage {span.stage}" if span.k_group < 0 else f"k group {span.k_group}"
    return Slice(span.begin, span.end, f"{span.activity} k tile {span.k_tile}, {where}")


ISSUING = "issuing"
"""Name of a stretch in which a warp issues at its own pace: cycles selected, and fixed stalls between them."""


def stall_slices(spans: Iterable[WarpSpan]) -> list[Slice]:
    """
    Return a warp's lifetime as slices: each stall under its reason, and what lies between two stalls as one slice.

    A warp alternates between ``selected`` and ``wait`` every few cycles. Drawn separately, these would hide the stalls
    and make up nearly all of a trace.
    """
    slices: list[Slice] = []
    for span in spans:
        name = ISSUING if span.reason in {"selected", "wait"} else span.reason
        if slices and slices[-1].name == name:
            slices[-1] = Slice(slices[-1].begin, span.end, name)
        else:
            slices.append(Slice(span.begin, span.end, name))
    return slices


def lanes(slices: Iterable[Slice]) -> tuple[tuple[Slice, ...], ...]:
    """
    Distribute slices over the fewest lanes without overlap. Each slice goes to the lowest lane that is free.
    """
    spread: list[list[Slice]] = []
    busy: list[tuple[int, int]] = []  # (end of its last slice, lane)
    free: list[int] = []
    for piece in sorted(slices, key=lambda piece: (piece.begin, piece.end, piece.name)):
        while busy and busy[0][0] <= piece.begin:
            heapq.heappush(free, heapq.heappop(busy)[1])
        if free:
            lane = heapq.heappop(free)
        else:
            lane = len(spread)
            spread.append([])
        spread[lane].append(piece)
        heapq.heappush(busy, (piece.end, lane))
    return tuple(tuple(lane) for lane in spread)


def open_counts(spans: Sequence[KTileSpan]) -> tuple[tuple[int, int], ...]:
    """Count the spans that are open: (cycle, count) at every cycle at which the count changes. The last count is 0."""
    changes: dict[int, int] = {}
    for span in spans:
        changes[span.begin] = changes.get(span.begin, 0) + 1
        changes[span.end] = changes.get(span.end, 0) - 1
    count, steps = 0, []
    for cycle in sorted(changes):
        if changes[cycle]:
            count += changes[cycle]
            steps.append((cycle, count))
    return tuple(steps)
