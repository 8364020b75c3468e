"""
The SMSPs: the choice of a warp, the issue to pipes and the tensor core, and the waits of the next instruction.

In silicon: an SM has four SMSPs. Each has a scheduler that issues one warp instruction a cycle, pipes of its own, among
them the tensor core, and a queue to the MIO.
Figures: ``dispatch.mufu``. Issue intervals, latencies and stall counts are columns of the code.
State: for each SMSP its clock, the warp planned next, and the ports of its pipes; for each port the cycle at which it
is free and its latest issue cycles.
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

from gpusim.sim.columns import zeros
from gpusim.sim.core.barriers import Barriers
from gpusim.sim.core.constants import (
    BAR,
    CODE_WIDTH,
    COMMIT,
    DEPBAR,
    EXIT,
    FENCE,
    GLOBAL,
    LDGSTS,
    MBARRIER,
    NEVER,
    PASSES,
    PENDING_READS,
    PENDING_READS_MASK,
    PERCENT,
    PIPE,
    PORT_LOG,
    PORT_LOG_MASK,
    RANK_OF_WAITED,
    SHARED,
)
from gpusim.sim.core.lsu import Lsu
from gpusim.sim.core.sm90.units import Sm90
from gpusim.sim.core.warps import SmspRows, Warps
from gpusim.sim.stall_reasons import (
    BRANCH_RESOLVING,
    DISPATCH_STALL,
    DRAIN,
    LONG_SCOREBOARD,
    MEMBAR,
    NOT_SELECTED,
    REASON_COUNT,
    SELECTED,
    SHORT_SCOREBOARD,
    WAIT,
)

if TYPE_CHECKING:
    from gpusim.machine.spec import Machine
    from gpusim.sim.columns import CodeRows


class Smsp:
    """
    The SMSPs of all SMs.

    Attributes:
        instructions: Warp instructions that all SMSPs issued.
        chosen_at, others_at: Set by ``choose``: the cycle at which the chosen warp can issue, and the first cycle at
            which another warp can.
    """

    def __init__(  # noqa: PLR0917 - called positionally by both executions
        self,
        machine: "Machine",
        code: "CodeRows",
        rows: SmspRows,
        warps: Warps,
        barriers: Barriers,
        lsu: Lsu,
        sm90: Sm90,
    ) -> None:
        """
        Build SMSPs without warps.

        Args:
            machine: The machine.
            code: The code of all CTAs.
            rows: The SMSPs' columns.
            warps: The warps of all SMs.
            barriers: The barrier units.
            lsu: The LSUs, which take memory instructions.
            sm90: The units of sm_90.
        """
        indexed = machine.constant_cache.indexed
        self.pass_latency = 0 if indexed is None else indexed.further
        self.mufu_dispatch, self.instructions, self.chosen_at, self.others_at = machine.dispatch.mufu, 0, 0, 0
        self.warps, self.barriers, self.lsu, self.sm90 = warps, barriers, lsu, sm90
        self.mio, self.coalescer = self.lsu.mio, self.lsu.coalescer
        self.record = self.warps.record
        self.stalls, self.by_instruction = self.record.stalls, self.record.by_instruction
        self.counts_instructions, self.before = self.warps.has_traces, zeros(REASON_COUNT)
        self.kind, self.port, self.throttle, self.interval = code.kind, code.port, code.throttle, code.interval
        self.latency, self.stall, self.gated, self.waits = code.latency, code.stall, code.gated, code.waits
        self.write, self.is_branch = code.write, code.is_branch
        self.dispatches, self.mma_hundredths = code.dispatches, code.mma_hundredths
        self.pending, self.awaits, self.activity = code.pending, code.awaits, code.activity
        self.trips, self.tiles, self.first, self.end = code.trips, code.tiles, code.first, code.end
        self.rows_of(rows)
        self.take_columns()

    def rows_of(self, rows: SmspRows) -> None:
        """Share the SMSPs' columns."""
        self.asleep, self.clock, self.planned, self.planned_others = (
            rows.asleep,
            rows.clock,
            rows.planned,
            rows.planned_others,
        )
        self.active, self.blocked, self.last, self.sm_of = rows.active, rows.blocked, rows.last, rows.sm_of
        self.dispatch_free, self.mma_carry, self.last_mma = rows.dispatch_free, rows.mma_carry, rows.last_mma
        self.members, self.reads_first, self.reads_next = rows.members, rows.reads_first, rows.reads_next
        self.reads_at, self.reads_delay = rows.reads_at, rows.reads_delay
        self.port_free, self.port_user = rows.port_free, rows.port_user
        self.port_next, self.port_taken = rows.port_next, rows.port_taken
        self.tensor_port, self.mio_port = rows.tensor, rows.mio

    def take_columns(self) -> None:
        """Share the warps' columns."""
        warps = self.warps
        self.ready, self.port_of, self.age, self.number = warps.ready, warps.port_of, warps.age, warps.number
        self.issued, self.at, self.stalled, self.reason = warps.issued, warps.at, warps.stalled, warps.reason
        self.home, self.segment, self.trip, self.release_at = warps.home, warps.segment, warps.trip, warps.release_at
        self.at_barrier, self.watched, self.drained = warps.at_barrier, warps.watched, warps.drained
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
        Choose the warp of an SMSP that can issue first, at ``clock`` or later; return -1 if the SMSP has no warp.

        Warps that can issue in the same cycle are ranked by three keys (D4). First, a warp has priority if its
        instruction goes to the MIO, or waits on no scoreboard, or was ready by the end of the previous instruction's
        stall count. Second, the older CTA has priority. Third, the warp that issued last has priority, then the warp
        that has waited longest.

        ``chosen_at`` is set to the cycle at which the chosen warp can issue, and ``others_at`` to the first cycle at
        which another warp can.
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
            # The rank is the age of the CTA's first warp: all warps of a CTA rank equal.
            rank = self.age[warp] - self.number[warp]
            if self.waits[self.at[warp]] and self.ready[warp] > self.stalled[warp] and self.port_of[warp] != mio:
                rank += RANK_OF_WAITED
            waits_since = -1 if warp == last else self.issued[warp]
            if at < best or rank < first or (rank == first and waits_since < issued):
                others = best
                chosen, best, first, issued = warp, at, rank, waits_since
            else:
                others = at
        self.chosen_at, self.others_at = best, others
        return chosen

    # --- issue ---

    def issue_from(self, smsp: int, now: int) -> int:  # noqa: C901, PLR0912 - the hot loop: splitting it costs a call
        """
        Issue all instructions of an SMSP whose order is certain at cycle ``now``; return the cycle of the next one.

        The result is ``NEVER`` if no warp is eligible. ``choose`` is skipped in two cases: the warp that issued last
        can issue again before any other warp, or the warp planned for this cycle was not displaced by new warps.

        Not modelled: register banks and operand reuse, on which a pipe's interval depends (D23).
        """
        horizon = self.horizon(smsp, now)
        clock = max(self.clock[smsp], now)
        chosen, at, others = self.planned[smsp], now, self.planned_others[smsp]
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
                self.planned[smsp], self.planned_others[smsp] = chosen, others
                return at
            port, active = self.port_of[chosen], self.active[smsp]
            # If a warp's own last instruction occupies the pipe, the stall reason is ``WAIT``, not a throttle.
            own = kind == PIPE and self.port_user[port] == chosen
            throttle = WAIT if own else self.throttle[code]
            if self.counts_instructions:
                self.account_by_instruction(chosen, at, self.port_free[port], throttle)
            else:
                self.account(chosen, at, self.port_free[port], throttle)
            self.log_take(port, at)
            self.last[smsp] = chosen
            self.instructions += 1
            clock = at + 1
            if self.dispatches[code]:
                clock += self.mufu_dispatch
                self.dispatch_free[smsp] = clock
            self.clock[smsp] = clock
            if kind == PIPE:
                self.issue_pipe(smsp, chosen, at)
            else:
                self.issue_beyond(smsp, chosen, at)
                if kind in (BAR, MBARRIER):
                    # The calendar wakes the SMSPs that the barrier releases before this SMSP issues again.
                    return now
            same = self.active[smsp] == active
            # The horizon changes only if this warp blocks at a barrier, exits, or unblocks other warps.
            if self.at_barrier[chosen] or (kind != PIPE and (kind == EXIT or not same)):
                horizon = self.horizon(smsp, now)
            # The issue has made no other warp ready sooner: no other warp can issue before ``others``.
            if same and kind != EXIT:
                at = max(self.ready[chosen], self.port_free[self.port_of[chosen]], clock)
                if at < others:
                    continue
            chosen = -1

    def log_take(self, port: int, at: int) -> None:
        """Add a cycle to the ring of a port's latest issue cycles, in place of the oldest."""
        self.port_taken[port + self.port_next[port]] = at
        self.port_next[port] = self.port_next[port] + 1 & PORT_LOG_MASK

    def issue_pipe(self, smsp: int, warp: int, at: int) -> None:
        """Issue an instruction that uses only the SMSP's own pipes (kind ``PIPE``)."""
        code, port = self.at[warp], self.port_of[warp]
        self.port_free[port], self.port_user[port] = at + self.interval[code], warp
        if self.mma_hundredths[code]:
            self.delay_mma(smsp, at, self.mma_hundredths[code])
        if port == smsp + self.tensor_port:
            self.last_mma[smsp] = code
            if self.reads_first[smsp] < self.reads_next[smsp]:
                self.delay_by_reads(smsp, at)
        if self.write[code] >= 0:
            self.warps.hold_board(warp, self.write[code], at + self.latency[code], SHORT_SCOREBOARD)
        if self.watched[warp] and self.activity[code] >= 0:
            self.note(warp, at, at + self.latency[code])
        self.advance(warp, at)

    def issue_passes(self, warp: int, at: int) -> int:
        """Issue an instruction of a pipe that takes a pass for each distinct value of its lanes; return its latency."""
        code, port = self.at[warp], self.port_of[warp]
        self.coalescer.take(warp, code)
        passes = max(1, self.coalescer.traced_wavefronts)
        self.port_free[port], self.port_user[port] = at + passes * self.interval[code], warp
        latency = self.latency[code] + self.pass_latency * (passes - 1)
        if self.write[code] >= 0:
            self.warps.hold_board(warp, self.write[code], at + latency, SHORT_SCOREBOARD)
        return latency

    def issue_beyond(self, smsp: int, warp: int, at: int) -> None:  # noqa: C901 - one for each kind
        """Issue an instruction that uses units outside the SMSP (any kind but ``PIPE``)."""
        code = self.at[warp]
        kind = self.kind[code]
        landed = at
        if kind in (SHARED, LDGSTS, GLOBAL):
            landed = self.lsu.issue(smsp, warp, at)
            if self.mma_hundredths[code] and self.lsu.reads_registers(kind):
                self.note_reads(smsp, self.mio.smsp_exit, self.mma_hundredths[code])
        elif kind == COMMIT:
            self.lsu.commit(smsp, warp, at)
        elif kind == PASSES:
            landed = at + self.issue_passes(warp, at)
        elif kind >= MBARRIER:
            landed = self.sm90.issue(smsp, warp, at)
        if self.watched[warp] and self.activity[code] >= 0:
            self.note(warp, at, landed)
        if kind == EXIT:
            self.warps.leave(warp, at + 1)
            if self.warps.remaining[self.warps.slot[warp]]:
                self.barriers.leave(self.warps.slot[warp])
        else:
            if kind == BAR and self.barriers.issue(warp, at):
                self.lsu.fence(self.sm_of[smsp])
            self.advance(warp, at)
            if kind == FENCE:
                done = max(at, self.warps.acknowledged[warp]) + self.latency[code]
                self.warps.wait_until(warp, done, MEMBAR)

    # --- the tensor core beside register reads ---

    def delay_mma(self, smsp: int, at: int, hundredths: int) -> None:
        """
        Delay the tensor core by ``hundredths`` of a cycle, if it is reading operands at cycle ``at`` (D23).

        The register reads of another instruction delay a concurrent mma.sync by some hundredths of a cycle. Each
        mma.sync also takes some hundredths more than its issue interval. The hundredths are added up, and whole cycles
        delay the tensor core.
        """
        tensor = smsp + self.tensor_port
        free = self.port_free[tensor]
        if free > at:
            taken = self.mma_carry[smsp] + hundredths
            self.port_free[tensor] = free + taken // PERCENT
            self.mma_carry[smsp] = taken % PERCENT

    def note_reads(self, smsp: int, at: int, hundredths: int) -> None:
        """
        Delay the tensor core for a memory instruction whose registers are read at cycle ``at`` (D23).

        If no issued mma.sync is in progress at that cycle, the delay is stored for the next one (``delay_by_reads``).
        """
        if self.port_free[smsp + self.tensor_port] > at:
            self.delay_mma(smsp, at, hundredths)
            return
        place = smsp + 2 * (self.reads_next[smsp] & PENDING_READS_MASK)
        self.reads_at[place], self.reads_delay[place] = at, hundredths
        self.reads_next[smsp] += 1
        self.reads_first[smsp] = max(self.reads_first[smsp], self.reads_next[smsp] - PENDING_READS)

    def delay_by_reads(self, smsp: int, at: int) -> None:
        """
        Delay an mma.sync that issues at cycle ``at`` by the stored register reads that coincide with it.

        Earlier reads are dropped. Later reads stay stored for a later mma.sync.
        """
        tensor = smsp + self.tensor_port
        while self.reads_first[smsp] < self.reads_next[smsp]:
            place = smsp + 2 * (self.reads_first[smsp] & PENDING_READS_MASK)
            if self.reads_at[place] >= self.port_free[tensor]:
                return
            self.reads_first[smsp] += 1
            if self.reads_at[place] >= at:
                self.delay_mma(smsp, self.reads_at[place], self.reads_delay[place])

    # --- stall reasons ---

    def account(self, warp: int, at: int, free: int, throttle: int) -> None:
        """
        Charge a warp's cycles since its last issue to stall reasons, and the cycle of this issue to ``SELECTED``.

        Args:
            warp: The warp.
            at: Cycle of the issue.
            free: Cycle at which the instruction's port was free.
            throttle: Stall reason of a wait for that port.
        """
        begin = self.issued[warp] + 1
        if at > begin:
            # Each reason is charged up to the end of its wait. In the remaining cycles another warp was selected.
            record = self.record
            begin = record.charge(warp, begin, self.stalled[warp], WAIT)
            begin = record.charge(warp, begin, self.ready[warp], self.reason[warp])
            if at > begin:
                begin = self.throttled(warp, begin, free, throttle)
                begin = record.charge(warp, begin, min(at, self.dispatch_free[self.home[warp]]), DISPATCH_STALL)
                record.charge(warp, begin, at, NOT_SELECTED)
        self.stalls[SELECTED] += 1
        if self.watched[warp]:
            self.record.span(warp, at, at + 1, SELECTED)
        self.issued[warp] = at

    def account_by_instruction(self, warp: int, at: int, free: int, throttle: int) -> None:
        """Charge a warp's cycles as ``account`` does, and charge them to the instruction that issues, too."""
        for reason in range(REASON_COUNT):
            self.before[reason] = self.stalls[reason]
        self.account(warp, at, free, throttle)
        first = self.at[warp] // CODE_WIDTH * REASON_COUNT
        for reason in range(REASON_COUNT):
            self.by_instruction[first + reason] += self.stalls[reason] - self.before[reason]

    def throttled(self, warp: int, begin: int, free: int, reason: int) -> int:
        """
        Charge a warp's wait for its port; return the cycle at which the port is free, or ``begin`` if it was free.

        A cycle in which another warp issued to the port is charged to ``NOT_SELECTED``: this warp could have issued.

        Args:
            warp: The warp.
            begin: First cycle of the wait.
            free: Cycle at which the port is free.
            reason: Stall reason of the other cycles.
        """
        if free <= begin:
            return begin
        port, entry, count = self.port_of[warp], self.port_next[self.port_of[warp]], 0
        while count < PORT_LOG and self.port_taken[port + (entry - count - 1 & PORT_LOG_MASK)] >= begin:
            count += 1
        for back in range(count, 0, -1):
            cycle = self.port_taken[port + (entry - back & PORT_LOG_MASK)]
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
        """Move a warp that issued at cycle ``at`` to its next instruction; set the cycle from which that may issue."""
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
        if self.release_at[warp]:
            self.barriers.wait_for_release(warp, code)
            if self.at_barrier[warp]:
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
        """Delay a warp's next instruction for its scoreboards, a DEPBAR for commit groups, an EXIT for stores."""
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
        elif kind >= MBARRIER:
            self.sm90.gate(warp, code)
