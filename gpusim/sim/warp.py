"""Models one warp: its position in the stream, what it waits for, and how its lifetime divides into stall reasons."""

from gpusim.sim.code import Decoded, DecodedSegment
from gpusim.sim.cta import Cta
from gpusim.sim.stall_reasons import NOT_SELECTED, REASONS, SELECTED, SHORT_SCOREBOARD, WAIT
from gpusim.units import SCOREBOARDS


class Warp:
    """
    The state of one warp.

    Attributes:
        ready: First cycle at which the next instruction may issue, if its pipe or queue is free.
        issued: Cycle of the last issue; before the first one, the cycle before the launch.
        stalled_until: End of the last instruction's fixed stall.
        reason: Stall reason between ``stalled_until`` and ``ready``.
        scoreboards: Cycle at which each scoreboard is free.
        groups: Cycle at which each committed copy group, and all before it, are complete.
        open_group: Cycle at which the copies since the last commit are complete.
        store_drained: Cycle at which the last global store has left the MIO queue.
        tile_stored: Cycle at which the last store that a barrier waits for (``Decoded.fills``) is in shared memory.
        stalls: Cycles charged so far, indexed by stall reason.
        spans: (begin, end, reason index) without gaps over the lifetime; None for a warp that is not observed.
    """

    __slots__ = (
        "cta",
        "groups",
        "index",
        "instruction",
        "issued",
        "launched",
        "open_group",
        "position",
        "ready",
        "reason",
        "scoreboard_reasons",
        "scoreboards",
        "segment",
        "segment_index",
        "segments",
        "smsp",
        "spans",
        "stalled_until",
        "stalls",
        "store_drained",
        "tile_stored",
        "trip",
    )

    def __init__(
        self, cta: Cta, index: int, smsp: int, segments: tuple[DecodedSegment, ...], *, observed: bool
    ) -> None:
        self.cta = cta
        self.index = index
        self.smsp = smsp
        self.launched = cta.launched
        self.segments = segments
        self.segment_index = 0
        self.segment = segments[0]
        self.position = 0
        self.trip = 0
        self.instruction: Decoded = segments[0].code[0]
        self.issued = self.launched - 1
        self.stalled_until = self.launched
        self.ready = self.launched
        self.reason = WAIT
        self.scoreboards = [0] * SCOREBOARDS
        self.scoreboard_reasons = [SHORT_SCOREBOARD] * SCOREBOARDS
        self.groups: list[int] = []
        self.open_group = 0
        self.store_drained = 0
        self.tile_stored = 0
        self.stalls = [0] * len(REASONS)
        self.spans: list[tuple[int, int, int]] | None = [] if observed else None

    def wait_until(self, cycle: int, reason: int) -> None:
        """Delay the next instruction until ``cycle``. If that is its longest wait, ``reason`` is its stall reason."""
        if cycle > self.ready:
            self.ready = cycle
            self.reason = reason

    def hold(self, until: int, reason: int) -> None:
        """Charge the cycles up to ``until`` to ``reason``, and delay the warp's first instruction until then."""
        self._charge(self.issued + 1, until, reason)
        self.issued = until - 1
        self.stalled_until = self.ready = until

    def account(self, at: int, free: int, throttle: int) -> None:
        """
        Charge the cycles since the last issue to stall reasons, and the cycle of this issue to "selected".

        Args:
            at: Cycle of this issue.
            free: Cycle from which the instruction's pipe or queue is free.
            throttle: Reason charged while it is busy.
        """
        begin = self.issued + 1
        if at > begin:
            # Each reason lasts until its cycle. In the cycles that remain, another warp was selected.
            begin = self._charge(begin, self.stalled_until, WAIT)
            begin = self._charge(begin, self.ready, self.reason)
            begin = self._charge(begin, free, throttle)
            self._charge(begin, at, NOT_SELECTED)
        self.stalls[SELECTED] += 1
        if self.spans is not None:
            self.spans.append((at, at + 1, SELECTED))
        self.issued = at

    def _charge(self, begin: int, end: int, reason: int) -> int:
        """Charge the cycles from ``begin`` to ``end``, if any, and return the cycle at which the next reason begins."""
        if end <= begin:
            return begin
        self.stalls[reason] += end - begin
        if self.spans is not None:
            self.spans.append((begin, end, reason))
        return end

    def commit_group(self) -> None:
        """Close the open copy group. Groups complete in order, so it completes no earlier than those before it."""
        done = self.open_group
        if self.groups and self.groups[-1] > done:
            done = self.groups[-1]
        self.groups.append(done)
        self.open_group = 0

    def group_wait(self, pending: int) -> int:
        """Return the first cycle at which at most ``pending`` committed groups are incomplete."""
        done = len(self.groups) - pending
        return self.groups[done - 1] if done > 0 else 0

    def set_scoreboard(self, board: int, free: int, reason: int) -> None:
        """Hold a scoreboard until cycle ``free``. If several instructions hold it, the last one frees it."""
        if free >= self.scoreboards[board]:
            self.scoreboards[board] = free
            self.scoreboard_reasons[board] = reason

    def advance(self) -> Decoded:
        """Advance to the next instruction, which may begin another trip or the next segment, and return it."""
        position = self.position + 1
        code = self.segment.code
        if position == len(code):
            position = 0
            code = self._next_trip()
        self.position = position
        self.instruction = following = code[position]
        return following

    def _next_trip(self) -> tuple[Decoded, ...]:
        self.trip += 1
        while self.trip >= self.segment.trips or not self.segment.code:
            self.segment_index += 1
            self.segment = self.segments[self.segment_index]
            self.trip = 0
        return self.segment.code
