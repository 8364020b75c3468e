"""
The calendar of the core: which SMSP looks for an instruction next, and which CTA slot launches.

In silicon: nothing; all SMSPs look in every cycle. Here they sleep until one of their warps can issue.
Figures: none.
State: a ring of events for each half cycle of the turn under way, and one ring of all later events.
Timing: events of one half cycle are taken in the order in which they were scheduled.

>>> calendar = Calendar([zeros(3) for _ in range(4)])
>>> for event, due in ((2, 9), (0, 9), (1, 4)):
...     calendar.schedule(event, due)
>>> [calendar.take() for _ in range(3)], calendar.cycle
([1, 2, 0], 4)
"""

from typing import TYPE_CHECKING

from gpusim.sim.columns import zeros
from gpusim.sim.core.constants import TURN, TURN_MASK

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gpusim.sim.columns import Column


class Calendar:
    """
    Events by time, and those of one time in the order in which they were scheduled; each event is there once.

    Times are half cycles; ``cycle`` is that of the event taken last. Each time of this turn has a ring of events. What
    comes after the turn waits in one ring, and is told apart when the turn is over. No time comes that is before the
    turn's first.
    """

    def __init__(self, columns: "Sequence[Column | memoryview[int]]") -> None:
        """Hold events in four columns of zeros; an event is its place in them."""
        self.last_of = zeros(TURN + 1, -1)  # the last event of each time's ring, -1 where there is none
        self.due, self.before, self.after, self.listed = columns
        self.now, self.turn_end, self.cycle = 0, TURN, 0
        self.count, self.later = 0, 0

    def schedule(self, event: int, due: int) -> None:
        """Schedule an event, anew where it was scheduled before."""
        if self.listed[event]:
            self.drop(event)
        self.due[event] = due
        if due < self.now:  # noqa: PLR1730 - max and min cost a call where this is interpreted
            self.now = due
        self.append(event)

    def ring_of(self, event: int) -> int:
        """Return the ring that an event belongs to."""
        due = self.due[event]
        return due & TURN_MASK if due < self.turn_end else TURN

    def append(self, event: int) -> None:
        """Put an event behind the others of its ring."""
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
        if ring == TURN:
            self.later += 1

    def drop(self, event: int) -> None:
        """Remove an event."""
        ring, before, after = self.ring_of(event), self.before[event], self.after[event]
        self.after[before], self.before[after] = after, before
        if self.last_of[ring] == event:
            self.last_of[ring] = -1 if before == event else before
        self.listed[event] = 0
        self.count -= 1
        if ring == TURN:
            self.later -= 1

    def first(self) -> int:
        """Return the earliest event, of several the one that was scheduled first; there is one."""
        if self.count == self.later:
            self.turn_over()
        while self.last_of[self.now & TURN_MASK] < 0:
            self.now += 1
        return self.after[self.last_of[self.now & TURN_MASK]]

    def take(self) -> int:
        """Remove the first event and return it; there is one."""
        event = self.first()
        self.cycle = self.due[event] // 2
        self.drop(event)
        return event

    def turn_over(self) -> None:
        """Begin the turn of the earliest event of those that wait, and tell them apart in their order."""
        last, count = self.last_of[TURN], self.later
        event, earliest = last, self.due[last]
        for _ in range(count):
            earliest = min(earliest, self.due[event])
            event = self.after[event]
        self.now = earliest
        self.turn_end = earliest - (earliest & TURN_MASK) + TURN
        self.last_of[TURN] = -1
        self.count = self.later = 0
        event = self.after[last]
        for _ in range(count):
            after = self.after[event]
            self.append(event)
            event = after
