"""Arranges timeline spans in lanes for a trace viewer: no spans of a lane overlap."""

import heapq
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

from gpusim.errors import BadInput
from gpusim.results.timeline import KTileSpan

K_TILE_ACTIVITIES = ("copy", "wait", "ldmatrix", "mma")
"""Activities of a k tile, in order."""

KEY_BLOCK_ACTIVITIES = (
    *("copy_q", "copy_k", "wait_qk", "qk", "copy_v", "wait_softmax", "softmax", "wait_pv", "pv"),
    *("wait_output", "output"),
)
"""Activities of a key block of attention, in order."""

ACTIVITIES = (*K_TILE_ACTIVITIES, *KEY_BLOCK_ACTIVITIES)


CONSUMED_BY = {"copy": "wait", "copy_q": "wait_qk", "copy_k": "wait_qk", "copy_v": "wait_pv"}
"""The wait for the copies of each activity."""


def consumer_of(waits: Iterable[KTileSpan], issued: int, landed: int) -> KTileSpan | None:
    """
    Return the wait that consumes a copy, from the ordered waits of its warp and k tile; None if none does.

    The wait ends after the copy was issued. If several do, it is the first that ends after the copy has landed, else
    the last one: stores of a pipelined main loop may land behind its barrier (D32).
    """
    behind = [one for one in waits if one.end > issued]
    return next((one for one in behind if one.end >= landed), behind[-1] if behind else None)


def activity_rank(activity: str) -> int:
    """
    Return the place of an activity in ``ACTIVITIES``.

    Raises:
        BadInput: There is no such activity: the timeline is damaged.
    """
    if activity not in ACTIVITIES:
        raise BadInput(f"damaged timeline: an activity must be one of {', '.join(ACTIVITIES)}, got {activity!r:.40}")
    return ACTIVITIES.index(activity)


@dataclass(frozen=True, slots=True)
class Slice:
    """
    A named interval of cycles [begin, end).

    Attributes:
        begin, end: First cycle, and one past the last.
        name: Name of the interval.
    """

    begin: int
    end: int
    name: str


def k_tile_slice(span: KTileSpan) -> Slice:
    """Return a span as a slice named by activity, k tile and k group or stage; or by activity and key block."""
    if span.activity in KEY_BLOCK_ACTIVITIES:
        return Slice(span.begin, span.end, f"{span.activity} key block {span.k_tile}")
    where = f"stage {span.stage}" if span.k_group < 0 else f"k group {span.k_group}"
    return Slice(span.begin, span.end, f"{span.activity} k tile {span.k_tile}, {where}")


ISSUING = "selected, wait"
"""Name of an interval in which a warp issues at its own pace: cycles selected, and fixed stalls between them."""


class Stretch(NamedTuple):
    """
    An interval of a warp's lifetime.

    Attributes:
        begin, end: First cycle, and one past the last.
        reason: Stall reason; -1 where reasons 0 and 1 are merged.
        cycles: Cycles of reasons 0 and 1.
    """

    begin: int
    end: int
    reason: int
    cycles: tuple[int, int]


def stall_slices(spans: Iterable[tuple[int, int, int]]) -> list[Stretch]:
    """
    Return a warp's lifetime, with all cycles between two stalls merged.

    A warp alternates between ``selected`` and ``wait`` every few cycles. Drawn separately, these cycles would make up
    nearly all of a large trace.

    Args:
        spans: Begin, end and reason of each span; reasons 0 and 1 are merged.
    """
    found: list[Stretch] = []
    for begin, end, reason in spans:
        cycles = (end - begin if reason == 0 else 0, end - begin if reason == 1 else 0)
        one = Stretch(begin, end, -1 if reason < 2 else reason, cycles)
        if found and found[-1].reason == one.reason:
            before = found.pop()
            both = before.cycles[0] + cycles[0], before.cycles[1] + cycles[1]
            one = one._replace(begin=before.begin, cycles=both)
        found.append(one)
    return found


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


def open_counts(spans: Iterable[tuple[int, int, int]]) -> tuple[tuple[int, int], ...]:
    """
    Add up the weights of the open spans: (cycle, sum) at every cycle at which the sum changes. The last sum is 0.

    Args:
        spans: Begin, end and weight of each.
    """
    changes: dict[int, int] = {}
    for begin, end, weight in spans:
        changes[begin] = changes.get(begin, 0) + weight
        changes[end] = changes.get(end, 0) - weight
    count, steps = 0, []
    for cycle in sorted(changes):
        if changes[cycle]:
            count += changes[cycle]
            steps.append((cycle, count))
    return tuple(steps)
