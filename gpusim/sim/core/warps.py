"""
Warps and their CTAs: slots, launch and exit, scoreboards, commit groups, and the eligible warps of each SMSP.

In silicon: the warp slots of an SM, each with a program counter, six scoreboards and commit groups. A CTA keeps its
slots from its launch until its last warp exits. A warp that waits at a barrier, or for another CTA, is not eligible.
Figures: ``smsps``, ``mio.queue_depth``, ``launch.cta_interval``, ``launch.cta_setup``, ``l2.semaphore``; ``ports`` and
``constant_miss`` of ``Figures``.
State: a row of integers for each warp and each SMSP, and columns of CTA slots.
Timing: a warp may issue when its fixed stall is over, its scoreboards are free and its instruction line has arrived.
The longest wait gives the stall reason. The first CTA of an SM waits for the constant cache. A slice of a serial
split-K resumes ``semaphore`` cycles after the CTA of the preceding slice has ended.

>>> from doubles.by_hand import quiet
>>> warps = quiet().warps
>>> warps.hand(sm=0, cta=0, at=0, observed=0)
>>> warps.launch(slot=0, at=0)
>>> warps.hold_board(0, 2, free=5000, reason=LONG_SCOREBOARD)
>>> warps.active[0], warps.blocked[0], warps.board[2]
(1, 0, 5000)
"""

from typing import TYPE_CHECKING

from gpusim.sim.columns import side_by_side, zeros
from gpusim.sim.core.calendar import Calendar
from gpusim.sim.core.constants import (
    CODE_WIDTH,
    COMMIT_GROUPS,
    LINE_WIDTH,
    MIO,
    NEVER,
    PENDING_READS,
    PORT_LOG,
    PORT_WIDTH,
    RETIRED,
    SMSP_COLUMNS,
    TENSOR,
    TIMED,
    WARP_WIDTH,
    WOKEN,
)
from gpusim.sim.core.icache import ICache
from gpusim.sim.core.log import WarpRecord
from gpusim.sim.stall_reasons import (
    IMC_MISS,
    LONG_SCOREBOARD,
    NO_INSTRUCTION,
    REASON_COUNT,
    SHORT_SCOREBOARD,
    WAIT,
)
from gpusim.units import SCOREBOARDS

if TYPE_CHECKING:
    from gpusim.sim.columns import CodeRows, Data
    from gpusim.sim.figures import Figures


def whole_lines(count: int) -> int:
    """
    Return ``count``, rounded up to an odd number of the host's cache lines, in integers.

    Rows of an odd number of lines spread best over the sets of the host's cache.
    """
    return ((count + LINE_WIDTH - 1) // LINE_WIDTH | 1) * LINE_WIDTH


class SmspRows:
    """
    A row of integers for each SMSP: its state, its warps, its ports, its MIO queue and its pending register reads.

    An SMSP is identified by the index of its row's first integer. A port has several consecutive integers in the row
    and is identified by the index of the first one; the last of them form a ring of its latest issue cycles. The rows
    of CTA slots and of SMs' TMA units follow the rows of SMSPs, because the calendar has events of all three.

    Attributes:
        width: Integers from one SMSP to the next.
        count: SMSPs of all SMs.
        events: The columns of the calendar.
        tensor, mio: Distance from an SMSP to its tensor core's port, and to its MIO's port, in integers.
        ... : Columns of the units named in the comments.
    """

    def __init__(self, figures: "Figures", sms: int, slots: int, warps: int) -> None:
        """Lay out the SMSPs of ``sms`` SMs, each with slots for ``slots`` CTAs of ``warps`` warps."""
        ports = whole_lines(SMSP_COLUMNS + slots * warps)
        queue = ports + figures.ports * PORT_WIDTH
        reads = queue + figures.machine.mio.queue_depth
        self.width, self.count = whole_lines(reads + 2 * PENDING_READS), sms * figures.machine.smsps
        row = side_by_side(self.count + sms * slots + sms, self.width)
        self.events = row[:4]
        # warps, smsp
        self.asleep, self.clock, self.planned, self.planned_others = row[4:8]
        self.active, self.blocked, self.last, self.sm_of, self.dispatch_free, self.mma_carry, self.last_mma = row[8:15]
        self.members = row[SMSP_COLUMNS]
        # mio
        self.collector_free, self.last_exit, self.store_blocks_until, self.queue_at, self.entry_percent = row[15:20]
        self.queue = row[queue]
        # smsp: a ring of register reads of memory instructions that may delay the next mma.sync
        self.reads_first, self.reads_next = row[20:22]
        self.reads_at, self.reads_delay = row[reads], row[reads + 1]
        # Ports: when each is free, the warp that issued to it last, and the ring of its latest issue cycles.
        behind = row[ports:]
        self.port_free, self.port_user, self.port_next, self.port_taken = behind[:4]
        self.tensor, self.mio = (figures.ports - TENSOR) * PORT_WIDTH, (figures.ports - MIO) * PORT_WIDTH
        for number in range(self.count):
            smsp = number * self.width
            self.asleep[smsp], self.sm_of[smsp] = NEVER, number // figures.machine.smsps
            self.last[smsp] = self.planned[smsp] = -1
            for port in range(smsp, smsp + figures.ports * PORT_WIDTH, PORT_WIDTH):
                self.port_user[port] = -1
                for entry in range(PORT_LOG):
                    self.port_taken[port + entry] = -1


class Warps:
    """
    The warps of all SMs, and the CTAs that they belong to.

    A warp is identified by the index of its row's first integer. CTA slots are numbered, ``slots`` for each SM.

    Attributes:
        record: The stall cycles and logs of warps.
        ended: The CTA that ended last, or -1.
        ended_at, ended_sm, ended_launched: For that CTA: the cycle after its last exit, its SM, its launch cycle.
    """

    def __init__(  # noqa: PLR0917 - called positionally by both executions
        self,
        figures: "Figures",
        code: "CodeRows",
        data: "Data",
        rows: SmspRows,
        calendar: Calendar,
        icache: ICache,
        slots: int,
    ) -> None:
        """
        Build empty slots.

        Args:
            figures: The machine's figures.
            code: The code of all CTAs.
            data: The program of each CTA, and the CTA of the preceding split-K slice.
            rows: The SMSPs' columns.
            calendar: The calendar, which schedules SMSPs and launches.
            icache: The instruction caches.
            slots: CTAs that an SM holds at once.
        """
        machine = figures.machine
        self.constant_miss, self.semaphore = figures.constant_miss, machine.l2.semaphore
        self.launch_delay = machine.launch.cta_interval + machine.launch.cta_setup
        self.smsps, self.slots, self.most_warps = machine.smsps, slots, code.warps
        self.calendar, self.icache = calendar, icache
        self.icache_line, self.port, self.waits, self.awaits = code.icache_line, code.port, code.waits, code.awaits
        self.first, self.begins, self.warps_of = code.first, code.begins, code.warps_of
        self.program, self.follows, self.followed = data.program, data.follows, data.followed
        self.first_traced, self.has_traces = data.traces.first, data.traces.arrays > 0
        self.width, self.sm_of, self.asleep, self.planned = rows.width, rows.sm_of, rows.asleep, rows.planned
        self.active, self.blocked, self.members = rows.active, rows.blocked, rows.members
        sms = rows.count // self.smsps
        self.past_smsps, self.cold = rows.count * self.width, zeros(sms, 1)
        # CTAs, by slot
        resident = sms * slots
        self.cta, self.expected, self.soonest = zeros(resident, -1), zeros(resident, NEVER), zeros(sms, NEVER)
        self.launched, self.remaining, self.stores_taken = zeros(resident), zeros(resident), zeros(resident)
        self.observed, self.slice_waiting, self.slice_waiters = (
            zeros(resident),
            zeros(resident),
            zeros(resident * code.warps),
        )
        self.finished, self.slot_of = zeros(len(self.program), -1), zeros(len(self.program), -1)
        self.ended, self.ended_at, self.ended_sm, self.ended_launched = -1, 0, 0, 0
        # Warps, by slot. Columns that are read together are neighbours in memory.
        row = side_by_side(resident * code.warps, WARP_WIDTH)
        self.ready, self.port_of, self.age, self.number, self.issued, self.at, self.stalled, self.reason = row[:8]
        self.home, self.segment, self.trip, self.release_at, self.at_barrier, self.watched, self.slot = row[8:15]
        self.return_free, self.committed, self.open_group, self.drained = row[15:19]
        self.board, self.board_reason, self.written = row[19], row[19 + SCOREBOARDS], row[19 + 2 * SCOREBOARDS]
        self.commit_lookup, self.loads_free = row[20 + 2 * SCOREBOARDS], row[21 + 2 * SCOREBOARDS]
        self.next_traced, self.acknowledged = row[22 + 2 * SCOREBOARDS], row[23 + 2 * SCOREBOARDS]
        self.group_done = zeros(resident * code.warps * COMMIT_GROUPS)
        self.record = WarpRecord(self.number, self.watched, len(code.kind) if self.has_traces else 0)

    # --- CTAs ---

    def hand(self, sm: int, cta: int, at: int, observed: int) -> None:
        """Assign a CTA to a free slot of an SM, and schedule its launch at a cycle; ``observed`` is 1 to log it."""
        slot = sm * self.slots
        while self.cta[slot] >= 0:
            slot += 1
        self.cta[slot] = cta
        self.expected[slot] = at
        self.soonest[sm] = min(self.soonest[sm], at)
        self.observed[slot] = observed
        self.calendar.schedule(self.past_smsps + slot * self.width, 2 * at + TIMED)

    def next_launch(self, sm: int, now: int) -> int:
        """Return the earliest cycle at which an SM may launch a CTA: a scheduled one, or the successor of another."""
        return min(now + self.launch_delay, self.soonest[sm])

    def launch(self, slot: int, at: int) -> None:
        """Launch a slot's CTA. Its warps go to the SMSPs round robin, beginning with the least occupied SMSP (D13)."""
        self.expected[slot] = NEVER
        self.slice_waiting[slot], self.slot_of[self.cta[slot]] = 0, slot
        sm = slot // self.slots
        self.soonest[sm] = NEVER
        for other in range(sm * self.slots, (sm + 1) * self.slots):
            self.soonest[sm] = min(self.soonest[sm], self.expected[other])
        warps = self.warps_of[self.program[self.cta[slot]]]
        self.launched[slot] = at
        self.remaining[slot], self.stores_taken[slot] = warps, 0
        fewest = self.emptiest(sm)
        for number in range(warps):
            warp = (slot * self.most_warps + number) * WARP_WIDTH
            smsp = (sm * self.smsps + (fewest + number) % self.smsps) * self.width
            self.start(warp, slot, number, smsp, at)
            if self.cold[sm]:
                # The first CTA of an SM misses the constant cache when it reads the kernel's parameters.
                begin = self.record.charge(warp, at, at + self.constant_miss, IMC_MISS)
                if self.has_traces:
                    self.record.by_instruction[self.at[warp] // CODE_WIDTH * REASON_COUNT + IMC_MISS] += begin - at
                self.issued[warp] = begin - 1
                self.stalled[warp] = self.ready[warp] = begin
            self.members[smsp + self.active[smsp]] = warp
            self.active[smsp] += 1
            self.planned[smsp] = -1
            self.fetch(warp)
            self.wake(smsp, self.ready[warp])
        self.cold[sm] = 0

    def emptiest(self, sm: int) -> int:
        """Return the number within an SM of the SMSP with the fewest warps, eligible and blocked."""
        base, fewest = sm * self.smsps * self.width, 0
        for number in range(1, self.smsps):
            smsp, least = base + number * self.width, base + fewest * self.width
            if self.active[smsp] + self.blocked[smsp] < self.active[least] + self.blocked[least]:
                fewest = number
        return fewest

    def start(self, warp: int, slot: int, number: int, smsp: int, at: int) -> None:
        """Reset a warp's row: the first instruction of its role may issue at a cycle."""
        cta = self.cta[slot]
        segment = self.begins[self.program[cta] * self.most_warps + number]
        self.age[warp] = cta * self.most_warps + number
        self.home[warp], self.number[warp], self.watched[warp] = smsp, number, self.observed[slot]
        self.slot[warp] = slot
        self.segment[warp], self.trip[warp], self.at[warp] = segment, 0, self.first[segment]
        self.port_of[warp] = smsp + self.port[self.first[segment]]
        self.issued[warp], self.stalled[warp], self.ready[warp], self.reason[warp] = at - 1, at, at, WAIT
        self.committed[warp] = self.open_group[warp] = self.drained[warp] = self.written[warp] = 0
        self.release_at[warp] = self.at_barrier[warp] = 0
        if self.has_traces:
            self.acknowledged[warp] = 0
            self.next_traced[warp] = self.first_traced[cta * self.most_warps + number]
        for board in range(warp, warp + SCOREBOARDS):
            self.board[board] = 0
            self.board_reason[board] = SHORT_SCOREBOARD

    def leave(self, warp: int, at: int) -> None:
        """Remove a warp that exits. If it is the last warp of its CTA, free the CTA's slot."""
        slot = self.slot[warp]
        self.remove(self.home[warp], warp)
        if self.watched[warp]:
            self.record.note(warp, RETIRED, self.home[warp] // self.width % self.smsps, at, at, at)
        self.remaining[slot] -= 1
        if self.remaining[slot] == 0:
            # Warps exit in order of time, so the CTA ends with this exit.
            self.ended, self.ended_at = self.cta[slot], at
            # The semaphore is raised when the L2 has taken all stores of the CTA's warps.
            self.raise_semaphore(self.ended, max(at, self.stores_taken[slot]))
            self.slot_of[self.ended] = -1
            self.ended_sm, self.ended_launched = slot // self.slots, self.launched[slot]
            self.cta[slot] = -1

    # --- eligible warps of an SMSP ---

    def wake(self, smsp: int, at: int) -> None:
        """Wake an SMSP in the current cycle if it sleeps beyond cycle ``at``."""
        if self.asleep[smsp] > at:
            self.asleep[smsp] = -1
            self.calendar.schedule(smsp, 2 * self.calendar.cycle + WOKEN)

    def remove(self, smsp: int, warp: int) -> None:
        """Remove a warp from the eligible warps of an SMSP."""
        last, place = smsp + self.active[smsp] - 1, smsp
        while self.members[place] != warp:
            place += 1
        for after in range(place, last):
            self.members[after] = self.members[after + 1]
        self.active[smsp] -= 1

    def block(self, warp: int) -> None:
        """Make a warp ineligible until ``unblock``."""
        smsp = self.home[warp]
        self.remove(smsp, warp)
        self.blocked[smsp] += 1

    def unblock(self, warp: int) -> None:
        """Make a warp eligible again, in its SMSP's order by age, and wake the SMSP."""
        smsp = self.home[warp]
        self.blocked[smsp] -= 1
        place = smsp + self.active[smsp]
        while place > smsp and self.age[self.members[place - 1]] > self.age[warp]:
            self.members[place] = self.members[place - 1]
            place -= 1
        self.members[place] = warp
        self.active[smsp] += 1
        self.planned[smsp] = -1
        self.wake(smsp, self.ready[warp])

    # --- waits of a warp ---

    def wait_until(self, warp: int, cycle: int, reason: int) -> None:
        """Delay a warp's next instruction until a cycle; the longest wait gives the stall reason."""
        if cycle > self.ready[warp]:
            self.ready[warp] = cycle
            self.reason[warp] = reason

    def fetch(self, warp: int) -> None:
        """If a warp's next instruction begins an instruction line, fetch the line, and delay the warp for it (D7)."""
        line = self.icache_line[self.at[warp]]
        if line >= 0:
            arrival = self.icache.fetch(self.sm_of[self.home[warp]], line, self.ready[warp])
            self.wait_until(warp, arrival, NO_INSTRUCTION)

    def hold_board(self, warp: int, board: int, free: int, reason: int) -> None:
        """Hold a warp's scoreboard until cycle ``free``, or until the end of an earlier hold if that is later."""
        board += warp
        if free >= self.board[board]:
            self.board[board] = free
            self.board_reason[board] = reason

    def delay_load(self, warp: int, board: int, landed: int, later: int) -> None:
        """
        Delay a load in flight, and its warp if the warp's next instruction waits for the load.

        Args:
            warp: The warp.
            board: Index of the scoreboard that the load holds, alone or with other instructions.
            landed: Cycle at which the load was expected to free the scoreboard.
            later: Cycle at which the load frees the scoreboard now.
        """
        if self.board[board] < landed:
            return
        self.loads_free[warp] = max(self.loads_free[warp], later)
        self.board[board] = max(self.board[board], later)
        if self.waits[self.at[warp]] >> board - warp & 1:
            self.wait_until(warp, later, LONG_SCOREBOARD)
            self.planned[self.home[warp]] = -1

    def commit(self, warp: int) -> None:
        """Close a warp's open commit group (D36). No commit group completes before an earlier one of its warp."""
        done, count = self.open_group[warp], self.committed[warp]
        if count > 0:
            done = max(done, self.group_done[warp // WARP_WIDTH * COMMIT_GROUPS + (count - 1) % COMMIT_GROUPS])
        self.group_done[warp // WARP_WIDTH * COMMIT_GROUPS + count % COMMIT_GROUPS] = done
        self.committed[warp] = count + 1
        self.open_group[warp] = 0

    def group_complete(self, warp: int, pending: int) -> int:
        """Return the cycle from which at most ``pending`` of a warp's commit groups are incomplete (DEPBAR)."""
        done = self.committed[warp] - pending
        return self.group_done[warp // WARP_WIDTH * COMMIT_GROUPS + (done - 1) % COMMIT_GROUPS] if done > 0 else 0

    def await_slice(self, warp: int) -> None:
        """Delay or block a warp of a split-K slice until the CTA of the preceding slice has raised its semaphore."""
        slot = self.slot[warp]
        before = self.follows[self.cta[slot]]
        if before < 0:
            return
        if self.finished[before] >= 0:
            self.wait_until(warp, self.finished[before] + self.semaphore, LONG_SCOREBOARD)
            return
        self.block(warp)
        self.slice_waiters[slot * self.most_warps + self.slice_waiting[slot]] = warp
        self.slice_waiting[slot] += 1

    def raise_semaphore(self, cta: int, at: int) -> None:
        """Raise a CTA's semaphore at a cycle, and unblock the warps of the next split-K slice that wait for it."""
        self.finished[cta] = at
        after = self.followed[cta]
        slot = self.slot_of[after] if after >= 0 else -1
        if slot < 0:
            return
        for place in range(slot * self.most_warps, slot * self.most_warps + self.slice_waiting[slot]):
            warp = self.slice_waiters[place]
            self.wait_until(warp, at + self.semaphore, LONG_SCOREBOARD)
            self.unblock(warp)
        self.slice_waiting[slot] = 0
