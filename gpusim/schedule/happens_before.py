"""
The happens-before order of the accesses of a CTA's warps, by vector clocks. This module knows no op and no address.

Each warp has a sequence of events of its own. A warp and a position in its sequence identify an event. Three rules
order the events:

- The events of a warp happen in program order. The lanes of a warp count as one thread.
- An asynchronous write happens after the events before its issue, and before the events after the wait that covers its
  commit group. It is unordered with the events between, and with other asynchronous writes in flight.
- The arrivals that complete a phase of a barrier happen before the events after each wait for that phase.

Not modelled: lanes of a warp that diverge (PTX orders them by bar.warp.sync only); fences; an order through a flag in
memory; a warp that waits so late that the parity of its barrier has changed twice.
"""

from collections import defaultdict, deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple, assert_never

import numpy as np

from gpusim.arrays import BoolArray, IntArray
from gpusim.errors import BadInput
from gpusim.schedule.warp_events import (
    ALL_OF_THE_CTA,
    Arrive,
    AwaitCopies,
    AwaitPhase,
    CommitCopies,
    Effect,
    MemoryAccess,
    Sync,
    WarpEvent,
)

NEVER_COMPLETE: Final = 1 << 40
"""Position at which an access ends that no wait covers: beyond all events."""

BarrierEvent = Arrive | AwaitPhase | Sync


class EarlyArrival(NamedTuple):
    """
    An arrival that another interleaving of the warps may count in the phase before.

    Attributes:
        warp, position: The event.
        barrier: Number of the barrier.
        phase: Phase in which it was counted, from 0.
    """

    warp: int
    position: int
    barrier: int
    phase: int


class StuckWarp(NamedTuple):
    """
    A warp that waits for a phase that never completes.

    Attributes:
        warp, position: The event that waits; the events after it never happen.
        barrier: Number of the barrier.
        arrived: Warps that have arrived in its phase.
        expected: Arrivals that would complete it; 0 if none has come.
    """

    warp: int
    position: int
    barrier: int
    arrived: int
    expected: int


@dataclass(frozen=True, eq=False)
class HappensBefore:
    """
    The order of the accesses of a CTA's warps.

    Accesses are numbered warp by warp, in program order. Each column has one entry for each access.

    Attributes:
        warps: Number of warps.
        warp, begin: The event: its warp, and its position among the events of the warp.
        end: Position of the event by which the access is complete: the event itself, or the wait that covers an
            asynchronous write; ``NEVER_COMPLETE`` if none does.
        kind, footprint: As in ``MemoryAccess``.
        time: Lamport time. An access that happens before another has a smaller one.
        clocks: Vector clocks [rows, warps]: the number of events of each warp that have happened before. Each wait at a
            barrier begins a row.
        row: Row of each access.
        first_rows: First row of each warp, and the number of rows.
        starts: Position from which each row holds.
        early: Arrivals whose phase depends on the interleaving. With such arrivals the order is that of one
            interleaving; without, it is that of all.
        stuck: Warps that wait forever.
    """

    warps: int
    warp: IntArray
    begin: IntArray
    end: IntArray
    kind: IntArray
    footprint: IntArray
    time: IntArray
    clocks: IntArray
    row: IntArray
    first_rows: IntArray
    starts: IntArray
    early: tuple[EarlyArrival, ...]
    stuck: tuple[StuckWarp, ...]

    def known(self, accesses: IntArray, warp: int) -> IntArray:
        """Return for each access how many events of a warp have happened before it."""
        return np.where(self.warp[accesses] == warp, self.begin[accesses], self.clocks[self.row[accesses], warp])

    def after(self, accesses: IntArray, warp: int) -> IntArray:
        """Return for each access the first position in a warp that happens after it, or ``NEVER_COMPLETE``."""
        found = np.empty(len(accesses), np.int64)
        rows = slice(self.first_rows[warp], self.first_rows[warp + 1])
        starts = np.append(self.starts[rows], NEVER_COMPLETE)
        for other in range(self.warps):
            chosen = self.warp[accesses] == other
            ends = self.end[accesses[chosen]]
            if other == warp:
                found[chosen] = ends + 1
            else:
                found[chosen] = starts[np.searchsorted(self.clocks[rows, other], ends, side="right")]
        return np.minimum(found, NEVER_COMPLETE)

    def precedes(self, first: IntArray, second: IntArray) -> BoolArray:
        """Return for each pair of accesses whether the first is complete before the second is issued, in every run."""
        same = self.warp[first] == self.warp[second]
        known = np.where(same, self.begin[second], self.clocks[self.row[second], self.warp[first]])
        ordered: BoolArray = self.end[first] < known
        return ordered


def happens_before(warps: Sequence[Sequence[WarpEvent]]) -> HappensBefore:
    """
    Order the accesses of a CTA.

    Args:
        warps: Events of each warp, in program order.

    Raises:
        BadInput: Arrivals of one phase of a barrier expect different numbers of warps.
    """
    columns = [_Columns.of(events) for events in warps]
    run = _Run([one.barriers for one in columns])
    run.to_the_end()
    first_rows = np.cumsum([0, *(len(one) for one in run.starts)])
    parts = [_placed(one, run, number, int(first_rows[number])) for number, one in enumerate(columns)]
    warp, begin, end, kind, footprint, time, row = (
        np.concatenate([np.zeros(0, np.int64), *column]) for column in zip(*parts, strict=True)
    )
    return HappensBefore(
        warps=len(warps),
        warp=warp,
        begin=begin,
        end=end,
        kind=kind,
        footprint=footprint,
        time=time,
        clocks=np.array([clock for clocks in run.clocks for clock in clocks]),
        row=row,
        first_rows=first_rows,
        starts=np.concatenate(run.starts),
        early=tuple(run.early),
        stuck=tuple(run.stuck),
    )


@dataclass(frozen=True, slots=True)
class _Columns:
    """
    The events of one warp, by kind.

    Attributes:
        begin, end, kind, footprint: Columns of accesses, as in ``HappensBefore``.
        barriers: Positions and events at barriers.
    """

    begin: list[int] = field(default_factory=list)
    end: list[int] = field(default_factory=list)
    kind: list[Effect] = field(default_factory=list)
    footprint: list[int] = field(default_factory=list)
    barriers: list[tuple[int, BarrierEvent]] = field(default_factory=list)

    @classmethod
    def of(cls, events: Sequence[WarpEvent]) -> "_Columns":
        columns = cls()
        groups: list[list[int]] = []
        open_group: list[int] = []
        complete = 0
        for position, event in enumerate(events):
            match event:
                case MemoryAccess(kind, footprint):
                    if kind is Effect.ASYNC_WRITE:
                        open_group.append(len(columns.begin))
                    columns.begin.append(position)
                    columns.end.append(NEVER_COMPLETE if kind is Effect.ASYNC_WRITE else position)
                    columns.kind.append(kind)
                    columns.footprint.append(footprint)
                case CommitCopies():
                    groups.append(open_group)
                    open_group = []
                case AwaitCopies(pending):
                    while complete < len(groups) - pending:
                        for number in groups[complete]:
                            columns.end[number] = position
                        complete += 1
                case Arrive() | AwaitPhase() | Sync():
                    columns.barriers.append((position, event))
                case _:
                    assert_never(event)
        return columns


def _placed(columns: _Columns, run: "_Run", number: int, first_row: int) -> tuple[IntArray, ...]:
    """Return the columns of a warp's accesses up to the event at which it is stuck, with times and rows."""
    begin = np.array(columns.begin, np.int64)
    happens = begin < run.ends[number]
    begin, starts = begin[happens], np.array(run.starts[number])
    end = np.array(columns.end, np.int64)[happens]
    row = np.searchsorted(starts, begin, side="right") - 1
    return (
        np.full(len(begin), number),
        begin,
        np.where(end < run.ends[number], end, NEVER_COMPLETE),
        np.array(columns.kind, np.int64)[happens],
        np.array(columns.footprint, np.int64)[happens],
        np.array(run.times[number])[row] + begin - starts[row],
        row + first_row,
    )


class _Phase(NamedTuple):
    """A complete phase: the joined clock of its arrivals, and the time after the last of them."""

    clock: IntArray
    time: int


@dataclass(slots=True)
class _Barrier:
    """
    The state of a barrier.

    Attributes:
        complete: Complete phases of the barrier.
        arrived, expected: Arrivals in the current phase, so far and expected.
        clock, time: Join of their clocks, and the time after the last of them.
        positions, previous: For each warp, the number of its events up to its arrival in the current phase, and in the
            phase before.
        waiting: Warps that wait for the current phase or a later one, each with the position of its wait.
    """

    clock: IntArray
    positions: IntArray
    previous: IntArray
    complete: list[_Phase] = field(default_factory=list)
    arrived: int = 0
    expected: int = 0
    time: int = 0
    waiting: list[tuple[int, int]] = field(default_factory=list)


class _Run:
    """
    One run of the warps, in which each event at a barrier happens as soon as it can.

    Attributes:
        starts, clocks, times: For each warp the positions at which its clock changes, the clocks from there on, and the
            Lamport times there.
        ends: For each warp the number of its events that happen.
        early, stuck: As in ``HappensBefore``.
    """

    def __init__(self, barriers: Sequence[Sequence[tuple[int, BarrierEvent]]]) -> None:
        count = len(barriers)
        self.events = barriers
        self.starts = [[0] for _ in barriers]
        self.clocks = [[np.zeros(count, np.int64)] for _ in barriers]
        self.times = [[0] for _ in barriers]
        self.ends = [NEVER_COMPLETE for _ in barriers]
        self.early: list[EarlyArrival] = []
        self.stuck: list[StuckWarp] = []
        self.ready = deque(range(count))
        self.at: defaultdict[int, _Barrier] = defaultdict(lambda: _Barrier(*np.zeros((3, count), np.int64)))
        # The phase for which each warp has waited last, or will wait next after an arrival, counted from 1 and from 0.
        self.awaited: defaultdict[tuple[int, int], int] = defaultdict(int)

    def to_the_end(self) -> None:
        """Run the warps until none can go on."""
        warps = [self._warp(number) for number in range(len(self.events))]
        while self.ready:
            number = self.ready.popleft()
            for barrier, position in warps[number]:
                self.at[barrier].waiting.append((number, position))
                break
        for barrier, state in self.at.items():
            for number, position in state.waiting:
                self.ends[number] = position
                self.stuck.append(StuckWarp(number, position, barrier, state.arrived, state.expected))
        self.stuck.sort()

    def _warp(self, number: int) -> Iterator[tuple[int, int]]:
        """Run a warp; yield barrier and position whenever the warp waits there until a phase is complete."""
        for position, event in self.events[number]:
            state, key = self.at[event.barrier], (number, event.barrier)
            if not isinstance(event, AwaitPhase):
                self.awaited[key] = len(state.complete)
                self._arrive(number, position, event, state)
            if not isinstance(event, Arrive):
                phase = self.awaited[key]
                self.awaited[key] += 1
                while phase >= len(state.complete):
                    yield event.barrier, position
                self._begin_row(number, position, state.complete[phase])

    def _arrive(self, number: int, position: int, event: Arrive | Sync, state: _Barrier) -> None:
        expected = len(self.events) if event.expected == ALL_OF_THE_CTA else event.expected
        if state.arrived and expected != state.expected:
            raise BadInput(
                f"barrier {event.barrier} must expect as many warps at each arrival of a phase: warp {number} expects"
                f" {expected}, others {state.expected}"
            )
        clock = self.clocks[number][-1].copy()
        clock[number] = position
        if state.complete and (clock < state.previous).any():
            self.early.append(EarlyArrival(number, position, event.barrier, len(state.complete)))
        clock[number] = state.positions[number] = position + 1
        np.maximum(state.clock, clock, out=state.clock)
        state.time = max(state.time, self.times[number][-1] + position - self.starts[number][-1] + 1)
        state.arrived, state.expected = state.arrived + 1, expected
        if state.arrived == expected:
            state.complete.append(_Phase(state.clock, state.time))
            state.previous, state.arrived, state.time = state.positions, 0, 0
            state.clock, state.positions = np.zeros((2, len(self.events)), np.int64)
            self.ready.extend(waiter for waiter, _ in state.waiting)
            state.waiting.clear()

    def _begin_row(self, number: int, position: int, phase: _Phase) -> None:
        """Let a warp go on after its wait at a position: it knows what the arrivals of the phase knew."""
        own = self.times[number][-1] + position - self.starts[number][-1]
        self.starts[number].append(position + 1)
        self.clocks[number].append(np.maximum(self.clocks[number][-1], phase.clock))
        self.times[number].append(max(own + 1, phase.time))
