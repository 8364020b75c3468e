"""
The MIO: a queue for each SMSP, one queue for the SM behind them, and the register reads in between.

In silicon: a memory instruction waits in its SMSP's queue, has its registers read, and moves to the SM's queue, which
the data stage serves. The register file feeds the tensor core at the same time.
Figures: ``queue_depth``, ``sm_depth``, ``smsp_interval``, ``sm_interval``, ``copy_interval``, ``copy_queue``,
``stores_apart``, ``register_interval``, ``registers_an_mma``, ``copy_registers``.
State: the cycle at which each queue entry is free; for each SM, the cycles until which a barrier holds memory
instructions and a store occupies the path to the port, and when each place of stores outside the queue is free.
Timing: an entry is free from the cycle at which its instruction leaves the queue. Instructions leave an SMSP's queue in
order, as fast as their registers are read, each in a cycle in which no other SMSP's instruction enters the SM's queue.
Instructions leave the SM's queue in order, when the data stage is free.

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
        Build one collector that serves all SMSPs.

        Args:
            figures: The machine's figures.
            code: The code of all CTAs, from which the next mma.sync are predicted.
            warps: The warps that issue mma.sync.
            rows: The SMSPs' columns, with the ports of their tensor cores.
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
        """Return the cycles by which mma.sync delay the reads: the larger of ``beside_issued`` and ``between_mma``."""
        return max(
            self.beside_issued(smsp, warp, at, registers), self.between_mma(smsp, warp, at, registers, registers)
        )

    def beside_issued(self, smsp: int, warp: int, at: int, registers: int) -> int:
        """
        Return the cycles by which mma.sync of another warp delay a memory instruction's register reads (D8).

        ``registers_an_mma`` registers are read with each mma.sync; the rest are read between two mma.sync, at the rate
        of an idle tensor core. While registers are read, consecutive mma.sync issue one cycle more than their interval
        apart. The number of registers that can be read between them follows from the distance of the last ``GAPS``
        mma.sync. Mma.sync of the instruction's own warp are left to ``between_mma``.
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
        Predict the mma.sync that issue while an instruction's registers are read; return their delay in cycles (D8).

        Only the warp that issued the last mma.sync is looked at, at most ``INSTRUCTIONS_AHEAD`` instructions ahead.
        Scoreboards are assumed to free when now expected. ``registers_an_mma`` registers are read with each mma.sync,
        the others between two mma.sync. The predicted reads delay later mma.sync of the same warp, but not those of
        another warp.

        Not modelled: mma.sync of several warps, and those of the next trip. The prediction ignores that an mma.sync may
        wait for this instruction, for an instruction between the two, for a barrier or for copies. If another warp
        issued the last mma.sync, the mma.sync under way does not delay the reads.

        Args:
            smsp: The SMSP.
            warp: The instruction's warp.
            at: Cycle of its issue.
            registers: Registers that it reads; with 0 the delay is 0.
            beside_others: Number of registers to assume instead if another warp issued the last mma.sync.
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
        # If all registers are read before the next instruction issues, later mma.sync delay nothing.
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
        """Return the cycle at which all scoreboards in the mask ``waits`` of a warp are now expected to be free."""
        free, board = 0, warp
        while waits:
            if waits & 1:
                free = max(free, self.board[board])
            waits >>= 1
            board += 1
        return free

    def over_before(self, code: int, at: int, read: int) -> int:
        """
        Return how many mma.sync of a chain have issued and left the tensor core before a register is read.

        Args:
            code: The chain's first mma.sync.
            at: Cycle of its issue.
            read: Cycle of the register read.
        """
        interval = self.issues_every[code]
        if self.chain[code] == 0 or read <= at + interval:
            return 0
        return min(self.chain[code], (read - at - 1) // interval)


class Mio:
    """
    The MIO queues of all SMSPs and SMs.

    A memory instruction is a queue entry. The LSU fills the entry's fields, starting with ``entry``; then ``queue`` or
    ``queue_copy`` takes it. The same fields serve every instruction in turn.

    Attributes:
        cycles: Cycles of the data stage that the instruction takes; 0 if it passes without taking any.
        registers: Registers that are read for it.
        until: First cycle at which the data stage may take it.
        waits: Cycles by which mma.sync delay its register reads.
        own: Entries that it takes in its SMSP's queue.
        entries: Entries that it takes in the SM's queue.
        interval: Cycles that it takes of the path into the SM's queue.
        room: For a store to global memory: cycle at which the buffer before the SM's port has room for it; else 0.
        apart: For a store to shared memory: places outside the SM's queue in which it may wait; else 0.
        beside: 1 for a copy around the L1: it takes cycles of the data stage, but leaves the queue without waiting for
            them; else 0.
        written: For a store: the pipeline of the copies' writes to shared memory; else 0.
        way: For a store to global memory: cycles for which it occupies the path to the SM's port; else 0.
        collected: Cycle at which the instruction queued last left its SMSP's queue.
        passed: Cycle at which that instruction left the SM's queue.
        room_again: Cycle at which the SM's queue had free space for twice its ``entries``; 0 if it waited in its SMSP's
            queue for a store without room.
    """

    def __init__(self, figures: "Figures", rows: SmspRows, data_stage: DataStage, collector: OperandCollector) -> None:
        """
        Build empty queues.

        Args:
            figures: The machine's figures.
            rows: The SMSPs' columns, with their queues.
            data_stage: The data stages, which serve the SMs' queues.
            collector: The unit that reads registers.
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
        """Begin a queue entry: set the fields that every instruction has, and reset those of stores and copies."""
        self.cycles, self.registers, self.until = cycles, registers, until
        self.own = self.entries = 1
        self.interval, self.room, self.apart, self.beside, self.written, self.way = self.sm_interval, 0, 0, 0, 0, 0

    def queue(self, smsp: int, at: int, warp: int) -> int:
        """
        Queue the entry of an instruction that a warp issued at a cycle; return when the data stage takes it.

        Every instruction takes at least one cycle of the data stage, also a commit (LDGDEPBAR) and the load without
        lanes that compilers put before cp.async (D8). Only global loads of an operand take none here: they take the
        data stage when their data returns. T4 uses GA10x's figure for the SM's rate (D20).
        """
        self.waits = self.collector.beside_mma(smsp, warp, at, self.registers)
        return self.queue_entry(smsp, at)

    def queue_copy(self, smsp: int, at: int, warp: int) -> int:
        """
        Queue the entry of a cp.async; return the cycle at which it leaves the SM's queue for the data stage.

        It takes one entry of the SM's queue for each address register, and ``copy_queue`` per cent of an entry of its
        SMSP's queue. A copy without lanes that writes nothing reads no registers and takes one entry (D21).
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

        A store to global memory that finds the buffer at the SM's port full waits in its SMSP's queue. So does all that
        this SMSP issues until the store has room. Other SMSPs go on.
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

        It blocks the instructions behind it until then. A store to global memory occupies the path to the SM's port for
        ``way`` cycles; the next store, to shared memory or global, waits for the path. An instruction behind a barrier
        waits for those before the barrier (``fence``).

        Args:
            sm: The SM.
            collected: Cycle at which the instruction enters the SM's queue.
            no_room: Whether the instruction waited in its SMSP's queue for a store without room at the port.
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
        Let a store to shared memory wait outside the SM's queue; return when the data stage takes it (D3).

        The store waits until its warp's previous store is written. It waits in one of ``apart`` places, which are
        assigned round robin. While an earlier store occupies its place, the store blocks the head of the SM's queue.
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
        """Return the place of the entry that is ``behind`` entries (fewer than ``sm_depth``) after the next one."""
        place = self.sm_queue_at[sm] + behind
        return sm * self.sm_depth + (place if place < self.sm_depth else place - self.sm_depth)

    def leave_queue(self, smsp: int, at: int) -> None:
        """Let an instruction leave its SMSP's queue at a cycle; the next one leaves when its registers are read."""
        self.collected = self.left[smsp] = at
        self.mio_free[smsp] = at + max(self.smsp_interval, self.registers * self.register_interval)
        place = self.queue_at[smsp]
        for _ in range(self.own):
            self.entry_free[smsp + place] = at
            place = place + 1 if place + 1 < self.depth else 0
        self.queue_at[smsp] = place
        self.port_free[smsp + self.mio] = self.entry_free[smsp + place]

    def fence(self, sm: int, at: int) -> None:
        """Hold later memory instructions of an SM until a cycle, and until earlier ones have left the SMSPs' queues."""
        self.fenced_until[sm] = max(self.fenced_until[sm], at)
        for number in range(sm * self.smsps, (sm + 1) * self.smsps):
            self.fenced_until[sm] = max(self.fenced_until[sm], self.left[number * self.width])
