"""
The machine in integers: SMs, SMSPs, warps, MIO, data stage, barriers, caches and DRAM, cycle by cycle.

One text, executed twice: interpreted by Python, or compiled by Cython with the types of ``chip.pxd``. Tables come in as
columns of integers (``columns``), logs go out; it knows no scenario, no op and no name. Times are cycles; those of
the L2 and DRAM are thousandths of a cycle.

An SMSP sleeps until one of its warps can issue. Instructions that use only the SMSP itself are issued ahead of the
clock, up to the earliest cycle at which another warp could arrive; those that use units shared with other SMSPs are
issued when the clock reaches their cycle. Events of one cycle are taken in the order in which they were scheduled,
SMSPs that were woken first.

>>> whole_lines(8), whole_lines(9)
(8, 24)
"""

from array import array
from typing import TYPE_CHECKING

from gpusim.sim.columns import pages, zeros
from gpusim.sim.core.cache import Granules, Lines, sectors_in
from gpusim.sim.core.calendar import Calendar
from gpusim.sim.core.constants import (
    ALL_ISSUED,
    AWAITED,
    BAR,
    CODE_WIDTH,
    COMING,
    COMMIT,
    CYCLE_BITS,
    DEPBAR,
    DUE,
    DUE_MASK,
    EXIT,
    GAPS,
    GIVEN,
    GLOBAL,
    GROUPS,
    INSTRUCTIONS_AHEAD,
    ISSUED,
    LDGSTS,
    LINE_BITS,
    LINE_MASK,
    LINE_WIDTH,
    LINES_AT_ONCE,
    MILLI,
    MIO,
    NEVER,
    NOTE_WIDTH,
    PERCENT,
    PIPE,
    PORT_WIDTH,
    RANK_OF_WAITED,
    RELEASED,
    RETIRED,
    SHARED,
    SMSP_COLUMNS,
    SPAN_WIDTH,
    STAGE_MASK,
    STAGE_WORDS,
    STATES,
    TAKES,
    TAKES_MASK,
    TENSOR,
    TIMED,
    TO_WRITE,
    TO_WRITE_MASK,
    WARP_WIDTH,
    WOKEN,
    WORD_CYCLES,
    WORD_NUMBER,
    WORD_NUMBERS,
)
from gpusim.sim.core.dram import Dram
from gpusim.sim.core.l2 import L2
from gpusim.sim.core.l2_arbiter import Crossbar, L2Arbiter
from gpusim.sim.core.l2_sampled import L2Sampled
from gpusim.sim.core.log import Log
from gpusim.sim.core.stores import Stores
from gpusim.sim.stall_reasons import (
    BARRIER,
    BRANCH_RESOLVING,
    DISPATCH_STALL,
    DRAIN,
    IMC_MISS,
    LONG_SCOREBOARD,
    NO_INSTRUCTION,
    NOT_SELECTED,
    REASON_COUNT,
    SELECTED,
    SHORT_SCOREBOARD,
    WAIT,
)
from gpusim.units import SCOREBOARDS, SECTOR_BYTES, SECTORS_PER_LINE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gpusim.sim.columns import Code, Column, Data
    from gpusim.sim.figures import Figures

__all__ = ("Chip", "Granules")


def narrow_pages(count: int) -> "memoryview[int]":
    """Return a column of zeros of 32 bits each; ``count`` is even."""
    return pages(count // 2).cast("B").cast("i")


def side_by_side(count: int, width: int) -> "list[memoryview[int]]":
    """Return ``width`` columns of zeros that lie side by side: row n is at n * width."""
    table = pages(count * width)
    return [table[place:] for place in range(width)]


def whole_lines(count: int) -> int:
    """Return the integers of the lines of memory that hold so many; odd numbers of them spread best over a cache."""
    return ((count + LINE_WIDTH - 1) // LINE_WIDTH | 1) * LINE_WIDTH


def together(*columns: "Column") -> "list[memoryview[int]]":
    """Return columns in rows of ``CODE_WIDTH`` integers of 32 bits: a row is a line of memory."""
    table = narrow_pages(len(columns[0]) * CODE_WIDTH)
    for place, column in enumerate(columns):
        table[place::CODE_WIDTH] = memoryview(array("i", column))
    return [table[place:] for place in range(len(columns))]


def next_stops(code: "Code", tensor: int) -> "tuple[Column, Column]":
    """
    Return for each instruction where the next one lies that may wait, and the cycles until then where none waits.

    Those that use neither the tensor core nor wait for scoreboards are passed; the last ones of a segment lead to its
    end. Where it lies is counted in integers of the code's rows.
    """
    behind, cycles = zeros(len(code.stall), CODE_WIDTH), array("q", code.stall)
    for first, end in zip(code.first, code.end, strict=True):
        for place in range(end - 2, first - 1, -1):
            if code.port[place + 1] != tensor and not code.waits[place + 1]:
                behind[place] += behind[place + 1]
                cycles[place] += cycles[place + 1]
    return behind, cycles


def chains(code: "Code", tensor: int, behind: "Column", cycles: "Column") -> "tuple[Column, Column, Column]":
    """
    Return for each mma.sync how many behind it wait for nothing but the tensor core, and its place among all of them.

    They are of one interval, and what is between them issues within it. The third column has the places of all in the
    code, in integers of its rows.
    """
    count, order, places = zeros(len(code.port)), zeros(len(code.port)), zeros(0)
    for place in range(len(code.port)):
        order[place] = len(places)
        if code.port[place] == tensor:
            places.append(place * CODE_WIDTH)
    for first, end in zip(code.first, code.end, strict=True):
        for place in range(end - 1, first - 1, -1):
            after = place + behind[place] // CODE_WIDTH
            if code.port[place] == tensor and after < end and code.port[after] == tensor and not code.waits[after]:
                interval = code.interval[place]
                count[place] = count[after] + 1 if code.interval[after] == interval >= max(1, cycles[place]) else 0
    return count, order, places


class Chip:
    """
    SMs that share an L2, and the CTAs they are handed.

    ``hand`` sends a CTA to an SM; ``run`` goes on until a CTA ends. Warps lie in slots: ``slots`` CTAs of ``warps``
    warps on each SM.
    """

    def __init__(  # noqa: PLR0917 - called positionally by both executions
        self,
        figures: "Figures",
        code: "Code",
        data: "Data",
        sms: int,
        slots: int,
        share: int,
        groups: "Sequence[int]" = (),
    ) -> None:
        """
        Build the chip.

        Args:
            figures: Those of the machine.
            code: The code of all CTAs.
            data: What all CTAs to come execute and touch.
            sms: Simulated SMs.
            slots: CTAs that an SM holds at once.
            share: SMs that each simulated request stands for.
            groups: Group of each SM that the figures know; all are of one GPC where it is empty.
        """
        self.figures_of(figures)
        self.code_of(code)
        self.data_of(data)
        self.sms, self.slots, self.share = sms, slots, share
        resident = sms * slots
        warps = resident * self.warps
        self.now, self.ended_sm, self.instructions, self.wavefronts = 0, 0, 0, 0
        self.notes, self.spans = Log(NOTE_WIDTH), Log(SPAN_WIDTH)
        # SMs
        self.barrier_free = zeros(sms)
        self.mio_of(sms)
        self.cold, self.sectors = zeros(sms, 1), zeros(sms)
        self.line_ready, self.streamed = zeros(sms * self.lines, -1), zeros(sms * self.lines)
        self.fetch_free, self.fetched_lines = zeros(sms), zeros(sms)
        self.cached_line = zeros(sms * self.cache_lines)
        self.smsps_of(sms, slots)
        self.stalls = zeros(REASON_COUNT)
        # CTAs, by slot
        self.cta, self.expected, self.soonest = zeros(resident, -1), zeros(resident, NEVER), zeros(sms, NEVER)
        self.launched, self.remaining, self.accepted = zeros(resident), zeros(resident), zeros(resident)
        self.arrived, self.arrivals, self.observed = zeros(resident), zeros(warps), zeros(resident)
        self.last_arrival, self.parked, self.awaiting = zeros(resident), zeros(resident), zeros(warps)
        self.finished, self.slot_of = zeros(len(self.program), -1), zeros(len(self.program), -1)
        # Warps, by slot: what is read together is near
        row = side_by_side(warps, WARP_WIDTH)
        self.ready, self.port_of, self.age, self.number, self.issued, self.at, self.stalled, self.reason = row[:8]
        self.home, self.segment, self.trip, self.barred, self.held, self.watched, self.slot = row[8:15]
        self.return_free, self.committed, self.open_group, self.drained = row[15:19]
        self.board, self.board_reason, self.written = row[19], row[19 + SCOREBOARDS], row[19 + 2 * SCOREBOARDS]
        self.tagged_apart, self.loads_free = row[20 + 2 * SCOREBOARDS], row[21 + 2 * SCOREBOARDS]
        self.groups = zeros(warps * GROUPS)
        # Caches and DRAM
        self.l1 = [Lines(self.l1_lines + LINES_AT_ONCE) for _ in range(sms)] if self.cached else []
        self.looked_for = zeros(LINES_AT_ONCE)
        self.crossbar, self.dram = Crossbar(figures, sms), Dram(figures, share)
        arbiter = L2Arbiter(figures, sms, share, groups)
        self.l2 = L2(figures, arbiter, self.dram, sms=sms, groups=groups, simulated=self.simulates_l2)
        statuses = data.slow, data.brought, data.shared, data.looked
        self.l2_sampled = L2Sampled(figures, self.crossbar, self.l2, share, statuses)
        self.stores = Stores(figures, self.crossbar, self.l2_sampled, sms=sms, simulated=self.simulates_l2)
        self.brought = 0

    def smsps_of(self, sms: int, slots: int) -> None:
        """
        Make SMSPs, and a calendar of them and of CTA slots.

        Columns of an SMSP lie side by side, and behind them its warps, its ports, its queue and what is due: an SMSP is
        the place of its row, and a port that of its own one, whose cycles of takes follow.
        """
        ports = whole_lines(SMSP_COLUMNS + slots * self.warps)
        queue = ports + self.ports * PORT_WIDTH
        due = queue + self.depth
        self.smsp_width = whole_lines(due + 2 * DUE)
        self.past_smsps = sms * self.smsps * self.smsp_width
        row = side_by_side(sms * self.smsps + sms * slots, self.smsp_width)
        self.calendar = Calendar(row[:4])
        self.asleep, self.clock, self.planned, self.rivals = row[4:8]
        self.active, self.blocked, self.last, self.sm_of, self.dispatched, self.taken, self.multiplies = row[8:15]
        self.mio_free, self.left, self.roomless, self.queue_at, self.queued, self.due_first, self.due_next = row[15:22]
        self.members, self.queue = row[SMSP_COLUMNS], row[queue]
        self.due_at, self.due_takes = row[due], row[due + 1]
        behind = row[ports:]
        self.port_free, self.port_user, self.port_turn, self.port_takes = behind[:4]
        self.tensor, self.mio = (self.ports - TENSOR) * PORT_WIDTH, (self.ports - MIO) * PORT_WIDTH
        for number in range(sms * self.smsps):
            smsp = number * self.smsp_width
            self.asleep[smsp], self.sm_of[smsp] = NEVER, number // self.smsps
            self.last[smsp] = self.planned[smsp] = -1
            for port in range(smsp, smsp + self.ports * PORT_WIDTH, PORT_WIDTH):
                self.port_user[port] = -1
                for turn in range(TAKES):
                    self.port_takes[port + turn] = -1

    def figures_of(self, figures: "Figures") -> None:
        """Take over the machine's figures."""
        self.smsps, self.ports, self.depth = figures.smsps, figures.ports, figures.queue_depth
        self.sm_depth = figures.sm_depth
        self.commit_stage, self.look_ups = figures.commit_stage, figures.look_ups
        self.load_look_ups, self.stores_apart = figures.load_look_ups, figures.stores_apart
        self.fill_bytes = figures.fill_bytes
        self.most_outstanding, self.most_through = figures.outstanding, figures.outstanding_through
        self.copy_queue, self.copy_stage = figures.copy_queue, figures.copy_stage
        self.sm_interval, self.smsp_interval = figures.sm_interval, figures.smsp_interval
        self.per_cycle, self.wavefront_latency = figures.wavefronts_per_cycle, figures.wavefront_latency
        self.return_bytes = figures.warp_return_bytes
        self.register_interval, self.source_release = figures.register_interval, figures.source_release
        self.registers_an_mma, self.copy_registers = figures.registers_an_mma, figures.copy_registers
        self.copy_release, self.mufu_dispatch = figures.copy_release, figures.mufu_dispatch
        self.copy_interval = figures.copy_interval
        self.load_hit, self.copy_hit = figures.load_hit, figures.copy_hit
        self.line_interval, self.way_takes = figures.l1_line_interval, figures.l1_store_bytes
        self.barrier_base, self.barrier_each = figures.barrier_base, figures.barrier_per_warp
        self.constant_miss, self.launch_delay = figures.constant_miss, figures.launch_delay
        self.fetch_miss, self.stream_lines = figures.fetch_miss, figures.stream_lines
        self.fetch_interval, self.cache_lines = figures.fetch_interval, figures.cache_lines
        self.semaphore = figures.semaphore
        self.l1_lines = figures.l1_lines

    def mio_of(self, sms: int) -> None:
        """Make the queue of each SM, the data stage behind them, look-ups of copies, and the way of loads' lines."""
        self.sm_queue, self.sm_queue_at, self.collected = zeros(sms * self.sm_depth), zeros(sms), 0
        # Data stages, behind them the ways of lines that loads lack, those from the SMSPs' queues to the SM's, and what
        # copies write, as stores see it and as zeros do.
        self.staged, self.staged_last = pages(5 * sms * STAGE_WORDS), 0
        self.full_from, self.full_to = zeros(5 * sms), zeros(5 * sms)
        self.to_write, self.writes_next, self.writes_noted = pages(sms * TO_WRITE), zeros(sms), zeros(sms)
        self.lines_noted, self.sectors_noted = zeros(sms), zeros(sms)
        # From when a store finds the way to the SM's port free.
        self.store_way = zeros(sms)
        # Loads on their way, in the order of their issue.
        self.awaited_warp, self.awaited_board = zeros(sms * AWAITED), zeros(sms * AWAITED)
        self.awaited_passes, self.awaited_landed = zeros(sms * AWAITED), zeros(sms * AWAITED)
        self.awaited_first, self.awaited_next = zeros(sms), zeros(sms)
        # Cycles of data that an instruction takes, and those that the data finds.
        self.given, self.found = zeros(GIVEN), zeros(GIVEN)
        self.tag_free, self.tagged, self.tag_turn = zeros(sms), zeros(sms * self.look_ups), zeros(sms)
        self.sought, self.sought_turn = zeros(sms * max(1, self.load_look_ups)), zeros(sms)
        self.apart_until, self.apart_turn = zeros(sms * max(1, self.stores_apart)), zeros(sms)
        # From when an SM takes what is issued behind a barrier, when what was stored has had its wavefronts, and when
        # the last copy comes to its look-up, or the end of its group has been there.
        self.cleared, self.settled, self.last_look_up = zeros(sms), zeros(sms), zeros(sms)
        # Copies on their way, in the order of their look-ups: when the data of each is there, and its places. Those
        # around each SM's L1, and then those through it.
        self.most_sent = max(1, self.most_outstanding, self.most_through)
        self.sent, self.sent_places = zeros(2 * sms * self.most_sent), zeros(2 * sms * self.most_sent)
        self.sent_first, self.sent_next, self.outstanding = zeros(2 * sms), zeros(2 * sms), zeros(2 * sms)

    def code_of(self, code: "Code") -> None:
        """Take over the columns of the code."""
        self.warps, self.lines = code.warps, code.lines
        # What every instruction is asked for is one line of memory, what some are another one.
        behind, cycles = next_stops(code, self.ports - TENSOR)
        ports = array("q", [port * PORT_WIDTH for port in code.port])
        row = together(
            *(code.kind, ports, code.throttle, code.interval, code.latency, code.stall, code.gated, code.waits),
            *(code.write, code.line, code.is_branch, code.dispatches, code.takes, behind, cycles),
        )
        self.kind, self.port, self.throttle, self.interval, self.latency, self.stall, self.gated, self.waits = row[:8]
        self.write, self.fetches, self.is_branch, self.dispatches, self.takes, self.next_stop, self.until_stop = row[8:]
        row = together(
            *(code.read, code.registers, code.wave, code.wave_slots, code.row, code.turn, code.access, code.vec),
            *(code.stage, code.pending, code.bytes, code.is_load, code.through_l1, code.zero_fills, code.fills),
            code.apart,
        )
        self.read, self.registers, self.wave, self.wave_slots, self.row, self.turn_of, self.access, self.vec = row[:8]
        self.stage, self.pending_groups, self.bytes, self.is_load, self.through_l1, self.zero_fills = row[8:14]
        self.fills, self.apart = row[14], row[15]
        chain, order, self.multiplies_at = chains(code, self.ports - TENSOR, behind, cycles)
        row = together(code.joins, code.awaits, code.activity, chain, order)
        self.joins, self.awaits, self.activity, self.chain, self.order = row
        self.waves, self.trips, self.tiles = code.waves, code.trips, code.tiles
        self.first = array("q", [place * CODE_WIDTH for place in code.first])
        self.end = array("q", [place * CODE_WIDTH for place in code.end])
        self.begins, self.warps_of = code.begins, code.warps_of

    def data_of(self, data: "Data") -> None:
        """Take over the columns of what CTAs touch."""
        self.program, self.rows, self.outputs = data.program, data.rows, data.outputs
        self.follows, self.followed = data.follows, data.followed
        self.cached, self.simulates_l2 = data.cached, data.simulates_l2
        self.row_fetch, self.row_status, self.row_output = data.row_fetch, data.row_status, data.row_output
        self.found_slow, self.found_missed, self.found_first = data.found_slow, data.found_missed, data.found_first
        self.pattern, self.fetch_line = data.pattern, data.fetch_line
        self.request, self.vecs = data.request, data.vecs
        self.asked, self.touched, self.l1_wavefronts = data.asked, data.touched, data.l1_wavefronts
        self.line, self.sector_mask = data.line, data.mask
        self.output_sectors = data.output_sectors

    def run(self) -> int:
        """Go on until a CTA ends; return its number, or -1 where nothing is left to do."""
        self.ended = -1
        calendar = self.calendar
        while calendar.count > 0 and self.ended < 0:
            event = calendar.first()
            self.now = now = calendar.due[event] // 2
            calendar.drop(event)
            if event >= self.past_smsps:
                self.launch((event - self.past_smsps) // self.smsp_width, now)
            else:
                until = self.issue_from(event, now)
                self.asleep[event] = until
                if until < NEVER:
                    calendar.schedule(event, 2 * until + TIMED)
        self.notes.flush()
        self.spans.flush()
        return self.ended

    def wake(self, smsp: int, at: int) -> None:
        """Let an SMSP that sleeps beyond a cycle look again at the current one."""
        if self.asleep[smsp] > at:
            self.asleep[smsp] = -1
            self.calendar.schedule(smsp, 2 * self.now + WOKEN)

    # --- CTAs ---

    def hand(self, sm: int, cta: int, at: int, observed: int) -> None:
        """Send a CTA to an SM, where it may issue from a cycle on."""
        slot = sm * self.slots
        while self.cta[slot] >= 0:
            slot += 1
        self.cta[slot] = cta
        self.expected[slot] = at
        self.soonest[sm] = min(self.soonest[sm], at)
        self.observed[slot] = observed
        self.calendar.schedule(self.past_smsps + slot * self.smsp_width, 2 * at + TIMED)

    def next_launch(self, sm: int, now: int) -> int:
        """Return the earliest cycle at which a CTA may come: an announced one, or one that replaces another."""
        return min(now + self.launch_delay, self.soonest[sm])

    def launch(self, slot: int, at: int) -> None:
        """Make a CTA resident; its warps go to the SMSPs in turn, from the one with the fewest warps on (D13)."""
        self.expected[slot] = NEVER
        self.parked[slot], self.slot_of[self.cta[slot]] = 0, slot
        sm, cta = slot // self.slots, self.cta[slot]
        self.soonest[sm] = NEVER
        for other in range(sm * self.slots, (sm + 1) * self.slots):
            self.soonest[sm] = min(self.soonest[sm], self.expected[other])
        program = self.program[cta]
        warps = self.warps_of[program]
        self.launched[slot] = at
        self.remaining[slot], self.accepted[slot] = warps, 0
        self.arrived[slot] = 0
        base, width = sm * self.smsps * self.smsp_width, self.smsp_width
        fewest = 0
        for number in range(1, self.smsps):
            smsp, least = base + number * width, base + fewest * width
            if self.active[smsp] + self.blocked[smsp] < self.active[least] + self.blocked[least]:
                fewest = number
        for number in range(warps):
            warp = (slot * self.warps + number) * WARP_WIDTH
            smsp = base + (fewest + number) % self.smsps * width
            self.age[warp] = cta * self.warps + number
            self.home[warp], self.number[warp], self.watched[warp] = smsp, number, self.observed[slot]
            self.slot[warp] = slot
            segment = self.begins[program]
            self.segment[warp], self.trip[warp], self.at[warp] = segment, 0, self.first[segment]
            self.port_of[warp] = smsp + self.port[self.first[segment]]
            self.issued[warp], self.stalled[warp], self.ready[warp], self.reason[warp] = at - 1, at, at, WAIT
            self.committed[warp] = self.open_group[warp] = self.drained[warp] = self.written[warp] = 0
            self.barred[warp] = self.held[warp] = 0
            for board in range(warp, warp + SCOREBOARDS):
                self.board[board] = 0
                self.board_reason[board] = SHORT_SCOREBOARD
            if self.cold[sm]:
                # The first CTA of each SM misses the constant cache for the kernel's parameters.
                self.charge(warp, at, at + self.constant_miss, IMC_MISS)
                at_first = at + self.constant_miss
                self.issued[warp] = at_first - 1
                self.stalled[warp] = self.ready[warp] = at_first
            self.members[smsp + self.active[smsp]] = warp
            self.active[smsp] += 1
            self.planned[smsp] = -1
            self.fetch(warp)
            self.wake(smsp, self.ready[warp])
        self.cold[sm] = 0

    def leave(self, warp: int, at: int) -> None:
        """Remove a warp that has issued its last instruction."""
        slot = self.slot[warp]
        self.remove(self.home[warp], warp)
        if self.watched[warp]:
            self.log_note(warp, RETIRED, self.home[warp] // self.smsp_width % self.smsps, at, at, at)
        self.remaining[slot] -= 1
        if self.remaining[slot] == 0:
            # Exits come in order of time, so this warp is the last of its CTA.
            self.ended, self.ended_at, self.ended_slot = self.cta[slot], at, slot
            # Its release waits until the L2 has all that its warps have stored.
            self.raise_semaphore(self.ended, max(at, self.accepted[slot]))
            self.slot_of[self.ended] = -1
            self.ended_sm, self.ended_launched = slot // self.slots, self.launched[slot]
            self.cta[slot] = -1

    def remove(self, smsp: int, warp: int) -> None:
        """Take a warp out of those that its SMSP chooses from."""
        last, place = smsp + self.active[smsp] - 1, smsp
        while self.members[place] != warp:
            place += 1
        for after in range(place, last):
            self.members[after] = self.members[after + 1]
        self.active[smsp] -= 1

    def arrive(self, warp: int, at: int) -> None:
        """
        Let a warp arrive at its CTA's barrier; the last one releases all, in the order in which they came.

        What the warp has stored or copied it does not wait for (stored.csv, arrived.csv). Memory instructions behind
        the barrier, of any warp of the SM, have their registers read, and wait then until all that were issued before
        have left the SMSPs' queues, what was stored to shared memory has had its wavefronts, and the last copy comes to
        its look-up, or the end of its group has been there (stored.csv, loads of another SMSP; fenced.csv, of another
        CTA; arrived.csv; barred.csv).
        """
        slot = self.slot[warp]
        sm = slot // self.slots
        self.barrier_free[sm] = max(at, self.barrier_free[sm]) + self.barrier_each
        self.last_arrival[slot] = max(self.last_arrival[slot], self.barrier_free[sm])
        self.arrivals[slot * self.warps + self.arrived[slot]] = warp
        self.arrived[slot] += 1
        warps = self.warps_of[self.program[self.cta[slot]]]
        if self.arrived[slot] < warps:
            return
        self.arrived[slot] = 0
        release = self.last_arrival[slot] + self.barrier_base
        self.last_arrival[slot] = 0
        self.clear(sm)
        for place in range(slot * self.warps, slot * self.warps + warps):
            self.release(self.arrivals[place], release)

    def clear(self, sm: int) -> None:
        """Let what an SM issues from now on wait for what it has issued: from the last arrival at a barrier on."""
        self.cleared[sm] = max(self.cleared[sm], self.settled[sm], self.last_look_up[sm])
        for number in range(sm * self.smsps, (sm + 1) * self.smsps):
            smsp = number * self.smsp_width
            self.cleared[sm] = max(self.cleared[sm], self.left[smsp])

    def release(self, warp: int, at: int) -> None:
        """Release a warp from the barrier; one that waits there returns to its SMSP."""
        self.barred[warp] = at
        if not self.held[warp]:
            return
        self.held[warp] = 0
        self.join(warp, self.at[warp])
        self.rejoin(warp)
        if self.awaits[self.at[warp]]:
            self.await_slice(warp)

    def join(self, warp: int, code: int) -> None:
        """
        Let an instruction wait for the barrier at which its warp has arrived, if it is one that does.

        BAR.SYNC.DEFER_BLOCKING lets its warp go on: arithmetic and mma.sync issue before the release. The first memory
        instruction, branch, load of a constant or barrier waits for it (D32).
        """
        if not self.joins[code]:
            return
        if self.barred[warp] == NEVER:
            smsp = self.home[warp]
            self.remove(smsp, warp)
            self.blocked[smsp] += 1
            self.held[warp] = 1
            return
        self.wait_until(warp, self.barred[warp], BARRIER)
        if self.watched[warp]:
            at = max(self.barred[warp], self.stalled[warp])
            self.log_note(warp, RELEASED, 0, at, at, at)
        self.barred[warp] = 0
        self.fetch(warp)

    def rejoin(self, warp: int) -> None:
        """Put a warp back among those that its SMSP chooses from, by age."""
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

    # --- issue ---

    def horizon(self, smsp: int, now: int) -> int:
        """Return the earliest cycle at which a warp could issue that is now at a barrier or not yet launched."""
        launch = self.next_launch(self.sm_of[smsp], now)
        if self.blocked[smsp]:
            return min(launch, now + self.barrier_base + self.barrier_each)
        return launch

    def choose(self, smsp: int, clock: int) -> int:
        """
        Return the warp of an SMSP that can issue first, or -1; ``chosen_at`` is the cycle.

        Of several those whose instruction goes to the MIO, names no scoreboard, or has not waited beyond the stall
        before it, then those of the CTA that came first, and of one CTA the warp that issued last, then the one that
        has waited longest (D4; elders.csv, lives.csv, conflicts.csv).
        ``others_at`` is the earliest cycle of those that are not chosen.
        """
        chosen, best, others, first, issued, last = -1, NEVER, NEVER, 0, 0, self.last[smsp]
        mio = smsp + self.mio
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
            # The age of its CTA's first warp: one number for all warps of a CTA.
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

    def issue_from(self, smsp: int, now: int) -> int:  # noqa: C901 - the hot loop: splitting it costs a call
        """
        Issue every instruction that can be decided at cycle ``now``.

        The warp that issued last goes on without a choice before the cycle at which another one could issue. So does,
        at the cycle that was planned for it, the one whose turn it is, unless warps have come in between.

        Not modelled: register banks and operand reuse, on which a pipe's interval depends (D23).

        Returns:
            Cycle of the next instruction, ``NEVER`` where no warp can issue.
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
            # A warp that waits for its own instruction before counts as waiting for a fixed latency (parts, samples).
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
                    # It looks again behind the SMSPs that the barrier releases. Were it first, a warp's store would
                    # be right behind its own one where trips end with a barrier: in barred.csv none is.
                    return now
            same = self.active[smsp] == active
            # No other instruction changes who is at a barrier; one that exits may let others return in its place.
            if self.held[chosen] or (kind != PIPE and (kind == EXIT or not same)):
                horizon = self.horizon(smsp, now)
            # What the others wait for comes no sooner for it: none is ready before ``others``.
            if same and kind != EXIT:
                at = max(self.ready[chosen], self.port_free[self.port_of[chosen]], clock)
                if at < others:
                    continue
            chosen = -1

    def take(self, port: int, at: int) -> None:
        """Remember the cycle at which a port is taken, in the place of the one longest ago."""
        self.port_takes[port + self.port_turn[port]] = at
        self.port_turn[port] = self.port_turn[port] + 1 & TAKES_MASK

    def issue_pipe(self, smsp: int, warp: int, at: int) -> None:
        """Issue an instruction of the SMSP's own pipes."""
        code, port = self.at[warp], self.port_of[warp]
        self.port_free[port], self.port_user[port] = at + self.interval[code], warp
        if self.takes[code]:
            self.take_reads(smsp, at, self.takes[code])
        if port == smsp + self.tensor:
            self.multiplies[smsp] = code
            if self.due_first[smsp] < self.due_next[smsp]:
                self.take_due(smsp, at)
        if self.write[code] >= 0:
            self.hold(warp, self.write[code], at + self.latency[code], SHORT_SCOREBOARD)
        if self.watched[warp] and self.activity[code] >= 0:
            self.note(warp, at, at + self.latency[code])
        self.advance(warp, at)

    def take_reads(self, smsp: int, at: int, hundredths: int) -> None:
        """
        Let what uses registers beside an mma.sync delay the tensor core, which reads ten of them (D23).

        Arithmetic and memory instructions cost the tensor core some hundredths of a cycle each, and so does an mma.sync
        beyond its interval; whole cycles are taken when they are full.
        """
        tensor = smsp + self.tensor
        free = self.port_free[tensor]
        if free > at:
            taken = self.taken[smsp] + hundredths
            self.port_free[tensor] = free + taken // PERCENT
            self.taken[smsp] = taken % PERCENT

    def take_later(self, smsp: int, at: int, hundredths: int) -> None:
        """Let a memory instruction do so when its registers are read, on the way to the SM's queue (D23)."""
        if self.port_free[smsp + self.tensor] > at:
            self.take_reads(smsp, at, hundredths)
            return
        place = smsp + 2 * (self.due_next[smsp] & DUE_MASK)
        self.due_at[place], self.due_takes[place] = at, hundredths
        self.due_next[smsp] += 1
        self.due_first[smsp] = max(self.due_first[smsp], self.due_next[smsp] - DUE)

    def take_due(self, smsp: int, at: int) -> None:
        """Let memory instructions delay the mma.sync that issues while their registers are read, not one behind it."""
        tensor = smsp + self.tensor
        while self.due_first[smsp] < self.due_next[smsp]:
            place = smsp + 2 * (self.due_first[smsp] & DUE_MASK)
            if self.due_at[place] >= self.port_free[tensor]:
                return
            self.due_first[smsp] += 1
            if self.due_at[place] >= at:
                self.take_reads(smsp, self.due_at[place], self.due_takes[place])

    def issue_beyond(self, smsp: int, warp: int, at: int) -> None:
        """Issue an instruction of any kind but ``PIPE``."""
        code = self.at[warp]
        kind = self.kind[code]
        landed = at
        if kind in (SHARED, LDGSTS, GLOBAL):
            landed = self.memory(smsp, warp, at)
            if self.takes[code] and (kind != LDGSTS or self.asked[self.requested]):
                self.take_later(smsp, self.collected, self.takes[code])
        elif kind == COMMIT:
            self.dispatch(smsp, at, self.commit_stage, 0, 0, warp, 0, 0)
            self.end_group(self.sm_of[smsp], warp)
            self.commit(warp)
        if self.watched[warp] and self.activity[code] >= 0:
            self.note(warp, at, landed)
        if kind == EXIT:
            self.leave(warp, at + 1)
        elif kind == BAR:
            self.barred[warp] = NEVER
            self.arrive(warp, at)
            self.advance(warp, at)
        else:
            self.advance(warp, at)

    def account(self, warp: int, at: int, free: int, throttle: int) -> None:
        """Charge the cycles since the last issue to stall reasons, and this one to "selected"."""
        begin = self.issued[warp] + 1
        if at > begin:
            # Each reason lasts until its cycle. In the cycles that remain, another warp was selected.
            begin = self.charge(warp, begin, self.stalled[warp], WAIT)
            begin = self.charge(warp, begin, self.ready[warp], self.reason[warp])
            if at > begin:
                begin = self.throttled(warp, begin, free, throttle)
                begin = self.charge(warp, begin, min(at, self.dispatched[self.home[warp]]), DISPATCH_STALL)
                self.charge(warp, begin, at, NOT_SELECTED)
        self.stalls[SELECTED] += 1
        if self.watched[warp]:
            self.log_span(warp, at, at + 1, SELECTED)
        self.issued[warp] = at

    def throttled(self, warp: int, begin: int, free: int, reason: int) -> int:
        """
        Charge the wait for a port; return the cycle at which it is free.

        In the cycles of it at which another warp got the port this one could have been issued, too: it was not
        selected (the samples of two warps an SMSP have one such cycle for most HMMA, LDSM and MUFU, of one warp none).
        """
        if free <= begin:
            return begin
        port, turn, count = self.port_of[warp], self.port_turn[self.port_of[warp]], 0
        while count < TAKES and self.port_takes[port + (turn - count - 1 & TAKES_MASK)] >= begin:
            count += 1
        for back in range(count, 0, -1):
            cycle = self.port_takes[port + (turn - back & TAKES_MASK)]
            if cycle < free:
                begin = self.charge(warp, begin, cycle, reason)
                begin = self.charge(warp, begin, cycle + 1, NOT_SELECTED)
        return self.charge(warp, begin, free, reason)

    def charge(self, warp: int, begin: int, end: int, reason: int) -> int:
        """Charge cycles to a reason; return the cycle at which the next one begins."""
        if end <= begin:
            return begin
        self.stalls[reason] += end - begin
        if self.watched[warp]:
            self.log_span(warp, begin, end, reason)
        return end

    def log_span(self, warp: int, begin: int, end: int, reason: int) -> None:
        """Add a row to the spans."""
        spans = self.spans
        row = spans.row()
        spans.block[row], spans.block[row + 1] = self.number[warp], begin
        spans.block[row + 2], spans.block[row + 3] = end, reason

    def note(self, warp: int, at: int, landed: int) -> None:
        """Log an instruction of a watched CTA."""
        tiles = self.trip[warp] * self.tiles[self.segment[warp]]
        self.log_note(warp, self.at[warp] // CODE_WIDTH, tiles, at, landed, self.stalled[warp])

    def log_note(  # noqa: PLR0917 - one for each integer of the row
        self, warp: int, place: int, tiles: int, at: int, landed: int, stalled: int
    ) -> None:
        """Add a row to the notes."""
        notes = self.notes
        row = notes.row()
        notes.block[row], notes.block[row + 1], notes.block[row + 2] = self.number[warp], place, tiles
        notes.block[row + 3], notes.block[row + 4], notes.block[row + 5] = at, landed, stalled

    def wait_until(self, warp: int, cycle: int, reason: int) -> None:
        """Delay the next instruction; the longest wait gives the reason."""
        if cycle > self.ready[warp]:
            self.ready[warp] = cycle
            self.reason[warp] = reason

    def hold(self, warp: int, board: int, free: int, reason: int) -> None:
        """Hold a scoreboard until a cycle; of several instructions that hold it, the last one frees it."""
        board += warp
        if free >= self.board[board]:
            self.board[board] = free
            self.board_reason[board] = reason

    def commit(self, warp: int) -> None:
        """Close the open copy group, at no cost beyond its queues (D36). Groups complete in order."""
        done, count = self.open_group[warp], self.committed[warp]
        if count > 0:
            done = max(done, self.groups[warp // WARP_WIDTH * GROUPS + (count - 1) % GROUPS])
        self.groups[warp // WARP_WIDTH * GROUPS + count % GROUPS] = done
        self.committed[warp] = count + 1
        self.open_group[warp] = 0

    def advance(self, warp: int, at: int) -> None:
        """Move a warp to its next instruction, and find the first cycle at which that may issue."""
        code = self.at[warp]
        self.stalled[warp] = self.ready[warp] = at + self.stall[code]
        self.reason[warp] = WAIT
        if self.is_branch[code]:
            self.wait_until(warp, at + self.latency[code], BRANCH_RESOLVING)
        code += CODE_WIDTH
        segment = self.segment[warp]
        if code == self.end[segment]:
            code = self.next_trip(warp, segment)
        self.at[warp] = code
        self.port_of[warp] = self.home[warp] + self.port[code]
        if self.gated[code]:
            self.gate(warp, code)
        if self.barred[warp]:
            self.join(warp, code)
            if self.held[warp]:
                return
        if self.gated[code]:
            self.fetch(warp)
            if self.awaits[code]:
                self.await_slice(warp)

    def await_slice(self, warp: int) -> None:
        """Let a warp of a split-K slice wait until the CTA of the slice before has stored and raised its semaphore."""
        slot, smsp = self.slot[warp], self.home[warp]
        before = self.follows[self.cta[slot]]
        if before < 0:
            return
        if self.finished[before] >= 0:
            self.wait_until(warp, self.finished[before] + self.semaphore, LONG_SCOREBOARD)
            return
        self.remove(smsp, warp)
        self.blocked[smsp] += 1
        self.awaiting[slot * self.warps + self.parked[slot]] = warp
        self.parked[slot] += 1

    def raise_semaphore(self, cta: int, at: int) -> None:
        """Return the warps that wait for a CTA to their SMSPs."""
        self.finished[cta] = at
        after = self.followed[cta]
        slot = self.slot_of[after] if after >= 0 else -1
        if slot < 0:
            return
        for place in range(slot * self.warps, slot * self.warps + self.parked[slot]):
            warp = self.awaiting[place]
            self.wait_until(warp, at + self.semaphore, LONG_SCOREBOARD)
            self.rejoin(warp)
        self.parked[slot] = 0

    def next_trip(self, warp: int, segment: int) -> int:
        """Begin another trip of a segment, or the next one that has code; return its first instruction."""
        self.trip[warp] += 1
        while self.trip[warp] >= self.trips[segment] or self.first[segment] == self.end[segment]:
            segment += 1
            self.trip[warp] = 0
        self.segment[warp] = segment
        return self.first[segment]

    def gate(self, warp: int, code: int) -> None:
        """Delay the next instruction until its scoreboards, commit groups and stores allow it."""
        waits, board = self.waits[code], warp
        while waits:
            if waits & 1:
                self.wait_until(warp, self.board[board], self.board_reason[board])
            waits >>= 1
            board += 1
        kind = self.kind[code]
        if kind == DEPBAR:
            done = self.committed[warp] - self.pending_groups[code]
            if done > 0:
                group = warp // WARP_WIDTH * GROUPS + (done - 1) % GROUPS
                self.wait_until(warp, self.groups[group], LONG_SCOREBOARD)
        elif kind == EXIT:
            self.wait_until(warp, self.drained[warp], DRAIN)

    def fetch(self, warp: int) -> None:
        """Let a warp wait for the instruction line that its next instruction begins (D7)."""
        line = self.fetches[self.at[warp]]
        if line < 0:
            return
        sm = self.sm_of[self.home[warp]]
        base = sm * self.lines
        if not self.streamed[base + line]:
            self.streamed[base + line] = 1
            for ahead in range(line, line + self.stream_lines + 1):
                if self.line_ready[base + ahead] < 0:
                    self.fill_line(sm, ahead, self.ready[warp])
        self.wait_until(warp, self.line_ready[base + line], NO_INSTRUCTION)

    def fill_line(self, sm: int, line: int, at: int) -> None:
        """
        Bring an instruction line to an SM; lines come one after the other, and the oldest makes room (D7).

        Not modelled: the bandwidth that this takes at the L2; what it reads there is that of a launch (D7).
        """
        begin = max(at, self.fetch_free[sm])
        self.fetch_free[sm] = begin + self.fetch_interval
        place = sm * self.cache_lines + self.fetched_lines[sm] % self.cache_lines
        if self.fetched_lines[sm] >= self.cache_lines:
            oldest = self.cached_line[place]
            self.line_ready[sm * self.lines + oldest] = -1
            for before in range(max(0, oldest - self.stream_lines), oldest + 1):
                self.streamed[sm * self.lines + before] = 0
        self.cached_line[place] = line
        self.fetched_lines[sm] += 1
        self.line_ready[sm * self.lines + line] = begin + self.fetch_miss

    # --- shared memory ---

    def wavefronts_of(self, warp: int, code: int) -> int:
        """Return the wavefronts of a shared access in the ring slot that this trip uses."""
        slot = self.stage[code] + self.trip[warp] * self.tiles[self.segment[warp]]
        return self.waves[self.wave[code] + slot % self.wave_slots[code] * self.warps + self.number[warp]]

    def service(self, wavefronts: int) -> int:
        """Return the cycles that the data stage takes for some wavefronts."""
        return (wavefronts + self.per_cycle - 1) // self.per_cycle

    def staged_cycles(self, wavefronts: int) -> int:
        """Count wavefronts that the data stage takes; return its cycles for them, at least one."""
        self.wavefronts += wavefronts
        return max(1, self.service(wavefronts))

    def reserve(  # noqa: C901, PLR0912 - a hot loop: splitting it costs a call
        self, stage: int, at: int, cycles: int, written: int
    ) -> int:
        """
        Take the first cycles of a stage from a cycle on that no other instruction has taken (D2).

        Data that comes gives every other cycle to instructions, and takes the next free one. From ``full_from`` to
        ``full_to`` all cycles are known to be taken.

        Args:
            stage: The data stage of the SM of this number, or, counted on from the last one, an SM's way of lines, and
                then the way to its queue.
            at: The first cycle that it may take.
            cycles: How many it takes.
            written: Of a store, where the writes of its SM stand, counted on from those; 0 for what writes nothing.

        Returns:
            The first cycle; ``staged_last`` is the last.
        """
        first, moved, yields, again = -1, 0, False, False
        joins = self.full_from[stage] <= at <= self.full_to[stage]
        cycle = self.full_to[stage] if joins else at
        while cycles > 0:
            states = self.states_of(stage, cycle)
            ahead = states >> 2 * (cycle & WORD_CYCLES)
            if ahead & STATES == ISSUED:
                while ahead & STATES == ISSUED:
                    ahead >>= 2
                    cycle += 1
                if cycle & WORD_CYCLES == 0:
                    continue
            shift = 2 * (cycle & WORD_CYCLES)
            if ahead == 0 and written == 0:
                # The rest of the word is free: as much of it as is needed goes at once.
                taken = min(cycles, WORD_CYCLES + 1 - (cycle & WORD_CYCLES))
                self.set_states(stage, cycle, states | ALL_ISSUED >> 2 * (WORD_CYCLES + 1 - taken) << shift)
                first, yields = cycle if first < 0 else first, False
                cycle, cycles = cycle + taken, cycles - taken
                self.staged_last = cycle - 1
                continue
            state = ahead & STATES
            if state == COMING and not yields:
                yields = True
            else:
                if state == COMING:
                    self.given[moved] = cycle
                    moved += 1
                yields = False
                self.set_states(stage, cycle, states ^ (state ^ ISSUED) << shift)
                self.staged_last = cycle
                again = written > 0 and self.passes_again(written, cycle, again)
                if not again:
                    cycles -= 1
                    first = cycle if first < 0 else first
            cycle += 1
        if joins or at >= self.full_to[stage]:
            self.full_to[stage] = cycle
            if not joins:
                self.full_from[stage] = at
        if moved:
            last = self.staged_last
            for place in range(moved):
                self.come(stage, cycle, 1)
                self.found[place] = self.staged_last
            self.put_off(stage, moved)
            self.staged_last = last
        return first

    def note_writes(self, sm: int, at: int) -> int:
        """
        Let what copies bring to an SM from a cycle on take the cycles in which it is written (D3).

        It is looked at when something is stored, as nothing else asks for it; return where the writes stand.
        """
        for number in range(max(self.writes_noted[sm], self.writes_next[sm] - TO_WRITE), self.writes_next[sm]):
            line = self.to_write[sm * TO_WRITE + (number & TO_WRITE_MASK)]
            if line >> LINE_BITS >= at:
                size = (line & LINE_MASK) * SECTOR_BYTES
                self.come(3 * self.sms + sm, line >> LINE_BITS, (size + self.fill_bytes - 1) // self.fill_bytes)
        self.writes_noted[sm] = self.writes_next[sm]
        return 3 * self.sms + sm

    def note_lines(self, sm: int, at: int) -> int:
        """
        Let what copies bring to an SM from a cycle on take cycles in which no zeros are written (D3).

        A cycle for a line, be it in parts, whose writes take all banks. Return where these stand.
        """
        for number in range(max(self.lines_noted[sm], self.writes_next[sm] - TO_WRITE), self.writes_next[sm]):
            line = self.to_write[sm * TO_WRITE + (number & TO_WRITE_MASK)]
            if line >> LINE_BITS >= at:
                self.sectors_noted[sm] += line & LINE_MASK
                if self.sectors_noted[sm] >= SECTORS_PER_LINE:
                    self.come(4 * self.sms + sm, line >> LINE_BITS, 1)
                    self.sectors_noted[sm] -= SECTORS_PER_LINE
        self.lines_noted[sm] = self.writes_next[sm]
        return 4 * self.sms + sm

    def write_zeros(self, sm: int, at: int, issued: int, cycles: int) -> int:
        """
        Write a copy's zeros, in the turn of copies that look up lines; return the cycle of the last ones (D21).

        What copies bring goes first (zeros.csv).
        """
        stage = self.note_lines(sm, issued)
        first, cycle = -1, max(at, self.tag_free[sm])
        while cycles > 0:
            if self.state_of(stage, cycle) == 0:
                cycle = self.reserve(sm, cycle, 1, 0)
                self.take_cycle(stage, cycle, ISSUED)
                first = cycle if first < 0 else first
                cycles -= 1
            cycle += 1
        self.tag_free[sm] = cycle
        self.looks_up_at(sm, first)
        return cycle - 1

    def looks_up_at(self, sm: int, at: int) -> None:
        """Note that a copy waits for its look-up, or to write its zeros, until a cycle."""
        self.tagged[sm * self.look_ups + self.tag_turn[sm]] = at
        self.tag_turn[sm] = (self.tag_turn[sm] + 1) % self.look_ups
        self.last_look_up[sm] = at

    def passes_again(self, written: int, cycle: int, again: bool) -> bool:
        """
        Return whether a store's wavefront passes in vain, because what a copy brings is written in its cycle (D3).

        When it passes again it goes first, and what is to be written finds the next free cycle.
        """
        if self.state_of(written, cycle) == 0:
            return False
        if again:
            last = self.staged_last
            self.come(written, cycle + 1, 1)
            self.staged_last = last
        return not again

    def await_load(self, sm: int, warp: int, passes: int, landed: int) -> None:
        """Note a load whose data passes the data stage until a cycle, and can be used from another one on."""
        board = self.write[self.at[warp]]
        if board < 0:
            return
        place = sm * AWAITED + self.awaited_next[sm] % AWAITED
        self.awaited_board[place], self.awaited_warp[place] = warp + board, warp
        self.awaited_passes[place], self.awaited_landed[place] = passes, landed
        self.awaited_next[sm] += 1
        self.awaited_first[sm] = max(self.awaited_first[sm], self.awaited_next[sm] - AWAITED)

    def put_off(self, sm: int, moved: int) -> None:
        """
        Let loads come later whose data passes the data stage where others' had to find other cycles.

        Data keeps its order: each cycle that an instruction took (``given``) puts off by one what would pass from then
        on, until one is free (``found``), and where stores follow a burst of loads that adds up (bursts.csv).

        Not modelled: arithmetic that waits for a load and has issued ahead of the clock, copies through the L1, and
        what passes while an instruction at the head of the SM's queue waits (``block``). What is logged of a load is
        what was foreseen when it issued.
        """
        base, first = sm * AWAITED, self.awaited_first[sm]
        while first < self.awaited_next[sm] and self.awaited_passes[base + first % AWAITED] < self.now:
            first += 1
        self.awaited_first[sm] = first
        for number in range(first, self.awaited_next[sm]):
            place = base + number % AWAITED
            passes, cycles = self.awaited_passes[place], 0
            for at in range(moved):
                if self.given[at] > passes + cycles:
                    break
                if passes + cycles < self.found[at]:
                    cycles += 1
            if cycles:
                self.awaited_passes[place] += cycles
                landed = self.awaited_landed[place]
                self.awaited_landed[place] += cycles
                self.free_later(self.awaited_warp[place], self.awaited_board[place], landed, landed + cycles)

    def free_later(self, warp: int, board: int, landed: int, later: int) -> None:
        """Let a load that holds a scoreboard until a cycle, alone or with others, hold it until a later one."""
        if self.board[board] < landed:
            return
        self.loads_free[warp] = max(self.loads_free[warp], later)
        self.board[board] = max(self.board[board], later)
        if self.waits[self.at[warp]] >> board - warp & 1:
            self.wait_until(warp, later, LONG_SCOREBOARD)
            self.planned[self.home[warp]] = -1

    def next_free(self, sm: int, at: int) -> int:
        """Return the first cycle of the data stage from one on that no instruction has taken."""
        cycle = self.full_to[sm] if self.full_from[sm] <= at <= self.full_to[sm] else at
        while self.state_of(sm, cycle) == ISSUED:
            cycle += 1
        return cycle

    def states_of(self, stage: int, cycle: int) -> int:
        """Return what the cycles of a stage go to that are one integer with a cycle, two bits each."""
        number = cycle >> CYCLE_BITS & WORD_NUMBERS
        states = self.staged[stage * STAGE_WORDS + (number & STAGE_MASK)] ^ number << WORD_NUMBER
        return 0 if states >> WORD_NUMBER else states

    def set_states(self, stage: int, cycle: int, states: int) -> None:
        """Let these cycles go to something else; those that lay in their place are over."""
        number = cycle >> CYCLE_BITS & WORD_NUMBERS
        self.staged[stage * STAGE_WORDS + (number & STAGE_MASK)] = number << WORD_NUMBER | states

    def state_of(self, stage: int, cycle: int) -> int:
        """Return what a cycle of a stage goes to, or 0 where it is free."""
        return self.states_of(stage, cycle) >> 2 * (cycle & WORD_CYCLES) & STATES

    def take_cycle(self, stage: int, cycle: int, state: int) -> None:
        """Let a cycle of a stage go to an instruction, or to data that comes."""
        states, shift = self.states_of(stage, cycle), 2 * (cycle & WORD_CYCLES)
        self.set_states(stage, cycle, states ^ (states >> shift & STATES ^ state) << shift)

    def come(self, stage: int, at: int, cycles: int) -> None:
        """Let data that comes take the first free cycles of a stage."""
        start = cycle = max(at, self.full_to[stage]) if self.full_from[stage] <= at else at
        while cycles > 0:
            states = self.states_of(stage, cycle)
            shift = 2 * (cycle & WORD_CYCLES)
            # Whatever takes a cycle has the upper one of its two bits.
            taken = states >> shift & ALL_ISSUED
            if taken == ALL_ISSUED >> shift:
                cycle += WORD_CYCLES + 1 - (cycle & WORD_CYCLES)
                continue
            while taken & ISSUED:
                taken >>= 2
                cycle += 1
            self.set_states(stage, cycle, states | (taken & STATES | COMING) << 2 * (cycle & WORD_CYCLES))
            self.staged_last = cycle
            cycles -= 1
            cycle += 1
        if stage >= 3 * self.sms and start >= self.full_to[stage]:
            # What copies write, and zeros, take every cycle from the first one looked at.
            if start > self.full_to[stage]:
                self.full_from[stage] = start
            self.full_to[stage] = cycle

    def taken_in(self, sm: int, at: int, wavefronts: int) -> int:
        """
        Let data that comes to an SM through its L1 pass the data stage (D3).

        Returns:
            The cycle at which it can be used: that of its arrival, and what it waits for the data stage.
        """
        cycles = self.staged_cycles(wavefronts)
        self.come(sm, at, cycles)
        return max(at, self.staged_last + 1 - cycles)

    def gaps(self, smsp: int, warp: int, at: int, registers: int) -> int:
        """
        Return how much longer a memory instruction's registers are read because another warp multiplies (D8).

        So many are read with each mma.sync, of which each comes a cycle more than its interval behind the last one
        (gaps.csv), and others between two as fast as without. How many there is room for is told by the last two.

        Its own are foreseen (``between_mma``).
        """
        tensor = smsp + self.tensor
        user = self.port_user[tensor]
        alone = registers * self.register_interval
        if user < 0 or user == warp or alone == 0 or self.registers_an_mma == 0:
            return 0
        taken = GAPS * (self.interval[self.multiplies[smsp]] + 1)
        since = max(taken, at - self.port_takes[tensor + (self.port_turn[tensor] - GAPS & TAKES_MASK)])
        room = min(since, GAPS * self.registers_an_mma * self.register_interval + since - taken)
        return alone * since // room - alone

    def between_mma(self, smsp: int, warp: int, at: int, registers: int, beside_others: int) -> int:
        """
        Return how much longer a memory instruction's registers are read because of the mma.sync that issue meanwhile.

        They are those ahead of the warp that multiplied last, be it the instruction's own, as far as its code goes and
        the scoreboards that it waits for are known. One register is read with each, others between two as fast as
        without. Another warp's come a cycle more than their interval behind one another then (gaps.csv, D8).

        Not modelled: mma.sync of several warps, and those of the next trip. Those that wait for the instruction itself,
        for one between, for a barrier or for copies are taken to issue as if they did not; of another warp's the one
        that is being fed holds nothing.

        Args:
            smsp: The SMSP.
            warp: The instruction's warp.
            at: Its issue.
            registers: Those that it reads; none wait for nothing.
            beside_others: As many as which they count beside mma.sync of other warps.
        """
        tensor = smsp + self.tensor
        user, start = self.port_user[tensor], max(at + 1, self.mio_free[smsp])
        if registers == 0 or user < 0 or self.registers_an_mma == 0 or self.held[user] or self.home[user] != smsp:
            return 0
        left = count = registers if user == warp else beside_others
        code, time, read, free = self.at[user], max(at, self.ready[user]), start, self.port_free[tensor]
        if user == warp:
            time = at + self.stall[code]
            code += CODE_WIDTH
            if free > start:
                read, left = free + 1, left - self.registers_an_mma
        end = min(self.end[self.segment[user]], code + INSTRUCTIONS_AHEAD * CODE_WIDTH)
        # Where all is read before the next instruction issues, no mma.sync behind it holds anything.
        while left > 0 and read + left * self.register_interval > time and code < end:
            if self.waits[code]:
                time = max(time, self.boards_free(user, self.waits[code]))
            if self.port[code] == self.tensor:
                time = max(time, free)
                over = self.over_before(code, time, read)
                time += over * self.interval[code]
                code = self.multiplies_at[self.order[code] + over] if over else code
                if code >= end:
                    break
                while left > 0 and read + self.register_interval <= time:
                    read += self.register_interval
                    left -= 1
                free = time + self.interval[code]
                if left > 0 and read <= free:
                    read, left = free + 1, left - self.registers_an_mma
                    free = free if user == warp else read
            time += self.until_stop[code]
            code += self.next_stop[code]
        return max(0, read + (max(0, left) - count) * self.register_interval - start)

    def beside_mma(self, smsp: int, warp: int, at: int, registers: int) -> int:
        """Return how much longer registers are read because mma.sync issue meanwhile: those issued, and foreseen."""
        return max(self.gaps(smsp, warp, at, registers), self.between_mma(smsp, warp, at, registers, registers))

    def boards_free(self, warp: int, waits: int) -> int:
        """Return when the scoreboards of a mask that a warp waits for are free, as far as is known."""
        free, board = 0, warp
        while waits:
            if waits & 1:
                free = max(free, self.board[board])
            waits >>= 1
            board += 1
        return free

    def over_before(self, code: int, at: int, read: int) -> int:
        """Return how many mma.sync of a chain, whose first issues at a cycle, are over before a register is read."""
        interval = self.interval[code]
        if self.chain[code] == 0 or read <= at + interval:
            return 0
        return min(self.chain[code], (read - at - 1) // interval)

    def end_group(self, sm: int, warp: int) -> None:
        """Let the end of a group come to the look-up behind its copies, and take as long as one of them takes more."""
        self.tag_free[sm] += self.tagged_apart[warp]
        self.tagged_apart[warp] = 0
        self.last_look_up[sm] = max(self.last_look_up[sm], self.tag_free[sm])

    def dispatch(  # noqa: PLR0917 - in C all are
        self, smsp: int, at: int, cycles: int, registers: int, until: int, warp: int, apart: int, written: int
    ) -> int:
        """
        Queue a memory instruction in the MIO; return the cycle at which the data stage takes it.

        An SMSP's queue gives its instructions (``collected``), as fast as it reads registers, to that of the SM, in the
        first cycle in which no other SMSP gives one. The data stage takes them when they are there and it is free, each
        for its wavefronts, but at least one cycle, and lets loads of an operand pass: so it takes loads that load
        nothing, which compilers put before cp.async, and the end of a commit group for more. An entry is free from the
        cycle its instruction leaves the queue, without the time to the address unit (D8). On T4 the rate of the SM is
        that of GA10x (D20). A store waits until its warp's store before it is written (``until``), ``apart`` from the
        queue, in one of so many places that come in turn; until it has one all memory instructions behind it wait with
        it (D3). Behind a load that may not be looked up yet they do, too. Behind a barrier all wait for those before it
        (``cleared``).
        """
        waits = self.beside_mma(smsp, warp, at, registers)
        return self.queue_up(smsp, at, cycles, registers, until, waits, 1, 1, self.sm_interval, apart, 0, 0, written, 0)

    def dispatch_output(  # noqa: PLR0917 - in C all are
        self, smsp: int, at: int, cycles: int, registers: int, room: int, warp: int, written: int, way: int
    ) -> int:
        """
        Queue a load or store of an epilogue in the MIO; return the cycle at which the data stage takes it.

        A store waits in the queue of its SMSP until the SM's port has room for it (``room``), and so does what its SMSP
        issues behind it. Those of other SMSPs pass (stored.csv, loads of an SMSP that stores nothing). Its data takes
        the way to the port for some cycles (``way``).
        """
        waits = self.beside_mma(smsp, warp, at, registers)
        return self.queue_up(smsp, at, cycles, registers, 0, waits, 1, 1, self.sm_interval, 0, room, 0, written, way)

    def dispatch_copy(  # noqa: PLR0917 - in C all are
        self, smsp: int, at: int, cycles: int, registers: int, until: int, warp: int, beside: int
    ) -> int:
        """
        Queue a copy in the MIO; return the cycle at which the data stage takes it, or, ``beside`` it, passes it.

        It takes an entry of the SM's queue for each register of its addresses, and somewhat more than one of its
        SMSP's (queued.csv). Where it looks up lines, so many others may wait to do so: all memory instructions behind
        it wait with it until there is room (``until``; held.csv, loads behind copies). One without lanes that
        writes nothing reads no addresses (D21).
        """
        self.queued[smsp] += self.copy_queue
        entries = self.queued[smsp] // PERCENT
        self.queued[smsp] %= PERCENT
        entries_of_sm, interval = max(1, registers), self.copy_interval
        waits = self.between_mma(smsp, warp, at, registers, self.copy_registers)
        return self.queue_up(
            smsp, at, cycles, registers, until, waits, entries, entries_of_sm, interval, 0, 0, beside, 0, 0
        )

    def queue_up(  # noqa: PLR0917 - in C all are
        self,
        smsp: int,
        at: int,
        cycles: int,
        registers: int,
        until: int,
        waits: int,
        own: int,
        entries: int,
        interval: int,
        apart: int,
        room: int,
        beside: int,
        written: int,
        way: int,
    ) -> int:
        """
        Queue an instruction that takes entries of its SMSP's queue and the SM's; return when it is the stage's.

        A store without room at the SM's port, and what its SMSP issues behind it until it has room, wait in the queue
        of the SMSP, and hold no other's (stored.csv). What goes ``beside`` the data stage takes cycles of it, but waits
        for none. While a store to global memory that found room has the ``way`` to the port, the next store, be it to
        shared memory, waits, and all behind it (steps.csv).
        """
        sm = self.sm_of[smsp]
        collected = max(at + 1, self.mio_free[smsp]) + waits
        if room > collected:
            self.roomless[smsp] = collected = room
        alone, self.ample = self.roomless[smsp] > at, 0
        if not alone:
            entry = self.place_in_queue(sm, entries - 1)
            self.ample = self.sm_queue[self.place_in_queue(sm, min(2 * entries, self.sm_depth) - 1)]
            collected = self.reserve(2 * self.sms + sm, max(collected, self.sm_queue[entry]), interval, 0)
        if apart:
            turn = sm * apart + self.apart_turn[sm]
            passes = max(collected, self.apart_until[turn], self.store_way[sm])
            self.block(sm, collected, passes)
            passes = max(passes, self.cleared[sm])
            leaves = self.reserve(sm, max(passes, until), cycles, written)
            self.apart_until[turn] = leaves
            self.apart_turn[sm] = (self.apart_turn[sm] + 1) % apart
        else:
            passes = max(collected, until, self.store_way[sm]) if written else max(collected, until)
            self.block(sm, collected, passes)
            passes = max(passes, self.cleared[sm])
            if beside:
                self.reserve(sm, passes, cycles, 0)
            else:
                passes = self.reserve(sm, passes, cycles, written) if cycles else self.next_free(sm, passes)
            leaves = passes
            if way and not alone:
                self.store_way[sm] = leaves + way
        self.leave_queue(smsp, collected, registers, own)
        if not alone:
            place = self.sm_queue_at[sm]
            for _ in range(entries):
                self.sm_queue[sm * self.sm_depth + place] = passes
                place = place + 1 if place + 1 < self.sm_depth else 0
            self.sm_queue_at[sm] = place
        return leaves

    def place_in_queue(self, sm: int, behind: int) -> int:
        """Return the place of an entry of an SM's queue, so many behind the next one; fewer than it has."""
        place = self.sm_queue_at[sm] + behind
        return sm * self.sm_depth + (place if place < self.sm_depth else place - self.sm_depth)

    def leave_queue(self, smsp: int, at: int, registers: int, entries: int) -> None:
        """Let an instruction leave its SMSP's queue; its registers are read before those of the next one."""
        self.collected = self.left[smsp] = at
        self.mio_free[smsp] = at + max(self.smsp_interval, registers * self.register_interval)
        place = self.queue_at[smsp]
        for _ in range(entries):
            self.queue[smsp + place] = at
            place = place + 1 if place + 1 < self.depth else 0
        self.queue_at[smsp] = place
        self.port_free[smsp + self.mio] = self.queue[smsp + place]

    def memory(self, smsp: int, warp: int, at: int) -> int:
        """Issue a memory instruction; return the cycle at which its data has arrived."""
        code = self.at[warp]
        kind, registers, sm = self.kind[code], self.registers[code], self.sm_of[smsp]
        reason = SHORT_SCOREBOARD
        if kind == SHARED:
            wavefronts = self.wavefronts_of(warp, code)
            stores = self.fills[code]
            cycles = self.staged_cycles(wavefronts)
            until = self.written[warp] if stores else 0
            apart = self.stores_apart if stores else 0
            written = self.note_writes(sm, at) if stores else 0
            leaves = self.dispatch(smsp, at, cycles, registers, until, warp, apart, written)
            if stores:
                self.written[warp] = leaves + wavefronts * self.wavefront_latency
                self.settled[sm] = max(self.settled[sm], self.staged_last + 1)
            landed = self.shared(warp, leaves, wavefronts)
        elif kind == LDGSTS:
            # Its registers are waited for as those of any access to global memory (Nsight Compute's guide).
            reason = LONG_SCOREBOARD
            landed = self.copy_async(smsp, warp, at)
        else:
            reason = LONG_SCOREBOARD
            leaves = 0
            if self.row[code] >= 0:
                landed = self.load(smsp, warp, at)
            else:
                # A store looks up its lines on the way, one a cycle, as copies do. Four sectors are taken for a line.
                sectors = self.sectors_of_output(warp, code)
                lines = 0 if self.is_load[code] else (sectors + SECTORS_PER_LINE - 1) // SECTORS_PER_LINE
                room = self.stores.room_at_port(sm) if lines else 0
                written = self.note_writes(sm, at) if lines else 0
                way = (
                    (sectors * SECTOR_BYTES + self.way_takes // 2) // self.way_takes if lines and self.way_takes else 0
                )
                leaves = self.dispatch_output(smsp, at, self.staged_cycles(lines), registers, room, warp, written, way)
                landed = self.output(sm, warp, at, leaves, sectors)
        if self.write[code] >= 0:
            self.hold(warp, self.write[code], landed, reason)
        if self.read[code] >= 0:
            # Addresses are read on the way to the SM's queue, what is stored when the data stage takes it. A copy lets
            # go of its own when that has as many places again (held.csv, a copy behind four ldmatrix of each SMSP).
            if kind == LDGSTS:
                released = max(self.collected, self.ample) + self.copy_release
            else:
                released = self.collected if self.is_load[code] else leaves
                released += registers * self.register_interval + self.source_release
            self.hold(warp, self.read[code], released, reason)
        return landed

    def load(self, smsp: int, warp: int, at: int) -> int:
        """
        Issue a load of an operand; return the cycle at which its data has arrived.

        It takes the data stage when its data comes, and none before. Each of its wavefronts in the L1 is looked up in a
        cycle, after all that look up lines before it; where more lines lack sectors, each of these (freed.csv). So many
        loads may wait for that; all memory instructions behind the next one wait with it (amid.csv).
        """
        code, sm = self.at[warp], self.sm_of[smsp]
        self.resolve(warp, code)
        wavefronts = self.l1_wavefronts[self.requested]
        if wavefronts == 0:
            return self.dispatch(smsp, at, 1, self.registers[code], 0, warp, 0, 0) + self.load_hit
        place = sm * self.load_look_ups + self.sought_turn[sm]
        until = self.sought[place] if self.load_look_ups else 0
        leaves = self.dispatch(smsp, at, 0, self.registers[code], until, warp, 0, 0)
        begins = self.tag(sm, leaves, max(wavefronts, self.lacked(sm)))
        if self.load_look_ups:
            self.sought[place] = begins
            self.sought_turn[sm] = (self.sought_turn[sm] + 1) % self.load_look_ups
        landed = self.look_up(sm, begins, at, self.load_hit, self.line_interval)
        # While the last of several lines comes, wavefronts of those before it pass.
        late = self.wavefront_latency * (wavefronts - 1) - self.line_interval * max(0, self.brought - 1)
        landed = self.taken_in(sm, landed, wavefronts) + max(0, late)
        passes = self.staged_last
        # The registers of one warp take what comes at a rate, as those of a shared load (bursts.csv, one warp); here it
        # is as many bytes as the sectors have. What comes sooner than a load's data that issued before waits for none.
        path = (self.asked[self.requested] * SECTOR_BYTES + self.return_bytes - 1) // self.return_bytes
        if landed + path > self.loads_free[warp]:
            landed = max(landed, self.loads_free[warp] + path)
            self.loads_free[warp] = landed
        self.await_load(sm, warp, passes, landed)
        return landed

    def copy_async(self, smsp: int, warp: int, at: int) -> int:
        """Issue a cp.async; return the cycle at which its data has arrived, or its zeros are written."""
        code, sm = self.at[warp], self.sm_of[smsp]
        self.resolve(warp, code)
        comes = self.asked[self.requested] > 0
        looks_up = comes and not self.through_l1[code]
        # Without active lanes a copy takes no wavefront, unless it fills with zeros (D21).
        wavefronts = self.wavefronts_of(warp, code) if comes or self.zero_fills[code] else 0
        # It takes the data stage for longer where it fills lines of one class (one_sm.csv), and for zeros when they are
        # written.
        blank = not comes and wavefronts > 0
        cycles = self.copy_stage + self.apart[code] if looks_up else int(not blank)
        until = self.tagged[sm * self.look_ups + self.tag_turn[sm]] if looks_up or blank else 0
        lacked = self.lacked(sm) if comes and not looks_up and self.most_through else 0
        if lacked:
            until = self.room_for(self.sms + sm, 0, lacked, self.most_through)
        registers = self.registers[code] if comes or blank else 0
        leaves = self.dispatch_copy(smsp, at, cycles, registers, until, warp, 1 if looks_up else 0)
        begins = leaves
        if looks_up:
            # A request takes a cycle, and a copy one more whose lines in shared memory are all of one class, and so
            # does the end of a group behind it (fills.csv).
            found = self.room_for(sm, leaves, self.places(), self.most_outstanding) if self.most_outstanding else leaves
            begins = self.tag(sm, found, self.tags() + self.apart[code])
            self.looks_up_at(sm, begins)
            self.tagged_apart[warp] = self.apart[code]
        elif blank:
            begins = self.write_zeros(sm, leaves, at, self.staged_cycles(wavefronts))
        landed = self.copy(sm, begins, at, code)
        if looks_up:
            landed += self.wavefront_latency * (self.tags() - 1)
            if self.most_outstanding:
                self.send(sm, landed, self.places())
        elif comes:
            # What the L1 has passes in the wavefronts of its banks, and what is to come a line in each (through.csv).
            landed = self.taken_in(sm, landed, max(wavefronts, self.l1_wavefronts[self.requested], self.coming))
            if lacked:
                self.send(self.sms + sm, landed, lacked)
        self.open_group[warp] = max(landed, self.open_group[warp])
        return landed

    def shared(self, warp: int, leaves: int, wavefronts: int) -> int:
        """
        Serve a shared access; return the cycle at which a load's value can be used, or a store is done.

        The registers of one warp take a load's bytes at a rate, and its wavefronts as far apart as they are served
        alone (shared.csv, ldmatrix.csv, conflicts of one warp); loads of other warps of its SMSP do not wait for that.
        """
        code = self.at[warp]
        if self.is_load[code]:
            late = max(0, self.staged_last + 1 - leaves - self.service(wavefronts))
            landed = leaves + late - 1 + self.latency[code] + self.wavefront_latency * (wavefronts - 1)
            path = (self.bytes[code] + self.return_bytes - 1) // self.return_bytes
            path = max(path, wavefronts * self.wavefront_latency)
            landed = max(landed, self.return_free[warp] + path)
            self.return_free[warp] = landed
            return landed
        return self.staged_last + 1

    # --- global memory ---

    def resolve(self, warp: int, code: int) -> None:
        """Find the fetch, the request and the L2 status of a warp's access to an operand."""
        row = self.cta[self.slot[warp]] * self.rows + self.row[code]
        turn = self.turn_of[code] + self.trip[warp] * self.tiles[self.segment[warp]]
        self.fetched, self.l2_sampled.status = self.row_fetch[row] + turn, self.row_status[row] + turn
        pattern = self.pattern[self.fetched]
        place = self.access[code] * self.vecs[pattern] + self.vec[code]
        self.requested = self.request[pattern] + place * self.warps + self.number[warp]

    def output_of(self, warp: int, code: int) -> int:
        """Return the place of a warp's load or store of the epilogue among those of all CTAs."""
        return self.cta[self.slot[warp]] * self.outputs + self.turn_of[code]

    def sectors_of_output(self, warp: int, code: int) -> int:
        """Return the sectors of a warp's load or store of the epilogue."""
        output = self.output_of(warp, code)
        return self.output_sectors[self.row_output[output] + self.access[code] * self.warps + self.number[warp]]

    def output(self, sm: int, warp: int, at: int, leaves: int, sectors: int) -> int:
        """Serve a load or store of the epilogue; return the cycle at which a load's data has arrived (D10)."""
        code = self.at[warp]
        if not self.is_load[code]:
            if not sectors:
                self.drained[warp] = leaves
                return leaves
            taken = self.stores.store(sm, leaves, at, sectors)
            self.drained[warp] = max(leaves, self.stores.passed[sm] // MILLI)
            self.accepted[self.slot[warp]] = max(taken, self.accepted[self.slot[warp]])
            return leaves
        if not sectors:
            return leaves + self.copy_hit
        self.sectors[sm] += sectors
        output = self.output_of(warp, code)
        slow, missed, first = self.found_slow[output], self.found_missed[output], self.found_first[output]
        return self.l2_sampled.read_output(sm, leaves, at, sectors, slow, missed, first)

    def tags(self) -> int:
        """Return the cycles in which a copy looks up its lines: one for each request (splits.csv)."""
        return self.touched[self.requested + 1] - self.touched[self.requested]

    def tag(self, sm: int, at: int, cycles: int) -> int:
        """Let an instruction look up its lines for some cycles, after those before it; return the first."""
        begin = max(at, self.tag_free[sm])
        self.tag_free[sm] = begin + cycles
        return begin

    def places(self) -> int:
        """
        Return the places that a copy's requests take among those on their way (outstanding.csv).

        Two each where all are of a sector. Not modelled: what copies take whose requests are of one and of several.
        """
        tags = self.tags()
        return 2 * tags if tags == self.asked[self.requested] else tags

    def lacked(self, sm: int) -> int:
        """Return how many lines an SM's L1 lacks of those that a request looks up, be it some sectors of them."""
        cache, base, count = self.l1[sm], self.fetch_line[self.fetched], 0
        for touched in range(self.touched[self.requested], self.touched[self.requested + 1]):
            slot = cache.lookup(self.line[touched] + base)
            if slot < 0 or self.sector_mask[touched] & ~cache.held[slot]:
                count += 1
        return count

    def room_for(self, way: int, at: int, places: int, most: int) -> int:
        """
        Return when a copy's requests have found places among those on their way, of which an SM has so many.

        Copies give theirs back in the order in which they were looked up: what is behind one that comes from far keeps
        its own, though it has come (outstanding.csv, copies that hit the L2 between those of the host's memory).

        Args:
            way: The SM, for copies around its L1; counted on from the last one, for those through it.
            at: The first cycle that it may be.
            places: How many the copy takes.
            most: How many there are.
        """
        while self.outstanding[way] and self.outstanding[way] + places > most:
            place = way * self.most_sent + self.sent_first[way] % self.most_sent
            at = max(at, self.sent[place])
            self.outstanding[way] -= self.sent_places[place]
            self.sent_first[way] += 1
        return at

    def send(self, way: int, landed: int, places: int) -> None:
        """Note a copy whose requests are on their way until a cycle."""
        place = way * self.most_sent + self.sent_next[way] % self.most_sent
        self.sent[place], self.sent_places[place] = landed, places
        self.sent_next[way] += 1
        self.outstanding[way] += places

    def block(self, sm: int, at: int, until: int) -> None:
        """Take all cycles of the data stage up to one."""
        for cycle in range(at, until):
            self.take_cycle(sm, cycle, ISSUED)

    def copy(self, sm: int, at: int, issued: int, code: int) -> int:
        """Serve a cp.async; return the cycle at which its data is in shared memory."""
        sectors = self.asked[self.requested]
        if self.through_l1[code] or sectors == 0:
            return self.look_up(sm, at, issued, self.copy_hit, 0)
        self.sectors[sm] += sectors
        # The latencies of L2 and DRAM are those of loads; a copy takes longer by what it takes longer on a hit.
        beyond = self.copy_hit - self.load_hit
        start = self.crossbar.inject(sm, at, sectors * SECTOR_BYTES)
        self.l2.sectors += sectors
        done, first, cache = 0, self.touched[self.requested], self.l2.lines
        base, lines = self.fetch_line[self.fetched], self.touched[self.requested + 1] - first
        # All lines are looked for before the first one is served: they lie anywhere in the memory that this runs in,
        # which so waits for all at once.
        for place in range(lines):
            self.looked_for[place] = cache.touch(self.line[first + place] + base)
        for place in range(lines):
            slot, mask = self.looked_for[place], self.sector_mask[first + place]
            if self.simulates_l2:
                landed = self.l2.read(sm, slot, mask, start, issued)
            else:
                self.l2_sampled.has_twin = self.has_twin(first + place)
                landed = self.l2_sampled.read(sm, slot, mask, start, issued)
            done = max(done, landed)
            if self.fill_bytes:
                line_place = sm * TO_WRITE + (self.writes_next[sm] & TO_WRITE_MASK)
                self.to_write[line_place] = landed + beyond << LINE_BITS | sectors_in(mask)
                self.writes_next[sm] += 1
        return done + beyond

    def has_twin(self, touched: int) -> bool:
        """Return whether the request before or behind one of the same copy is for other sectors of its line (D24)."""
        first, last = self.touched[self.requested], self.touched[self.requested + 1] - 1
        return (touched > first and self.are_twins(touched - 1, touched)) or (
            touched < last and self.are_twins(touched, touched + 1)
        )

    def are_twins(self, one: int, other: int) -> bool:
        """Return whether two requests of a copy are for other sectors of one line."""
        return self.line[one] == self.line[other] and self.sector_mask[one] != self.sector_mask[other]

    def look_up(self, sm: int, at: int, issued: int, hit: int, interval: int) -> int:
        """
        Look lines up in the L1 and bring what is missing; return the cycle of the last one's data.

        The L1 has exactly what the resident CTAs leave of shared memory (D12). ``coming`` counts the lines that it
        lacks, or that are still on their way to it. Not modelled: a limit on outstanding requests of loads (D24).
        """
        done, asked = at + hit, self.asked[self.requested]
        self.brought = self.coming = 0
        if not asked:
            return done
        self.sectors[sm] += asked
        cache, missing = self.l1[sm], 0
        base = self.fetch_line[self.fetched]
        for touched in range(self.touched[self.requested], self.touched[self.requested + 1]):
            slot = cache.touch(self.line[touched] + base)
            mask, held = self.sector_mask[touched], cache.held[slot]
            if mask & held:
                done = max(done, cache.ready[slot])
            if mask & ~held or cache.ready[slot] > at + hit:
                self.coming += 1
            missing += sectors_in(mask & ~held)
        if missing:
            landed = self.bring(sm, at, issued, missing, interval) + hit - self.load_hit
            for touched in range(self.touched[self.requested], self.touched[self.requested + 1]):
                slot = cache.lookup(self.line[touched] + base)
                mask = self.sector_mask[touched]
                if mask & ~cache.held[slot]:
                    cache.ready[slot] = landed
                    cache.held[slot] |= mask
            while cache.count > self.l1_lines:
                cache.evict()
            done = max(done, landed)
        return done

    def bring(self, sm: int, at: int, issued: int, missing: int, interval: int) -> int:
        """Read the sectors of a request that the L1 lacks from the L2; each line takes ``interval`` cycles to pass."""
        self.l2.sectors += missing
        start = self.crossbar.inject(sm, at, missing * SECTOR_BYTES)
        self.l2_sampled.has_twin = False
        if not self.simulates_l2:
            self.l2_sampled.credit_slow(self.asked[self.requested] - missing)
        cache, base, done = self.l1[sm], self.fetch_line[self.fetched], 0
        for touched in range(self.touched[self.requested], self.touched[self.requested + 1]):
            line = self.line[touched] + base
            mask = self.sector_mask[touched] & ~cache.held[cache.lookup(line)]
            if mask == 0:
                continue
            slot = self.l2.lines.touch(line)
            if self.simulates_l2:
                landed = self.l2.read(sm, slot, mask, start, issued)
            else:
                landed = self.l2_sampled.read(sm, slot, mask, start, issued)
            done = max(done, self.pass_in(sm, landed, interval))
            self.brought += 1
        return done

    def pass_in(self, sm: int, at: int, interval: int) -> int:
        """
        Let a line that a load lacks pass to its SM, in the first free cycles; return when it has come.

        A cycle each, with one sector or two (returns.csv, rows of 32 and 64 bytes). A line alone comes no later:
        latencies are measured with one.

        Not modelled: copies through the L1, of which a line takes 1.2 to 2.3 cycles, and loads of the epilogue (D3).
        """
        if interval == 0:
            return at
        self.reserve(self.sms + sm, at, interval, 0)
        return self.staged_last + 1 - interval
