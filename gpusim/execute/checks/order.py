"""
Orders the warps of a CTA by the barriers that they met, with vector clocks.

The barriers of a warp divide its instructions into segments: segment n lies behind its first n barrier instructions.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from gpusim.arrays import IntArray
from gpusim.errors import BadInput
from gpusim.schedule.happens_before import NEVER_COMPLETE, happens_before
from gpusim.schedule.warp_events import ALL_OF_THE_CTA, Arrive, Sync


class UnknownOrder(Exception):
    """The order of the warps is unknown; the message says why."""


@dataclass(frozen=True, slots=True)
class WarpOrder:
    """
    The order of the segments.

    Attributes:
        clocks: Vector clocks, shape [rows, warps]: the segments of each warp that have happened before.
        starts: The warp and the first segment of each row in one integer, ascending.
        stuck: Last segment of each warp that never leaves a barrier.
    """

    clocks: IntArray
    starts: IntArray
    stuck: Mapping[int, int]

    def rows(self, warp: IntArray, segment: IntArray) -> IntArray:
        """
        Return the row of ``clocks`` of each segment.

        Raises:
            UnknownOrder: A segment lies behind a wait that never ends.
        """
        for one, last in self.stuck.items():
            if (segment[warp == one] > last).any():
                raise UnknownOrder("warps meet at barriers in an order that is not understood")
        return np.searchsorted(self.starts, warp * NEVER_COMPLETE + segment, side="right") - 1


def warp_order(warps: Sequence[Sequence[Arrive | Sync | None]]) -> WarpOrder:
    """
    Return the order of a CTA's warps.

    A warp that exits counts as arrived at every later phase of a barrier that expects the whole CTA.

    Args:
        warps: The events of each warp at barriers; None for an event whose barrier or count is unknown.

    Raises:
        UnknownOrder: A barrier's number or count is in a register, or warps expect different counts.
    """
    known = [[event for event in events if event is not None] for events in warps]
    if any(len(one) < len(events) for one, events in zip(known, warps, strict=True)):
        raise UnknownOrder("the number or count of a barrier is in a register")
    for barrier in {event.barrier for events in known for event in events}:
        arrivals = [
            sum(event.barrier == barrier and event.expected in (ALL_OF_THE_CTA, len(warps)) for event in events)
            for events in known
        ]
        for events, count in zip(known, arrivals, strict=True):
            events.extend([Arrive(barrier)] * (max(arrivals) - count))
    try:
        order = happens_before(known)
    except BadInput as error:
        raise UnknownOrder(str(error)) from error
    above = np.repeat(np.arange(len(warps)), np.diff(order.first_rows))
    stuck = {one.warp: one.position for one in order.stuck}
    return WarpOrder(order.clocks, order.starts + above * NEVER_COMPLETE, stuck)
