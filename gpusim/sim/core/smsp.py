"""
The SMSPs: which warp issues, for how long it occupies the pipes and the tensor core, and what it waits for next.

In silicon: an SM has four SMSPs. Each has a scheduler that issues one warp instruction a cycle, pipes of its own, among
them the tensor core, and a queue to the MIO.
Figures: ``mufu_dispatch``. Issue intervals, latencies and stall counts are columns of the code.
State: for each SMSP its clock, the warp planned next, and the ports of its pipes; for each port when it is free and
when it was last taken.
Timing: an SMSP sleeps until one of its warps can issue. It issues instructions that use only its own pipes ahead of the
calendar, up to the earliest cycle at which a barrier or a launch could add a warp. It issues instructions that use
shared units when the calendar reaches their cycle.

>>> from doubles.by_hand import instruction, quiet
>>> chip = quiet(instruction(PIPE, stall=4), instruction(PIPE, stall=4))
>>> chip.hand(sm=0, cta=0, at=0, observed=0)
>>> chip.warps.launch(slot=0, at=0)
>>> chip.smsp.issue_from(smsp=0, now=chip.warps.ready[0]) - chip.warps.stalled[0], chip.smsp.instructions
(0, 2)
"""

from typing import TYPE_CHECKING

from gpusim.sim.core.barriers import Barriers
from gpusim.sim.core.constants import (
    BAR,
    CODE_WIDTH,
    COMMIT,
    DEPBAR,
    DUE,
    DUE_MASK,
    EXIT,
    GLOBAL,
    LDGSTS,
    NEVER,
    PERCENT,
    PIPE,
    RANK_OF_WAITED,
    SHARED,
    TAKES,
    TAKES_MASK,
)
from gpusim.sim.core.lsu import Lsu
from gpusim.sim.core.warps import SmspRows, Warps
from gpusim.sim.stall_reasons import (
    BRANCH_RESOLVING,
    DISPATCH_STALL,
    DRAIN,
    LONG_SCOREBOARD,
    NOT_SELECTED,
    SELECTED,
    SHORT_SCOREBOARD,
    WAIT,
)

if TYPE_CHECKING:
    from gpusim.sim.columns import CodeRows
    from gpusim.sim.figures import Figures


class Smsp:
    """
    The SMSPs of all SMs.

    Attributes:
        instructions: Warp instructions that all SMSPs issued.
        chosen_at, others_at: Further results of ``choose``: the cycle at which the chosen warp can issue, and the first
            cycle at which another warp can.
    """

    def __init__(  # noqa: PLR0917 - called positionally by both executions
        self, figures: "Figures", code: "CodeRows", rows: SmspRows, warps: Warps, barriers: Barriers, lsu: Lsu
    ) -> None:
        """
        Build SMSPs without warps.

        Args:
            figures: The machine's figures.
            code: The code of all CTAs.
            rows: The SMSPs' columns.
            warps: The warps that they choose from.
            barriers: The barrier units.
            lsu: The LSUs, which take memory instructions.
        """
        self.mufu_dispatch, self.instructions, self.chosen_at, self.others_at = figures.mufu_dispatch, 0, 0, 0
        self.warps, self.barriers, self.lsu = warps, barriers, lsu
        self.mio = self.lsu.mio
        self.record = self.warps.record
        self.stalls = self.record.stalls
        self.kind, self.port, self.throttle, self.interval = code.kind, code.port, code.throttle, code.interval
        self.latency, self.stall, self.gated, self.waits = code.latency, code.stall, code.gated, code.waits
        self.write, self.is_branch, self.dispatches, self.takes = (
            code.write,
            code.is_branch,
            code.dispatches,
            code.takes,
        )
        self.pending, self.awaits, self.activity = code.pending, code.awaits, code.activity
        self.trips, self.tiles, self.first, self.end = code.trips, code.tiles, code.first, code.end
        self.rows_of(rows)
        self.take_columns()

    def rows_of(self, rows: SmspRows) -> None:
        """Share the SMSPs' columns."""
        self.asleep, self.clock, self.planned, self.rivals = rows.asleep, rows.clock, rows.planned, rows.rivals
        self.active, self.blocked, self.last, self.sm_of = rows.active, rows.blocked, rows.last, rows.sm_of
        self.dispatched, self.taken, self.multiplies = rows.dispatched, rows.taken, rows.multiplies
        self.members, self.due_first, self.due_next = rows.members, rows.due_first, rows.due_next
        self.due_at, self.due_takes = rows.due_at, rows.due_takes
        self.port_free, self.port_user = rows.port_free, rows.port_user
        self.port_turn, self.port_takes = rows.port_turn, rows.port_takes
        self.tensor_port, self.mio_port = rows.tensor, rows.mio

    def take_columns(self) -> None:
        """Share the warps' columns."""
        warps = self.warps
        self.ready, self.port_of, self.age, self.number = warps.ready, warps.port_of, warps.age, warps.number
        self.issued, self.at, self.stalled, self.reason = warps.issued, warps.at, warps.stalled, warps.reason
        self.home, self.segment, self.trip, self.barred = warps.home, warps.segment, warps.trip, warps.barred
        self.held, self.watched, self.drained = warps.held, warps.watched, warps.drained
        self.board, self.board_reason = warps.board, warps.board_reason

    # --- choice ---

    def horizon(self, smsp: int, now: int) -> int:
        """Return the earliest cycle at which a barrier's release or a launch could give the SMSP another warp."""
        launch = self.warps.next_launch(self.sm_of[smsp], now)
        if self.blocked[smsp]:
            return min(launch, self.barriers.soonest_release(now))
        return launch

    def choose(self, smsp: int, clock: int) -> int:
        """
        Return the warp of an SMSP that can issue first, at ``clock`` or later, or -1 if it has none.

        Several warps that can issue in the same cycle are ranked by three keys (D4). First, a warp has priority if its
        instruction goes to the MIO, or waits on no scoreboard, or was ready by the end of the stall count of the
        instruction before. Second, the older CTA has priority. Third, the warp that issued last goes on, else the one
        that has waited longest.

        ``chosen_at`` is set to the cycle at which the chosen warp can issue, and ``others_at`` to the first cycle at
        which another one can.
        """
        chosen, best, others, first, issued, last = -1, NEVER, NEVER, 0, 0, self.last[smsp]
        mio = smsp + self.mio_port
        for place in range(smsp, smsp + self.active[smsp]):
            warp = self.members[place]
            at = self.ready[warp]
            free = self.port_free[self.port_of[warp]]
            if free > at:  # noqa: PLR1730 - max and min cost a call where this is interpreted
                at = free
            if at < clock:  # noqa: PLR1730
                at = clock
            if at > best:
                if at < others:  # noqa: PLR1730
                    others = at
                continue
            # The age of the CTA's first warp, so that all warps of a CTA have the same rank.
            rank = self.age[warp] - self.number[warp]
            if self.waits[self.at[warp]] and self.ready[warp] > self.stalled[warp] and self.port_of[warp] != mio:
                rank += RANK_OF_WAITED
            turn = -1 if warp == last else self.issued[warp]
            if at < best or rank < first or (rank == first and turn < issued):
                others = best
                chosen, best, first, issued = warp, at, rank, turn
            else:
                others = at
        self.chosen_at, self.others_at = best, others
        return chosen

    # --- issue ---

    def issue_from(self, smsp: int, now: int) -> int:  # noqa: C901 - the hot loop: splitting it costs a call
        """
        Issue all instructions of an SMSP whose order is certain at cycle ``now``; return the cycle of the next one.

        Returns ``NEVER`` if no warp is left to choose. ``choose`` is skipped in two cases: the warp that issued last
        can issue again before any other warp, or the warp planned for this cycle was not displaced by new warps.

        Not modelled: register banks and operand reuse, on which a pipe's interval depends (D23).
        """
        horizon = self.horizon(smsp, now)
        clock = max(self.clock[smsp], now)
        chosen, at, others = self.planned[smsp], now, self.rivals[smsp]
        if self.asleep[smsp] != now:
            chosen = -1
        self.planned[smsp] = self.asleep[smsp] = -1
        while True:
            if chosen < 0:
                chosen = self.choose(smsp, clock)
                if chosen < 0:
                    return NEVER
                at, others = self.chosen_at, self.others_at
            code = self.at[chosen]
            kind = self.kind[code]
            if at > now and (kind != PIPE or at >= horizon):
                self.clock[smsp] = clock
                self.planned[smsp], self.rivals[smsp] = chosen, others
                return at
            port, active = self.port_of[chosen], self.active[smsp]
            # A warp that waits for a pipe which its own last instruction occupies is charged ``WAIT``, not a throttle.
            own = kind == PIPE and self.port_user[port] == chosen
            self.account(chosen, at, self.port_free[port], WAIT if own else self.throttle[code])
            self.take(port, at)
            self.last[smsp] = chosen
            self.instructions += 1
            clock = at + 1
            if self.dispatches[code]:
                clock += self.mufu_dispatch
                self.dispatched[smsp] = clock
            self.clock[smsp] = clock
            if kind == PIPE:
                self.issue_pipe(smsp, chosen, at)
            else:
                self.issue_beyond(smsp, chosen, at)
                if kind == BAR:
                    # SMSPs that the barrier releases go first; then this one looks for an instruction again.
                    return now
            same = self.active[smsp] == active
            # Only these change the horizon: a warp that blocks at a barrier, and one that exits or unblocks others.
            if self.held[chosen] or (kind != PIPE and (kind == EXIT or not same)):
                horizon = self.horizon(smsp, now)
            # Issuing has made no other warp ready sooner: none can issue before ``others``.
            if same and kind != EXIT:
                at = max(self.ready[chosen], self.port_free[self.port_of[chosen]], clock)
                if at < others:
                    continue
            chosen = -1

    def take(self, port: int, at: int) -> None:
        """Add a cycle to those at which a port was last taken, in place of the oldest."""
        self.port_takes[port + self.port_turn[port]] = at
        self.port_turn[port] = self.port_turn[port] + 1 & TAKES_MASK

    def issue_pipe(self, smsp: int, warp: int, at: int) -> None:
        """Issue an instruction that uses only the SMSP's own pipes (kind ``PIPE``)."""
        code, port = self.at[warp], self.port_of[warp]
        self.port_free[port], self.port_user[port] = at + self.interval[code], warp
        if self.takes[code]:
            self.slow_mma(smsp, at, self.takes[code])
        if port == smsp + self.tensor_port:
            self.multiplies[smsp] = code
            if self.due_first[smsp] < self.due_next[smsp]:
                self.slow_by_reads(smsp, at)
        if self.write[code] >= 0:
            self.warps.hold_board(warp, self.write[code], at + self.latency[code], SHORT_SCOREBOARD)
        if self.watched[warp] and self.activity[code] >= 0:
            self.note(warp, at, at + self.latency[code])
        self.advance(warp, at)

    def issue_beyond(self, smsp: int, warp: int, at: int) -> None:
        """Issue an instruction of any kind but ``PIPE``."""
        code = self.at[warp]
        kind = self.kind[code]
        landed = at
        if kind in (SHARED, LDGSTS, GLOBAL):
            landed = self.lsu.issue(smsp, warp, at)
            if self.takes[code] and self.lsu.reads_registers(kind):
                self.note_reads(smsp, self.mio.collected, self.takes[code])
        elif kind == COMMIT:
            self.lsu.commit(smsp, warp, at)
        if self.watched[warp] and self.activity[code] >= 0:
            self.note(warp, at, landed)
        if kind == EXIT:
            self.warps.leave(warp, at + 1)
        else:
            if kind == BAR and self.barriers.meet(warp, at):
                self.lsu.fence(self.sm_of[smsp])
            self.advance(warp, at)

    # --- the tensor core beside register reads ---

    def slow_mma(self, smsp: int, at: int, hundredths: int) -> None:
        """
        Delay the tensor core by ``hundredths`` of a cycle, if it is reading operands at cycle ``at`` (D23).

        Arithmetic and memory instructions read registers beside an mma.sync, and each costs the tensor core some
        hundredths of a cycle. So does each mma.sync itself, in addition to its issue interval. The hundredths are added
        up; whole cycles delay the tensor core.
        """
        tensor = smsp + self.tensor_port
        free = self.port_free[tensor]
        if free > at:
            taken = self.taken[smsp] + hundredths
            self.port_free[tensor] = free + taken // PERCENT
            self.taken[smsp] = taken % PERCENT

    def note_reads(self, smsp: int, at: int, hundredths: int) -> None:
        """
        Delay the tensor core by a memory instruction whose registers are read at cycle ``at`` (D23).

        If no mma.sync that has issued is then under way, the delay is kept for the next one (``slow_by_reads``).
        """
        if self.port_free[smsp + self.tensor_port] > at:
            self.slow_mma(smsp, at, hundredths)
            return
        place = smsp + 2 * (self.due_next[smsp] & DUE_MASK)
        self.due_at[place], self.due_takes[place] = at, hundredths
        self.due_next[smsp] += 1
        self.due_first[smsp] = max(self.due_first[smsp], self.due_next[smsp] - DUE)

    def slow_by_reads(self, smsp: int, at: int) -> None:
        """
        Delay an mma.sync that issues at cycle ``at`` by the kept register reads that fall into its time.

        Reads before it are dropped; reads after it are kept for a later mma.sync.
        """
        tensor = smsp + self.tensor_port
        while self.due_first[smsp] < self.due_next[smsp]:
            place = smsp + 2 * (self.due_first[smsp] & DUE_MASK)
            if self.due_at[place] >= self.port_free[tensor]:
                return
            self.due_first[smsp] += 1
            if self.due_at[place] >= at:
                self.slow_mma(smsp, self.due_at[place], self.due_takes[place])

    # --- stall reasons ---

    def account(self, warp: int, at: int, free: int, throttle: int) -> None:
        """
        Charge a warp's cycles since its last issue to stall reasons, and the cycle of this issue to ``SELECTED``.

        Args:
            warp: The warp.
            at: Cycle of the issue.
            free: Cycle at which its port was free.
            throttle: Stall reason of a wait for the port.
        """
        begin = self.issued[warp] + 1
        if at > begin:
            # Each reason is charged up to its own cycle. In the remaining cycles another warp was selected.
            record = self.record
            begin = record.charge(warp, begin, self.stalled[warp], WAIT)
            begin = record.charge(warp, begin, self.ready[warp], self.reason[warp])
            if at > begin:
                begin = self.throttled(warp, begin, free, throttle)
                begin = record.charge(warp, begin, min(at, self.dispatched[self.home[warp]]), DISPATCH_STALL)
                record.charge(warp, begin, at, NOT_SELECTED)
        self.stalls[SELECTED] += 1
        if self.watched[warp]:
            self.record.span(warp, at, at + 1, SELECTED)
        self.issued[warp] = at

    def throttled(self, warp: int, begin: int, free: int, reason: int) -> int:
        """
        Charge a warp's wait for its port; return the cycle at which the port is free, or ``begin`` if it was free.

        A cycle at which another warp got the port is charged to ``NOT_SELECTED``, because this warp could have issued
        in it.

        Args:
            warp: The warp.
            begin: First cycle of the wait.
            free: Cycle at which the port is free.
            reason: Stall reason of the other cycles.
        """
        if free <= begin:
            return begin
        port, turn, count = self.port_of[warp], self.port_turn[self.port_of[warp]], 0
        while count < TAKES and self.port_takes[port + (turn - count - 1 & TAKES_MASK)] >= begin:
            count += 1
        for back in range(count, 0, -1):
            cycle = self.port_takes[port + (turn - back & TAKES_MASK)]
            if cycle < free:
                begin = self.record.charge(warp, begin, cycle, reason)
                begin = self.record.charge(warp, begin, cycle + 1, NOT_SELECTED)
        return self.record.charge(warp, begin, free, reason)

    def note(self, warp: int, at: int, landed: int) -> None:
        """Log an instruction of a watched CTA, its issue and the arrival of its data."""
        tiles = self.trip[warp] * self.tiles[self.segment[warp]]
        self.record.note(warp, self.at[warp] // CODE_WIDTH, tiles, at, landed, self.stalled[warp])

    # --- the next instruction ---

    def advance(self, warp: int, at: int) -> None:
        """Move a warp, which issued at cycle ``at``, to its next instruction; set when that may issue first."""
        code = self.at[warp]
        self.stalled[warp] = self.ready[warp] = at + self.stall[code]
        self.reason[warp] = WAIT
        if self.is_branch[code]:
            self.warps.wait_until(warp, at + self.latency[code], BRANCH_RESOLVING)
        code += CODE_WIDTH
        segment = self.segment[warp]
        if code == self.end[segment]:
            code = self.next_trip(warp, segment)
        self.at[warp] = code
        self.port_of[warp] = self.home[warp] + self.port[code]
        if self.gated[code]:
            self.gate(warp, code)
        if self.barred[warp]:
            self.barriers.join(warp, code)
            if self.held[warp]:
                return
        if self.gated[code]:
            self.warps.fetch(warp)
            if self.awaits[code]:
                self.warps.await_slice(warp)

    def next_trip(self, warp: int, segment: int) -> int:
        """Begin a segment's next trip, or the next segment that has code; return the first instruction."""
        self.trip[warp] += 1
        while self.trip[warp] >= self.trips[segment] or self.first[segment] == self.end[segment]:
            segment += 1
            self.trip[warp] = 0
        self.segment[warp] = segment
        return self.first[segment]

    def gate(self, warp: int, code: int) -> None:
        """Delay the next instruction for its scoreboards; DEPBAR for commit groups; EXIT for the warp's stores."""
        waits, board = self.waits[code], warp
        while waits:
            if waits & 1:
                self.warps.wait_until(warp, self.board[board], self.board_reason[board])
            waits >>= 1
            board += 1
        kind = self.kind[code]
        if kind == DEPBAR:
            self.warps.wait_until(warp, self.warps.group_complete(warp, self.pending[code]), LONG_SCOREBOARD)
        elif kind == EXIT:
            self.warps.wait_until(warp, self.drained[warp], DRAIN)
