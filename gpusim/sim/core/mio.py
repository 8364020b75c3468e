"""
The MIO: the queue of each SMSP, the queue of the SM behind them, and the registers that are read on the way.

In silicon: memory instructions wait in a queue of their SMSP's, have their registers read, and go to a queue of the
SM's, which the data stage serves. The register file feeds the tensor core at the same time.
Figures: ``queue_depth``, ``sm_depth``, ``smsp_interval``, ``sm_interval``, ``copy_interval``, ``copy_queue``,
``stores_apart``, ``register_interval``, ``registers_an_mma``, ``copy_registers``.
State: when each entry of each queue is free; from when an SM takes what is issued behind a barrier; when a store finds
the way to the SM's port free, and those that wait apart free.
Timing: an entry is free from the cycle at which its instruction leaves the queue. An SMSP's queue is left in order, as
fast as registers are read, in the first cycle in which no other SMSP's instruction goes to the SM's. That is left in
order, when the data stage is free.

>>> from doubles.by_hand import quiet
>>> mio = quiet().mio
>>> mio.entry(cycles=4, registers=0, until=0)
>>> first, second = mio.queue(0, at=10, warp=0), mio.queue(0, at=11, warp=0)
>>> mio.collected > 11, second - first
(True, 4)
"""

from typing import TYPE_CHECKING

from gpusim.sim.columns import zeros
from gpusim.sim.core.constants import CODE_WIDTH, GAPS, INSTRUCTIONS_AHEAD, PERCENT, SM_QUEUE, TAKES_MASK
from gpusim.sim.core.data_stage import DataStage
from gpusim.sim.core.warps import SmspRows, Warps

if TYPE_CHECKING:
    from gpusim.sim.columns import CodeRows
    from gpusim.sim.figures import Figures


class OperandCollector:
    """Reads the registers of memory instructions, beside the mma.sync that an SMSP's warps issue (D8)."""

    def __init__(self, figures: "Figures", code: "CodeRows", warps: Warps, rows: SmspRows) -> None:
        """
        Build it for all SMSPs.

        Args:
            figures: Those of the machine.
            code: The code, in which mma.sync are predicted.
            warps: The warps that issue them.
            rows: The SMSPs, with their tensor cores' ports.
        """
        self.interval, self.registers_an_mma = figures.register_interval, figures.registers_an_mma
        self.warps = warps
        self.waits, self.stall, self.port, self.issues_every = code.waits, code.stall, code.port, code.interval
        self.next_stop, self.until_stop, self.chain = code.next_stop, code.until_stop, code.chain
        self.order, self.multiplies_at, self.end = code.order, code.multiplies_at, code.end
        self.tensor, self.multiplies, self.mio_free = rows.tensor, rows.multiplies, rows.mio_free
        self.port_free, self.port_user = rows.port_free, rows.port_user
        self.port_takes, self.port_turn = rows.port_takes, rows.port_turn
        self.at, self.ready, self.segment = self.warps.at, self.warps.ready, self.warps.segment
        self.home, self.held, self.board = self.warps.home, self.warps.held, self.warps.board

    def beside_mma(self, smsp: int, warp: int, at: int, registers: int) -> int:
        """Return how much longer registers are read because mma.sync issue meanwhile: issued, or predicted."""
        return max(
            self.beside_issued(smsp, warp, at, registers), self.between_mma(smsp, warp, at, registers, registers)
        )

    def beside_issued(self, smsp: int, warp: int, at: int, registers: int) -> int:
        """
        Return how much longer a memory instruction's registers are read because another warp multiplies (D8).

        With each mma.sync, which comes a cycle more than its interval behind the last one, ``registers_an_mma`` are
        read, and between two others as fast as without. The last two tell how many there is room for. Those of its own
        warp are predicted (``between_mma``).
        """
        tensor = smsp + self.tensor
        user = self.port_user[tensor]
        alone = registers * self.interval
        if user < 0 or user == warp or alone == 0 or self.registers_an_mma == 0:
            return 0
        taken = GAPS * (self.issues_every[self.multiplies[smsp]] + 1)
        since = max(taken, at - self.port_takes[tensor + (self.port_turn[tensor] - GAPS & TAKES_MASK)])
        room = min(since, GAPS * self.registers_an_mma * self.interval + since - taken)
        return alone * since // room - alone

    def between_mma(self, smsp: int, warp: int, at: int, registers: int, beside_others: int) -> int:
        """
        Predict how many mma.sync the SMSP issues while this instruction's registers are read; return the delay (D8).

        Only the warp that issued the last mma.sync is looked at, at most 64 instructions ahead, assuming that
        scoreboards free when now expected. One register is read with each mma.sync, others between two as fast as
        without. Another warp's come a cycle more than their interval behind one another then.

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
        while left > 0 and read + left * self.interval > time and code < end:
            if self.waits[code]:
                time = max(time, self.boards_free(user, self.waits[code]))
            if self.port[code] == self.tensor:
                time = max(time, free)
                over = self.over_before(code, time, read)
                time += over * self.issues_every[code]
                code = self.multiplies_at[self.order[code] + over] if over else code
                if code >= end:
                    break
                while left > 0 and read + self.interval <= time:
                    read += self.interval
                    left -= 1
                free = time + self.issues_every[code]
                if left > 0 and read <= free:
                    read, left = free + 1, left - self.registers_an_mma
                    free = free if user == warp else read
            time += self.until_stop[code]
            code += self.next_stop[code]
        return max(0, read + (max(0, left) - count) * self.interval - start)

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
        interval = self.issues_every[code]
        if self.chain[code] == 0 or read <= at + interval:
            return 0
        return min(self.chain[code], (read - at - 1) // interval)


class Mio:
    """
    The queues of all SMSPs and SMs.

    A memory instruction is a queue entry, whose fields the LSU fills (``entry``) before ``queue`` takes it.

    Attributes:
        cycles: Cycles of the data stage that it takes; 0 where it only passes.
        registers: Registers that are read for it.
        until: The cycle before which the data stage may not take it.
        waits: How much longer its registers are read beside mma.sync.
        own, entries: Entries of its SMSP's queue, and of the SM's.
        interval: Cycles until the next instruction may go to the SM's queue.
        room: Of a store: when it finds room before the SM's port.
        apart: Of a store to shared memory: places in which it may wait apart from the queue; else 0.
        beside: Whether it goes beside the data stage, whose cycles it takes but does not wait for.
        written: Of a store: the pipeline of the writes of copies; else 0.
        way: Of a store: cycles for which it has the way to the SM's port.
        collected: When the registers of the instruction queued last were read.
        passed: When it left the SM's queue.
        room_again: When the SM's queue had room for it twice.
    """

    def __init__(self, figures: "Figures", rows: SmspRows, data_stage: DataStage, collector: OperandCollector) -> None:
        """
        Build them.

        Args:
            figures: Those of the machine.
            rows: The SMSPs, with their queues.
            data_stage: What serves the SM's queue.
            collector: What reads registers.
        """
        self.depth, self.sm_depth = figures.queue_depth, figures.sm_depth
        self.sm_interval, self.smsp_interval = figures.sm_interval, figures.smsp_interval
        self.copy_interval, self.copy_queue = figures.copy_interval, figures.copy_queue
        self.copy_registers, self.places_apart = figures.copy_registers, figures.stores_apart
        self.register_interval, self.smsps = figures.register_interval, figures.smsps
        self.data_stage, self.collector = data_stage, collector
        self.width, self.mio, self.sm_of, self.port_free = rows.width, rows.mio, rows.sm_of, rows.port_free
        self.mio_free, self.left, self.no_room_until = rows.mio_free, rows.left, rows.no_room_until
        self.queue_at, self.queued, self.entry_free = rows.queue_at, rows.queued, rows.queue
        self.sms = self.data_stage.sms
        self.sm_entry_free, self.sm_queue_at = zeros(self.sms * self.sm_depth), zeros(self.sms)
        self.store_way, self.fenced_until = zeros(self.sms), zeros(self.sms)
        self.apart_until, self.apart_turn = zeros(self.sms * max(1, self.places_apart)), zeros(self.sms)
        self.entry(0, 0, 0)
        self.collected, self.passed, self.room_again, self.waits = 0, 0, 0, 0

    def entry(self, cycles: int, registers: int, until: int) -> None:
        """Begin a queue entry: the fields that every instruction has, and none of those of stores and copies."""
        self.cycles, self.registers, self.until = cycles, registers, until
        self.own = self.entries = 1
        self.interval, self.room, self.apart, self.beside, self.written, self.way = self.sm_interval, 0, 0, 0, 0, 0

    def queue(self, smsp: int, at: int, warp: int) -> int:
        """
        Queue the entry of a warp's instruction, issued at a cycle; return the cycle at which the data stage takes it.

        The data stage takes every instruction for at least one cycle, also loads that load nothing, which compilers put
        before cp.async, and the ends of commit groups (D8). Loads of an operand pass it, and take it when their data
        returns. On T4 the rate of the SM is that of GA10x (D20).
        """
        self.waits = self.collector.beside_mma(smsp, warp, at, self.registers)
        return self.queue_entry(smsp, at)

    def queue_copy(self, smsp: int, at: int, warp: int) -> int:
        """
        Queue the entry of a copy; return the cycle at which the data stage takes it, or is passed.

        It takes an entry of the SM's queue for each register of its addresses, and ``copy_queue`` per cent of one of
        its SMSP's. One without lanes that writes nothing reads no addresses (D21).
        """
        self.queued[smsp] += self.copy_queue
        self.own = self.queued[smsp] // PERCENT
        self.queued[smsp] %= PERCENT
        self.entries, self.interval = max(1, self.registers), self.copy_interval
        self.waits = self.collector.between_mma(smsp, warp, at, self.registers, self.copy_registers)
        return self.queue_entry(smsp, at)

    def queue_entry(self, smsp: int, at: int) -> int:
        """
        Queue the entry; return the cycle at which the data stage takes it.

        A store without room at the SM's port, and what its SMSP issues behind it until it has room, wait in the queue
        of the SMSP, and hold no other SMSP's.
        """
        sm = self.sm_of[smsp]
        collected = max(at + 1, self.mio_free[smsp]) + self.waits
        if self.room > collected:
            self.no_room_until[smsp] = collected = self.room
        no_room, self.room_again = self.no_room_until[smsp] > at, 0
        if not no_room:
            entry = self.sm_entry(sm, self.entries - 1)
            self.room_again = self.sm_entry_free[self.sm_entry(sm, min(2 * self.entries, self.sm_depth) - 1)]
            start = max(collected, self.sm_entry_free[entry])
            collected = self.data_stage.reserve(SM_QUEUE * self.sms + sm, start, self.interval, 0)
        leaves = self.wait_apart(sm, collected) if self.apart else self.wait_in_order(sm, collected, no_room)
        self.leave_queue(smsp, collected)
        if not no_room:
            place = self.sm_queue_at[sm]
            for _ in range(self.entries):
                self.sm_entry_free[sm * self.sm_depth + place] = self.passed
                place = place + 1 if place + 1 < self.sm_depth else 0
            self.sm_queue_at[sm] = place
        return leaves

    def wait_in_order(self, sm: int, collected: int, no_room: bool) -> int:
        """
        Let an instruction wait at the head of the SM's queue; return the cycle at which the data stage takes it.

        Until it may be taken nothing behind it is. While a store to global memory that found room has the way to the
        port, the next store, be it to shared memory, waits. Behind a barrier all wait for those before it.
        """
        passes = max(collected, self.until, self.store_way[sm]) if self.written else max(collected, self.until)
        self.data_stage.block(sm, collected, passes)
        passes = max(passes, self.fenced_until[sm])
        if self.beside:
            self.data_stage.reserve(sm, passes, self.cycles, 0)
        elif self.cycles:
            passes = self.data_stage.reserve(sm, passes, self.cycles, self.written)
        else:
            passes = self.data_stage.next_free(sm, passes)
        if self.way and not no_room:
            self.store_way[sm] = passes + self.way
        self.passed = passes
        return passes

    def wait_apart(self, sm: int, collected: int) -> int:
        """
        Let a store wait apart from the queue; return the cycle at which the data stage takes it (D3).

        It waits until its warp's store before it is written, in one of so many places that come in turn. Until it has
        one all memory instructions behind it wait with it.
        """
        turn = sm * self.apart + self.apart_turn[sm]
        passes = max(collected, self.apart_until[turn], self.store_way[sm])
        self.data_stage.block(sm, collected, passes)
        self.passed = passes = max(passes, self.fenced_until[sm])
        leaves = self.data_stage.reserve(sm, max(passes, self.until), self.cycles, self.written)
        self.apart_until[turn] = leaves
        self.apart_turn[sm] = (self.apart_turn[sm] + 1) % self.apart
        return leaves

    def sm_entry(self, sm: int, behind: int) -> int:
        """Return the place of an entry of an SM's queue, so many behind the next one; fewer than it has."""
        place = self.sm_queue_at[sm] + behind
        return sm * self.sm_depth + (place if place < self.sm_depth else place - self.sm_depth)

    def leave_queue(self, smsp: int, at: int) -> None:
        """Let an instruction leave its SMSP's queue; its registers are read before those of the next one."""
        self.collected = self.left[smsp] = at
        self.mio_free[smsp] = at + max(self.smsp_interval, self.registers * self.register_interval)
        place = self.queue_at[smsp]
        for _ in range(self.own):
            self.entry_free[smsp + place] = at
            place = place + 1 if place + 1 < self.depth else 0
        self.queue_at[smsp] = place
        self.port_free[smsp + self.mio] = self.entry_free[smsp + place]

    def fence(self, sm: int, at: int) -> None:
        """Let what an SM takes from now on wait until a cycle, and until all before has left the SMSPs' queues."""
        self.fenced_until[sm] = max(self.fenced_until[sm], at)
        for number in range(sm * self.smsps, (sm + 1) * self.smsps):
            self.fenced_until[sm] = max(self.fenced_until[sm], self.left[number * self.width])
