"""One warp: where it stands in its stream, what it waits for, and how its lifetime divides into stall reasons."""

from gpusim.sim.code import Decoded, DecodedSegment
from gpusim.sim.cta import Cta
from gpusim.sim.stall_reasons import NOT_SELECTED, REASONS, SELECTED, SHORT_SCOREBOARD, WAIT
from gpusim.units import SCOREBOARDS


class Warp:
    """
    State of one warp.

    Attributes:
        ready: First cycle at which the next instruction's own waits are over (pipes and queues aside).
        issued: Cycle of the last issue, one before the launch at first.
        stalled_until: End of the fixed stall of the last instruction.
        reason: What it waits for between ``stalled_until`` and ``ready``.
        scoreboards: Cycle at which each scoreboard is free.
        groups: Running maximum of the completion cycles of the committed copy groups.
        open_group: Completion cycle of the copies since the last commit.
        store_drained: Cycle at which the last store has left the MIO queue.
        tile_stored: Cycle at which the last store that a barrier waits for (``Decoded.fills``) is in shared memory.
        spans: (begin, end, reason index) tiling the lifetime; None where nobody observes.
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
        """The next instruction may not issue before ``cycle``; if that is the longest wait, ``reason`` is why."""
        if cycle > self.ready:
            self.ready = cycle
            self.reason = reason

    def hold(self, until: int, reason: int) -> None:
        """Spend the cycles up to ``until`` before the first instruction is even looked at."""
        self._charge(self.issued + 1, until, reason)
        self.issued = until - 1
        self.stalled_until = self.ready = until

    def account(self, at: int, free: int, throttle: int) -> None:
        """
        Divide the cycles since the last issue among the reasons, and count ``at`` itself as selected.

        Args:
            at: Cycle of this issue.
            free: Cycle at which the pipe or queue this instruction needs could take it.
            throttle: Reason charged while it could not.
        """
        begin = self.issued + 1
        if at > begin:
            # Each reason lasts to its mark; what is left after the last mark, another warp took.
            begin = self._charge(begin, self.stalled_until, WAIT)
            begin = self._charge(begin, self.ready, self.reason)
            begin = self._charge(begin, free, throttle)
            self._charge(begin, at, NOT_SELECTED)
        self.stalls[SELECTED] += 1
        if self.spans is not None:
            self.spans.append((at, at + 1, SELECTED))
        self.issued = at

    def _charge(self, begin: int, end: int, reason: int) -> int:
        """Charge the cycles from ``begin`` to ``end``, if any; where the next reason begins."""
        if end <= begin:
            return begin
        self.stalls[reason] += end - begin
        if self.spans is not None:
            self.spans.append((begin, end, reason))
        return end

    def commit_group(self) -> None:
        """Close the open copy group. Groups complete in order: one is complete when it and all before it are."""
        done = self.open_group
        if self.groups and self.groups[-1] > done:
            done = self.groups[-1]
        self.groups.append(done)
        self.open_group = 0

    def group_wait(self, pending: int) -> int:
        """Cycle at which at most ``pending`` committed groups are still in flight."""
        done = len(self.groups) - pending
        return self.groups[done - 1] if done > 0 else 0

    def set_scoreboard(self, board: int, free: int, reason: int) -> None:
        """Hold a scoreboard until ``free``; it counts, so that it is free when all that hold it have let go."""
        if free >= self.scoreboards[board]:
            self.scoreboards[board] = free
            self.scoreboard_reasons[board] = reason

    def advance(self) -> Decoded:
        """Move on to the next instruction, round the loop or into the next segment."""
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
