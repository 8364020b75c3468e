"""
The MIO: a queue for each SMSP, one queue for the SM behind them, and the register reads in between.

In silicon: a memory instruction waits in its SMSP's queue, has its registers read, and moves to the SM's queue, which
the data stage serves. The register file feeds the tensor core at the same time.
Figures: ``[mio]``, ``[mio.gaps]``, ``shared.stores.apart``, ``async_copy.queue_percent``, ``async_copy.pace.interval``.
State: the cycle at which each queue entry is free, and for each SM the cycle at which each entry of the side buffer of
stores is free, the cycle until which a barrier holds memory instructions, and the cycle until which a store occupies
the path to the SM's port.
Timing: an entry is free when its instruction leaves the queue. Instructions leave an SMSP's queue in order, as fast as
their registers are read. One instruction of one SMSP at a time enters the SM's queue. Instructions leave the SM's queue
in order, when the data stage is free.

>>> from doubles.by_hand import quiet
>>> mio = quiet().mio
>>> mio.entry(cycles=4, registers=0, not_before=0)
>>> first, second = mio.queue(0, at=10, warp=0), mio.queue(0, at=11, warp=0)
>>> mio.smsp_exit > 11, second - first
(True, 4)
"""

from typing import TYPE_CHECKING

from gpusim.sim.columns import zeros
from gpusim.sim.core.constants import CODE_WIDTH, GAPS, INSTRUCTIONS_AHEAD, PERCENT, PORT_LOG_MASK, SM_QUEUE
from gpusim.sim.core.data_stage import DataStage
from gpusim.sim.core.warps import SmspRows, Warps

if TYPE_CHECKING:
    from gpusim.machine.spec import Machine
    from gpusim.sim.columns import CodeRows


class OperandCollector:
    """Reads the registers of memory instructions while the SMSP's warps issue mma.sync (D8)."""

    def __init__(self, machine: "Machine", code: "CodeRows", warps: Warps, rows: SmspRows) -> None:
        """
        Build one collector that serves all SMSPs.

        Args:
            machine: The machine.
            code: The code of all CTAs, to predict the next mma.sync.
            warps: The warps of all SMs.
            rows: The SMSPs' columns, with the ports of their tensor cores.
        """
        gaps = machine.mio.gaps
        self.interval, self.registers_an_mma = machine.mio.register_interval, 0 if gaps is None else gaps.registers
        self.warps = warps
        self.waits, self.stall, self.port, self.issues_every = code.waits, code.stall, code.port, code.interval
        self.next_stop, self.cycles_to_stop, self.chain = code.next_stop, code.cycles_to_stop, code.chain
        self.order, self.mma_places, self.end = code.order, code.mma_places, code.end
        self.tensor, self.last_mma, self.collector_free = rows.tensor, rows.last_mma, rows.collector_free
        self.port_free, self.port_user = rows.port_free, rows.port_user
        self.port_taken, self.port_next = rows.port_taken, rows.port_next
        self.at, self.ready, self.segment = self.warps.at, self.warps.ready, self.warps.segment
        self.home, self.at_barrier, self.board = self.warps.home, self.warps.at_barrier, self.warps.board

    def mma_delay(self, smsp: int, warp: int, at: int, registers: int) -> int:
        """Return the cycles by which mma.sync delay register reads: the larger of the two functions' results."""
        return max(
            self.delay_by_issued_mma(smsp, warp, at, registers),
            self.delay_by_predicted_mma(smsp, warp, at, registers, registers),
        )

    def delay_by_issued_mma(self, smsp: int, warp: int, at: int, registers: int) -> int:
        """
        Return the cycles by which mma.sync of another warp delay a memory instruction's register reads (D8).

        The collector reads ``registers_an_mma`` registers during each mma.sync, and the others between two mma.sync at
        the rate of an idle tensor core. Each mma.sync takes one cycle more than its interval meanwhile. The distance of
        the last ``GAPS`` mma.sync tells how many registers fit between two. ``delay_by_predicted_mma`` covers mma.sync
        of the instruction's own warp.
        """
        tensor = smsp + self.tensor
        mma_warp = self.port_user[tensor]
        alone = registers * self.interval
        if mma_warp < 0 or mma_warp == warp or alone == 0 or self.registers_an_mma == 0:
            return 0
        taken = GAPS * (self.issues_every[self.last_mma[smsp]] + 1)
        since = max(taken, at - self.port_taken[tensor + (self.port_next[tensor] - GAPS & PORT_LOG_MASK)])
        room = min(since, GAPS * self.registers_an_mma * self.interval + since - taken)
        return alone * since // room - alone

    def delay_by_predicted_mma(
        self, smsp: int, warp: int, at: int, registers: int, registers_beside_others: int
    ) -> int:
        """
        Predict the mma.sync that issue while an instruction's registers are read; return their delay in cycles (D8).

        The prediction follows only the warp that issued the last mma.sync, for at most ``INSTRUCTIONS_AHEAD``
        instructions. Scoreboards are assumed to free when now expected. ``registers_an_mma`` registers are read during
        each mma.sync, the others between two. If the instruction is of that warp, its reads delay later mma.sync, too.

        Not modelled: mma.sync of several warps, and mma.sync of the next trip. The prediction ignores that an mma.sync
        may wait for this instruction, for an instruction between the two, for a barrier or for copies. If another warp
        issued the last mma.sync, the mma.sync in progress does not delay the reads.

        Args:
            smsp: The SMSP.
            warp: The instruction's warp.
            at: Cycle of its issue.
            registers: Registers that it reads; with 0 the delay is 0.
            registers_beside_others: Registers to assume instead if another warp issued the last mma.sync.
        """
        tensor = smsp + self.tensor
        mma_warp, start = self.port_user[tensor], max(at + 1, self.collector_free[smsp])
        if (
            registers == 0
            or mma_warp < 0
            or self.registers_an_mma == 0
            or self.at_barrier[mma_warp]
            or self.home[mma_warp] != smsp
        ):
            return 0
        unread = count = registers if mma_warp == warp else registers_beside_others
        code, time, read, free = self.at[mma_warp], max(at, self.ready[mma_warp]), start, self.port_free[tensor]
        if mma_warp == warp:
            time = at + self.stall[code]
            code += CODE_WIDTH
            if free > start:
                read, unread = free + 1, unread - self.registers_an_mma
        end = min(self.end[self.segment[mma_warp]], code + INSTRUCTIONS_AHEAD * CODE_WIDTH)
        # Once all registers can be read before the next instruction issues, no later mma.sync delays them.
        while unread > 0 and read + unread * self.interval > time and code < end:
            if self.waits[code]:
                time = max(time, self.boards_free(mma_warp, self.waits[code]))
            if self.port[code] == self.tensor:
                time = max(time, free)
                finished = self.finished_before(code, time, read)
                time += finished * self.issues_every[code]
                code = self.mma_places[self.order[code] + finished] if finished else code
                if code >= end:
                    break
                while unread > 0 and read + self.interval <= time:
                    read += self.interval
                    unread -= 1
                free = time + self.issues_every[code]
                if unread > 0 and read <= free:
                    read, unread = free + 1, unread - self.registers_an_mma
                    free = free if mma_warp == warp else read
            time += self.cycles_to_stop[code]
            code += self.next_stop[code]
        return max(0, read + (max(0, unread) - count) * self.interval - start)

    def boards_free(self, warp: int, waits: int) -> int:
        """Return the cycle at which all of a warp's scoreboards in the mask ``waits`` are expected to be free."""
        free, board = 0, warp
        while waits:
            if waits & 1:
                free = max(free, self.board[board])
            waits >>= 1
            board += 1
        return free

    def finished_before(self, code: int, at: int, read: int) -> int:
        """
        Return the number of mma.sync of a chain that the tensor core has finished before a register is read.

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

    A memory instruction is described by the fields of a queue entry. The LSU sets the fields, starting with ``entry``,
    and calls ``queue`` or ``queue_copy``. The next instruction uses the same fields.

    Attributes:
        cycles: Cycles of the data stage that the instruction takes; 0 if it passes without taking any.
        registers: Registers that the collector reads for it.
        not_before: First cycle at which the data stage may serve it.
        read_delay: Cycles by which mma.sync delay its register reads.
        smsp_entries: Entries that it takes in its SMSP's queue.
        sm_entries: Entries that it takes in the SM's queue.
        path_cycles: Cycles for which it occupies the path into the SM's queue.
        port_room: For a store to global memory: cycle at which the buffer before the SM's port has room for it; else 0.
        side_buffer: For a store to shared memory: entries of the side buffer, in which it may wait; else 0.
        leaves_early: 1 for a copy around the L1, which takes cycles of the data stage but leaves the queue without
            waiting for them; else 0.
        copy_writes: For a store: the pipeline of the copies' writes to shared memory; else 0.
        port_path_cycles: For a store to global memory: cycles for which it occupies the path to the SM's port; else 0.
        smsp_exit: Cycle at which the instruction queued last left its SMSP's queue.
        sm_exit: Cycle at which the instruction queued last left the SM's queue.
        free_for_next: Cycle at which the SM's queue had enough free entries for another such instruction; 0 if the
            instruction waited behind a store in its SMSP's queue.
    """

    def __init__(self, machine: "Machine", rows: SmspRows, data_stage: DataStage, collector: OperandCollector) -> None:
        """
        Build empty queues.

        Args:
            machine: The machine.
            rows: The SMSPs' columns, with their queues.
            data_stage: The data stages, which serve the SMs' queues.
            collector: The unit that reads registers.
        """
        spec, stores, copy = machine.mio, machine.shared.stores, machine.async_copy
        pace = None if copy is None else copy.pace
        self.depth, self.sm_depth, self.smsps = spec.queue_depth, spec.sm_depth, machine.smsps
        self.sm_interval, self.smsp_interval = spec.sm_interval, spec.smsp_interval
        self.register_interval, self.copy_queue = spec.register_interval, 0 if copy is None else copy.queue_percent
        self.copy_interval = self.sm_interval if pace is None else pace.interval
        self.copy_registers = 0 if spec.gaps is None else spec.gaps.copy_registers
        self.side_entries = 0 if stores is None else stores.apart
        self.data_stage, self.collector = data_stage, collector
        self.width, self.mio, self.sm_of, self.port_free = rows.width, rows.mio, rows.sm_of, rows.port_free
        self.collector_free, self.last_exit = rows.collector_free, rows.last_exit
        self.store_blocks_until = rows.store_blocks_until
        self.queue_at, self.entry_percent, self.entry_free = rows.queue_at, rows.entry_percent, rows.queue
        self.sms = self.data_stage.sms
        self.sm_entry_free, self.sm_queue_at = zeros(self.sms * self.sm_depth), zeros(self.sms)
        self.port_path_free, self.fenced_until = zeros(self.sms), zeros(self.sms)
        self.side_free, self.side_next = zeros(self.sms * max(1, self.side_entries)), zeros(self.sms)
        self.entry(0, 0, 0)
        self.smsp_exit, self.sm_exit, self.free_for_next, self.read_delay = 0, 0, 0, 0

    def entry(self, cycles: int, registers: int, not_before: int) -> None:
        """Begin a queue entry: set the fields of every instruction, and reset the fields of stores and copies."""
        self.cycles, self.registers, self.not_before = cycles, registers, not_before
        self.smsp_entries = self.sm_entries = 1
        self.path_cycles, self.port_room, self.side_buffer = self.sm_interval, 0, 0
        self.leaves_early, self.copy_writes, self.port_path_cycles = 0, 0, 0

    def queue(self, smsp: int, at: int, warp: int) -> int:
        """
        Queue an instruction that a warp issued at a cycle; return the cycle at which the data stage serves it.

        Every instruction takes at least one cycle of the data stage, even a commit (LDGDEPBAR) and the load without
        active lanes that compilers put before cp.async (D8). Only global loads of an operand take none here: their
        returning data takes the data stage. T4 uses GA10x's figure for the SM's rate (D20).
        """
        self.read_delay = self.collector.mma_delay(smsp, warp, at, self.registers)
        return self.queue_entry(smsp, at)

    def queue_copy(self, smsp: int, at: int, warp: int) -> int:
        """
        Queue a cp.async; return the cycle at which it leaves the SM's queue for the data stage.

        A copy takes one entry of the SM's queue for each address register, and ``copy_queue`` per cent of an entry of
        its SMSP's queue. A copy without active lanes that writes nothing reads no registers and takes one entry (D21).
        """
        self.entry_percent[smsp] += self.copy_queue
        self.smsp_entries = self.entry_percent[smsp] // PERCENT
        self.entry_percent[smsp] %= PERCENT
        self.sm_entries, self.path_cycles = max(1, self.registers), self.copy_interval
        self.read_delay = self.collector.delay_by_predicted_mma(smsp, warp, at, self.registers, self.copy_registers)
        return self.queue_entry(smsp, at)

    def queue_entry(self, smsp: int, at: int) -> int:
        """
        Queue the entry; return the cycle at which the data stage serves it.

        If the buffer at the SM's port is full, a store to global memory waits in its SMSP's queue, with all later
        instructions of this SMSP. Other SMSPs are not delayed.
        """
        sm = self.sm_of[smsp]
        smsp_exit = max(at + 1, self.collector_free[smsp]) + self.read_delay
        if self.port_room > smsp_exit:
            self.store_blocks_until[smsp] = smsp_exit = self.port_room
        blocked_by_store, self.free_for_next = self.store_blocks_until[smsp] > at, 0
        if not blocked_by_store:
            entry = self.sm_entry(sm, self.sm_entries - 1)
            self.free_for_next = self.sm_entry_free[self.sm_entry(sm, min(2 * self.sm_entries, self.sm_depth) - 1)]
            start = max(smsp_exit, self.sm_entry_free[entry])
            smsp_exit = self.data_stage.reserve(SM_QUEUE * self.sms + sm, start, self.path_cycles, 0)
        if self.side_buffer:
            served = self.wait_in_side_buffer(sm, smsp_exit)
        else:
            served = self.wait_in_order(sm, smsp_exit, blocked_by_store)
        self.leave_queue(smsp, smsp_exit)
        if not blocked_by_store:
            place = self.sm_queue_at[sm]
            for _ in range(self.sm_entries):
                self.sm_entry_free[sm * self.sm_depth + place] = self.sm_exit
                place = place + 1 if place + 1 < self.sm_depth else 0
            self.sm_queue_at[sm] = place
        return served

    def wait_in_order(self, sm: int, smsp_exit: int, blocked_by_store: bool) -> int:
        """
        Delay an instruction at the head of the SM's queue; return the cycle at which the data stage serves it.

        The instruction blocks all later ones of the queue until that cycle. A store to global memory occupies the path
        to the SM's port for ``port_path_cycles`` cycles; the next store, to shared or global memory, waits for the
        path. An instruction behind a barrier waits for the instructions before the barrier (``fence``).

        Args:
            sm: The SM.
            smsp_exit: Cycle at which the instruction enters the SM's queue.
            blocked_by_store: Whether the instruction waited in its SMSP's queue for room at the SM's port.
        """
        sm_exit = max(smsp_exit, self.not_before)
        if self.copy_writes:
            sm_exit = max(sm_exit, self.port_path_free[sm])
        self.data_stage.block(sm, smsp_exit, sm_exit)
        sm_exit = max(sm_exit, self.fenced_until[sm])
        if self.leaves_early:
            self.data_stage.reserve(sm, sm_exit, self.cycles, 0)
        elif self.cycles:
            sm_exit = self.data_stage.reserve(sm, sm_exit, self.cycles, self.copy_writes)
        else:
            sm_exit = self.data_stage.next_free(sm, sm_exit)
        if self.port_path_cycles and not blocked_by_store:
            self.port_path_free[sm] = sm_exit + self.port_path_cycles
        self.sm_exit = sm_exit
        return sm_exit

    def wait_in_side_buffer(self, sm: int, smsp_exit: int) -> int:
        """
        Move a store to shared memory to the side buffer; return the cycle at which the data stage serves it (D3).

        The store waits in the side buffer until its warp's previous store is written. The buffer's entries are assigned
        round robin. If an earlier store still occupies its entry, the store blocks the head of the SM's queue.
        """
        entry = sm * self.side_buffer + self.side_next[sm]
        sm_exit = max(smsp_exit, self.side_free[entry], self.port_path_free[sm])
        self.data_stage.block(sm, smsp_exit, sm_exit)
        self.sm_exit = sm_exit = max(sm_exit, self.fenced_until[sm])
        served = self.data_stage.reserve(sm, max(sm_exit, self.not_before), self.cycles, self.copy_writes)
        self.side_free[entry] = served
        self.side_next[sm] = (self.side_next[sm] + 1) % self.side_buffer
        return served

    def sm_entry(self, sm: int, behind: int) -> int:
        """Return the index of the SM's queue entry that is ``behind`` (fewer than ``sm_depth``) after the next one."""
        place = self.sm_queue_at[sm] + behind
        return sm * self.sm_depth + (place if place < self.sm_depth else place - self.sm_depth)

    def leave_queue(self, smsp: int, at: int) -> None:
        """Remove an instruction from its SMSP's queue at a cycle, and occupy the collector with its register reads."""
        self.smsp_exit = self.last_exit[smsp] = at
        self.collector_free[smsp] = at + max(self.smsp_interval, self.registers * self.register_interval)
        place = self.queue_at[smsp]
        for _ in range(self.smsp_entries):
            self.entry_free[smsp + place] = at
            place = place + 1 if place + 1 < self.depth else 0
        self.queue_at[smsp] = place
        self.port_free[smsp + self.mio] = self.entry_free[smsp + place]

    def fence(self, sm: int, at: int) -> None:
        """Hold later memory instructions of an SM until a cycle, and until all earlier ones have left SMSPs' queues."""
        self.fenced_until[sm] = max(self.fenced_until[sm], at)
        for number in range(sm * self.smsps, (sm + 1) * self.smsps):
            self.fenced_until[sm] = max(self.fenced_until[sm], self.last_exit[number * self.width])
