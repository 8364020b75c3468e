"""
The calendar of the core: a queue of events. An event is an SMSP that wakes to issue, or a CTA slot that launches.

In silicon: nothing. A scheduler looks for an instruction in every cycle; a simulated SMSP sleeps until one of its warps
can issue.
Figures: none.
State: a timing wheel with a ring of events for each of the next ``WHEEL`` half cycles, and one ring of later events.
Timing: events of one half cycle are taken in the order in which they were scheduled.

>>> calendar = Calendar([zeros(3) for _ in range(4)])
>>> for event, due in ((2, 9), (0, 9), (1, 4)):
...     calendar.schedule(event, due)
>>> [calendar.take() for _ in range(3)], calendar.cycle
([1, 2, 0], 4)
"""

from typing import TYPE_CHECKING

from gpusim.sim.columns import zeros
from gpusim.sim.core.constants import WHEEL, WHEEL_MASK

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gpusim.sim.columns import Column


class Calendar:
    """
    A queue of events in order of time. Events of one time keep the order in which they were scheduled.

    Times are half cycles. ``cycle`` is the cycle of the event taken last. An event has at most one scheduled time.

    The queue is a timing wheel: each of its ``WHEEL`` half cycles has a ring of events. Events beyond the wheel wait in
    one ring. When the wheel is empty it advances, and these events are sorted into its rings. No event is scheduled
    before the wheel's first half cycle.
    """

    def __init__(self, columns: "Sequence[Column | memoryview[int]]") -> None:
        """Build an empty calendar on four columns of zeros; an event is identified by its index in them."""
        self.last_of = zeros(WHEEL + 1, -1)  # the last event of each time's ring, -1 where there is none
        self.due, self.before, self.after, self.listed = columns
        self.now, self.wheel_end, self.cycle = 0, WHEEL, 0
        self.count, self.later = 0, 0

    def schedule(self, event: int, due: int) -> None:
        """Schedule an event at half cycle ``due``, in place of its earlier time if it has one."""
        if self.listed[event]:
            self.drop(event)
        self.due[event] = due
        if due < self.now:  # noqa: PLR1730 - max and min cost a call where this is interpreted
            self.now = due
        self.append(event)

    def ring_of(self, event: int) -> int:
        """Return the index of the ring that a scheduled event is in."""
        due = self.due[event]
        return due & WHEEL_MASK if due < self.wheel_end else WHEEL

    def append(self, event: int) -> None:
        """Add an event to the end of its ring."""
        ring = self.ring_of(event)
        last = self.last_of[ring]
        if last < 0:
            self.before[event] = self.after[event] = event
        else:
            first = self.after[last]
            self.before[event], self.after[event] = last, first
            self.after[last] = self.before[first] = event
        self.last_of[ring] = event
        self.listed[event] = 1
        self.count += 1
        if ring == WHEEL:
            self.later += 1

    def drop(self, event: int) -> None:
        """Remove an event from its ring."""
        ring, before, after = self.ring_of(event), self.before[event], self.after[event]
        self.after[before], self.before[after] = after, before
        if self.last_of[ring] == event:
            self.last_of[ring] = -1 if before == event else before
        self.listed[event] = 0
        self.count -= 1
        if ring == WHEEL:
            self.later -= 1

    def first(self) -> int:
        """Return the next event of a calendar that is not empty."""
        if self.count == self.later:
            self.advance_wheel()
        while self.last_of[self.now & WHEEL_MASK] < 0:
            self.now += 1
        return self.after[self.last_of[self.now & WHEEL_MASK]]

    def take(self) -> int:
        """Remove the first event of a calendar that is not empty, and return it."""
        event = self.first()
        self.cycle = self.due[event] // 2
        self.drop(event)
        return event

    def advance_wheel(self) -> None:
        """Advance an empty wheel to the earliest event beyond it, and sort the events beyond it into rings."""
        last, count = self.last_of[WHEEL], self.later
        event, earliest = last, self.due[last]
        for _ in range(count):
            earliest = min(earliest, self.due[event])
            event = self.after[event]
        self.now = earliest
        self.wheel_end = earliest - (earliest & WHEEL_MASK) + WHEEL
        self.last_of[WHEEL] = -1
        self.count = self.later = 0
        event = self.after[last]
        for _ in range(count):
            after = self.after[event]
            self.append(event)
            event = after
