"""
The LSU: executes a memory instruction from its issue to its data, through the MIO, the tag lookup and the memory.

In silicon: the unit that takes memory instructions from the MIO, looks up their lines one request after another,
limits the copies in flight, and returns data to registers.
Figures: ``[async_copy]``, ``[async_copy.pace]``, ``l1.hit_latency``, ``[l1.lines]``, ``[l1.stores]``,
``l2.fetch_bytes``, ``[l2.parts]``, ``shared.warp_return_bytes``, ``shared.wavefront_latency``, ``mio.source_release``,
``mio.register_interval``.
State: for each SM, the cycle at which the tag lookup is free, the copies and loads that wait for it, and the copies in
flight in order of their lookups.
Timing: an access to shared memory is done when its wavefronts have passed the data stage. A global load leaves the SM's
queue, looks up its lines, and takes the data stage when its data returns. A cp.async.cg takes the data stage, looks up
its lines in the order of copies, and reads them from the L2. Its commit group is complete when the data is in shared
memory.

>>> from doubles.by_hand import ldmatrix, quiet
>>> lsu = quiet(ldmatrix(4, board=0)).lsu
>>> lsu.issue(smsp=0, warp=0, at=10) == lsu.warps.board[0]
True
>>> lsu.data_stage.wavefronts
4
"""

from typing import TYPE_CHECKING

from gpusim.sim.columns import zeros
from gpusim.sim.core.cache import sectors_in
from gpusim.sim.core.constants import (
    ARRAY_AT,
    ISSUED,
    LDGSTS,
    LINES_AT_ONCE,
    MILLI,
    REQUEST_AT,
    SHARED,
    TRACED_ARRAY,
    TRACED_WAVEFRONTS,
)
from gpusim.sim.core.l1 import L1
from gpusim.sim.core.l2_sampled import L2Sampled
from gpusim.sim.core.mio import Mio
from gpusim.sim.core.stores import Stores
from gpusim.sim.core.warps import Warps
from gpusim.sim.stall_reasons import LONG_SCOREBOARD, SHORT_SCOREBOARD
from gpusim.units import SECTOR_BYTES, SECTORS_PER_LINE

if TYPE_CHECKING:
    from gpusim.machine.spec import Machine
    from gpusim.sim.columns import CodeRows, Data


class InFlight:
    """
    The copies in flight of all SMs, in order of their tag lookups.

    Each SM has two queues with a limited number of entries. A copy takes some entries until its data arrives. Queue
    number ``sm`` (argument ``queue``) is for cp.async.cg, number ``sms + sm`` for cp.async.ca.
    """

    def __init__(self, most: int, sms: int) -> None:
        """Build empty queues of ``most`` entries for ``sms`` SMs."""
        self.most = max(1, most)
        self.landed, self.entries = zeros(2 * sms * self.most), zeros(2 * sms * self.most)
        self.first, self.next, self.occupied = zeros(2 * sms), zeros(2 * sms), zeros(2 * sms)

    def free_at(self, queue: int, at: int, entries: int, most: int) -> int:
        """
        Return the first cycle at which a queue has enough free entries for a copy.

        Copies free their entries in the order of their lookups. A copy whose data has arrived keeps its entries while
        an earlier copy is still in flight.

        Args:
            queue: The queue.
            at: First cycle at which the copy may take its entries.
            entries: Entries that the copy takes.
            most: Entries of the queue.
        """
        while self.occupied[queue] and self.occupied[queue] + entries > most:
            place = queue * self.most + self.first[queue] % self.most
            at = max(at, self.landed[place])
            self.occupied[queue] -= self.entries[place]
            self.first[queue] += 1
        return at

    def send(self, queue: int, landed: int, entries: int) -> None:
        """Add a copy to a queue: it takes ``entries`` entries until its data arrives at cycle ``landed``."""
        place = queue * self.most + self.next[queue] % self.most
        self.landed[place], self.entries[place] = landed, entries
        self.next[queue] += 1
        self.occupied[queue] += entries


class Coalescer:
    """
    The part of the LSUs that finds the request of an instruction: the lines and sectors that its lanes access.

    gpusim merges the lanes' addresses into requests before a run (``sim.columns.Data``). Here an instruction finds its
    request, of its op or of its warp's trace.

    Attributes:
        request, base: Request of the access resolved last, and the line number from which its lines are counted.
        traced_wavefronts: Wavefronts in shared memory of the traced access that was taken last.
    """

    def __init__(self, machine: "Machine", code: "CodeRows", data: "Data", warps: Warps, sampled: L2Sampled) -> None:
        """
        Share the columns of accesses.

        Args:
            machine: The machine.
            code: The code of all CTAs.
            data: The lines and sectors that CTAs access.
            warps: The warps of all SMs.
            sampled: The L2 of a sampled run. Its attribute ``l2`` is the L2 of an exact run.
        """
        self.warps, self.sampled = warps, sampled
        self.l2 = self.sampled.l2
        self.request, self.base, self.traced_wavefronts = 0, 0, 0
        self.read_sectors = 1 if machine.l2.parts is None else machine.l2.parts.read_bytes // SECTOR_BYTES
        self.first_wavefront, self.wavefront_slots = code.first_wavefront, code.wavefront_slots
        self.ring_slot, self.wavefronts = code.ring_slot, code.wavefronts
        self.row, self.fetch_number, self.access, self.vec = code.row, code.fetch_number, code.access, code.vec
        self.tiles, self.most_warps, self.traced = code.tiles, code.warps, code.traced
        self.fetch_sectors = code.fetch_sectors
        self.rows, self.outputs, self.output_line = data.rows, data.outputs, data.output_line
        self.row_fetch, self.row_status, self.row_output = data.row_fetch, data.row_status, data.row_output
        self.pattern, self.fetch_line, self.requests, self.vecs = data.pattern, data.fetch_line, data.request, data.vecs
        self.asked, self.touched, self.line, self.sector_mask = data.asked, data.touched, data.line, data.mask
        self.arrays, self.array_line = data.traces.arrays, data.traces.array_line
        self.traced_access, self.traced_line = data.traces.access, data.traces.line
        self.take_columns()

    def take_columns(self) -> None:
        """Share the columns of the warps."""
        warps = self.warps
        self.trip, self.segment, self.number = warps.trip, warps.segment, warps.number
        self.slot, self.cta, self.next_traced = warps.slot, warps.cta, warps.next_traced

    def take(self, warp: int, code: int) -> None:
        """
        Take the next entry of a warp's trace: set ``request``, ``base`` and ``traced_wavefronts``.

        Only traced accesses read the L2 and DRAM in parts of a line (D38).
        """
        entry = self.next_traced[warp]
        self.next_traced[warp] = entry + 1
        access = self.traced_access[entry]
        array = self.cta[self.slot[warp]] * self.arrays + (access >> ARRAY_AT & TRACED_ARRAY)
        self.request, self.traced_wavefronts = access >> REQUEST_AT, access & TRACED_WAVEFRONTS
        self.base = self.traced_line[entry] + self.array_line[array]
        self.l2.fetch_sectors, self.l2.read_sectors = self.fetch_sectors[code], self.read_sectors

    def resolve(self, warp: int, code: int) -> None:
        """
        Set ``request``, ``base`` and the sampled L2's ``status`` for a warp's access to an operand.

        For a traced instruction they are set already (``take``).
        """
        if self.traced[code]:
            return
        row = self.cta[self.slot[warp]] * self.rows + self.row[code]
        number = self.fetch_number[code] + self.trip[warp] * self.tiles[self.segment[warp]]
        fetch = self.row_fetch[row] + number
        self.sampled.status = self.row_status[row] + number
        pattern = self.pattern[fetch]
        place = self.access[code] * self.vecs[pattern] + self.vec[code]
        self.request = self.requests[pattern] + place * self.most_warps + self.number[warp]
        self.base = self.fetch_line[fetch]

    def wavefronts_of(self, warp: int, code: int) -> int:
        """Return the wavefronts of a warp's shared access in the ring slot that its current trip uses."""
        if self.traced[code]:
            return self.traced_wavefronts
        slot = self.ring_slot[code] + self.trip[warp] * self.tiles[self.segment[warp]]
        return self.wavefronts[
            self.first_wavefront[code] + slot % self.wavefront_slots[code] * self.most_warps + self.number[warp]
        ]

    def output_of(self, warp: int, code: int) -> int:
        """Return the index of a warp's epilogue access among the epilogue accesses of all CTAs."""
        return self.cta[self.slot[warp]] * self.outputs + self.fetch_number[code]

    def resolve_output(self, warp: int, code: int) -> None:
        """Set ``request`` and ``base`` for a warp's load or store of the epilogue."""
        output = self.output_of(warp, code)
        self.request = self.row_output[output] + self.access[code] * self.most_warps + self.number[warp]
        self.base = self.output_line[output]

    def lookup_cycles(self) -> int:
        """Return the cycles that the tag lookup of the copy resolved last takes: one for each request."""
        return self.touched[self.request + 1] - self.touched[self.request]

    def count_entries(self) -> int:
        """
        Return the in-flight entries of the copy resolved last: one for each request, two if each has one sector (D24).

        Not modelled: copies with both requests of one sector and larger requests.
        """
        cycles = self.lookup_cycles()
        return 2 * cycles if cycles == self.asked[self.request] else cycles

    def splits_line(self, touched: int) -> bool:
        """Return whether the copy's previous or next request is for other sectors of the same line (D24)."""
        first, last = self.touched[self.request], self.touched[self.request + 1] - 1
        return (touched > first and self.split_line(touched - 1, touched)) or (
            touched < last and self.split_line(touched, touched + 1)
        )

    def split_line(self, one: int, other: int) -> bool:
        """Return whether two requests are for the same line and different sectors."""
        return self.line[one] == self.line[other] and self.sector_mask[one] != self.sector_mask[other]


class Lsu:
    """
    The LSUs of all SMs.

    Attributes:
        served: Cycle at which the data stage began to serve the store queued last.
    """

    def __init__(  # noqa: PLR0917 - called positionally by both executions
        self, machine: "Machine", code: "CodeRows", data: "Data", warps: Warps, mio: Mio, l1: L1, stores: Stores
    ) -> None:
        """
        Build idle LSUs.

        Args:
            machine: The machine.
            code: The code of all CTAs.
            data: The lines and sectors that CTAs access.
            warps: The warps of all SMs.
            mio: The MIO queues.
            l1: The L1s, with the L2 behind them.
            stores: The unit of stores to global memory.
        """
        self.figures_of(machine)
        self.code_of(code)
        self.data_of(data)
        self.warps, self.mio, self.l1, self.stores = warps, mio, l1, stores
        self.data_stage, self.crossbar, self.sampled = self.mio.data_stage, self.l1.crossbar, self.l1.sampled
        self.l2 = self.l1.l2
        self.coalescer = Coalescer(machine, code, data, warps, self.sampled)
        self.sms, self.sectors, self.sm_of = self.data_stage.sms, self.l1.sectors, self.mio.sm_of
        self.take_columns()
        # The cycle at which the tag lookup is free; rings of the copies, and of the loads, that wait for it.
        self.tag_free = zeros(self.sms)
        self.copies_waiting, self.next_copy = zeros(self.sms * self.look_ups), zeros(self.sms)
        self.loads_waiting, self.next_load = zeros(self.sms * max(1, self.load_look_ups)), zeros(self.sms)
        # For ``fence``: the end of all stores to shared memory; the begin of the last copy's lookup.
        self.stored_until, self.last_look_up = zeros(self.sms), zeros(self.sms)
        self.in_flight = InFlight(max(self.most_outstanding, self.most_through), self.sms)
        self.slots = zeros(LINES_AT_ONCE)

    def figures_of(self, machine: "Machine") -> None:
        """Keep the machine's figures as attributes. A machine without cp.async executes no copy."""
        lines, stores, copy = machine.l1.lines, machine.l1.stores, machine.async_copy
        pace = None if copy is None else copy.pace
        self.load_hit, self.load_look_ups = machine.l1.hit_latency, 0 if lines is None else lines.look_ups
        self.line_interval = 0 if lines is None else lines.interval
        self.port_path_bytes = 0 if stores is None else stores.bytes_per_cycle
        self.return_bytes, self.wavefront_latency = machine.shared.warp_return_bytes, machine.shared.wavefront_latency
        self.source_release, self.register_interval = machine.mio.source_release, machine.mio.register_interval
        self.copy_hit, self.look_ups, self.copy_stage, self.commit_stage, self.copy_release = self.load_hit, 1, 1, 1, 0
        if copy is not None:
            self.copy_hit, self.look_ups, self.copy_release = copy.l1_latency, copy.look_ups, copy.source_release
            self.copy_stage, self.commit_stage = copy.stage, copy.commit_stage
        self.most_outstanding = 0 if pace is None else pace.outstanding
        self.most_through = 0 if pace is None else pace.outstanding_through

    def code_of(self, code: "CodeRows") -> None:
        """Share the columns of the code that describe memory instructions."""
        self.kind, self.latency, self.registers = code.kind, code.latency, code.registers
        self.write, self.read = code.write, code.read
        self.row, self.bytes, self.is_load = code.row, code.bytes, code.is_load
        self.through_l1, self.zero_fills = code.through_l1, code.zero_fills
        self.fills, self.lookup_penalty = code.fills, code.lookup_penalty
        self.traced, self.atomic = code.traced, code.atomic

    def data_of(self, data: "Data") -> None:
        """Share the columns of the CTAs' accesses."""
        self.simulates_l2 = data.simulates_l2
        self.found_slow, self.found_missed, self.found_first = data.found_slow, data.found_missed, data.found_first
        self.asked, self.touched, self.l1_wavefronts = data.asked, data.touched, data.l1_wavefronts
        self.line, self.sector_mask = data.line, data.mask

    def take_columns(self) -> None:
        """Share the columns of the warps, and of the L1 and the MIO."""
        warps = self.warps
        self.at, self.slot, self.stores_taken, self.drained = warps.at, warps.slot, warps.stores_taken, warps.drained
        self.written, self.return_free, self.loads_free = warps.written, warps.return_free, warps.loads_free
        self.open_group, self.commit_lookup = warps.open_group, warps.commit_lookup
        self.sectors, self.sm_of = self.l1.sectors, self.mio.sm_of

    # --- instructions ---

    def issue(self, smsp: int, warp: int, at: int) -> int:
        """Issue a memory instruction, and hold its scoreboards; return the cycle at which it is done."""
        code, mio = self.at[warp], self.mio
        kind, reason = self.kind[code], LONG_SCOREBOARD
        if self.traced[code]:
            self.coalescer.take(warp, code)
        if kind == SHARED:
            reason = SHORT_SCOREBOARD
            landed = self.access_shared(smsp, warp, at)
        elif kind == LDGSTS:
            # A wait for its address registers counts as long_scoreboard, as in other global accesses (ncu's guide).
            landed = self.copy_async(smsp, warp, at)
        elif self.row[code] >= 0:
            landed = self.load(smsp, warp, at)
        elif self.traced[code]:
            landed = self.write_lines(smsp, warp, at)
        else:
            landed = self.access_output(smsp, warp, at)
        if self.write[code] >= 0:
            self.warps.hold_board(warp, self.write[code], landed, reason)
        if self.read[code] >= 0:
            # Address registers are read before the SM's queue, store data when the data stage serves the store. A copy
            # releases its registers when the SM's queue has free entries for another such copy.
            if kind == LDGSTS:
                released = max(mio.smsp_exit, mio.free_for_next) + self.copy_release
            else:
                released = mio.smsp_exit if self.is_load[code] else self.served
                released += self.registers[code] * self.register_interval + self.source_release
            self.warps.hold_board(warp, self.read[code], released, reason)
        return landed

    def reads_registers(self, kind: int) -> bool:
        """Return whether the last instruction's register reads delay mma.sync: not if it is a copy without sectors."""
        return kind != LDGSTS or self.asked[self.coalescer.request] > 0

    def access_shared(self, smsp: int, warp: int, at: int) -> int:
        """Issue an access to shared memory; return the cycle at which it is done."""
        code, sm, mio = self.at[warp], self.sm_of[smsp], self.mio
        wavefronts = self.coalescer.wavefronts_of(warp, code)
        stores = self.fills[code]
        cycles = self.data_stage.count_wavefronts(wavefronts)
        mio.entry(cycles, self.registers[code], self.written[warp] if stores else 0)
        if stores:
            mio.side_buffer = mio.side_entries
            mio.copy_writes = self.data_stage.writes_of_copies(sm, at)
        self.served = served = mio.queue(smsp, at, warp)
        if stores:
            self.written[warp] = served + wavefronts * self.wavefront_latency
            self.stored_until[sm] = max(self.stored_until[sm], self.data_stage.last + 1)
        if self.is_load[code]:
            return self.return_shared(warp, served, wavefronts)
        return self.data_stage.last + 1

    def return_shared(self, warp: int, served: int, wavefronts: int) -> int:
        """
        Return the cycle at which the value of a shared-memory load, served from ``served`` on, can be used.

        A warp's registers take ``warp_return_bytes`` a cycle, and a wavefront every ``wavefront_latency`` cycles. Later
        loads of the same warp wait for the registers; loads of other warps do not.
        """
        code = self.at[warp]
        late = max(0, self.data_stage.last + 1 - served - self.data_stage.service(wavefronts))
        landed = served + late - 1 + self.latency[code] + self.wavefront_latency * (wavefronts - 1)
        path = (self.bytes[code] + self.return_bytes - 1) // self.return_bytes
        path = max(path, wavefronts * self.wavefront_latency)
        landed = max(landed, self.return_free[warp] + path)
        self.return_free[warp] = landed
        return landed

    def load(self, smsp: int, warp: int, at: int) -> int:
        """
        Issue a global load of an operand; return the cycle at which its data has arrived.

        The load takes cycles of the data stage only when its data returns. Tag lookup takes a cycle for each wavefront
        in the L1's banks, or for each line that misses, if those are more. ``load_look_ups`` loads may wait for a
        lookup; the next one blocks the SM's queue. A load without active lanes takes a cycle of the data stage and no
        lookup.
        """
        code, sm, mio = self.at[warp], self.sm_of[smsp], self.mio
        self.coalescer.resolve(warp, code)
        request = self.coalescer.request
        wavefronts = self.l1_wavefronts[request]
        if wavefronts == 0:
            mio.entry(1, self.registers[code], 0)
            return mio.queue(smsp, at, warp) + self.load_hit
        place = sm * self.load_look_ups + self.next_load[sm]
        mio.entry(0, self.registers[code], self.loads_waiting[place] if self.load_look_ups else 0)
        served = mio.queue(smsp, at, warp)
        begins = self.reserve_lookup(
            sm, served, max(wavefronts, self.l1.count_missing(sm, request, self.coalescer.base))
        )
        if self.load_look_ups:
            self.loads_waiting[place] = begins
            self.next_load[sm] = (self.next_load[sm] + 1) % self.load_look_ups
        landed = self.l1.look_up(sm, request, self.coalescer.base, begins, at, self.load_hit, self.line_interval)
        # The wavefronts arrive at intervals of ``wavefront_latency``. Wavefronts of the earlier lines pass the data
        # stage before the last line arrives.
        late = self.wavefront_latency * (wavefronts - 1) - self.line_interval * max(0, self.l1.missed_lines - 1)
        landed = self.data_stage.pass_return(sm, landed, wavefronts) + max(0, late)
        served_last = self.data_stage.last
        # Registers take ``warp_return_bytes`` a cycle. A load whose data arrives early does not wait for earlier loads.
        path = (self.asked[request] * SECTOR_BYTES + self.return_bytes - 1) // self.return_bytes
        if landed + path > self.loads_free[warp]:
            landed = max(landed, self.loads_free[warp] + path)
            self.loads_free[warp] = landed
        if self.write[code] >= 0:
            self.data_stage.note_load(sm, warp, self.write[code], served_last, landed)
        return landed

    def copy_async(self, smsp: int, warp: int, at: int) -> int:
        """Issue a cp.async; return the cycle at which its data, or its zeros, are in shared memory."""
        code, sm, mio = self.at[warp], self.sm_of[smsp], self.mio
        self.coalescer.resolve(warp, code)
        reads_l2 = self.asked[self.coalescer.request] > 0
        looks_up = reads_l2 and not self.through_l1[code]
        # A copy without active lanes takes no wavefront, unless it fills with zeros (D21).
        wavefronts = self.coalescer.wavefronts_of(warp, code) if reads_l2 or self.zero_fills[code] else 0
        # A cp.async.cg takes the data stage for ``lookup_penalty`` more cycles, as it takes the tag lookup. A copy of
        # zeros takes the data stage when the zeros are written.
        zeros_only = not reads_l2 and wavefronts > 0
        cycles = self.copy_stage + self.lookup_penalty[code] if looks_up else int(not zeros_only)
        not_before = self.copies_waiting[sm * self.look_ups + self.next_copy[sm]] if looks_up or zeros_only else 0
        missing_lines = 0
        if reads_l2 and not looks_up and self.most_through:
            missing_lines = self.l1.count_missing(sm, self.coalescer.request, self.coalescer.base)
        if missing_lines:
            not_before = self.in_flight.free_at(self.sms + sm, 0, missing_lines, self.most_through)
        mio.entry(cycles, self.registers[code] if reads_l2 or zeros_only else 0, not_before)
        mio.leaves_early = 1 if looks_up else 0
        landed = served = mio.queue_copy(smsp, at, warp)
        if looks_up:
            landed = self.copy_around_l1(sm, served, at, self.lookup_penalty[code])
            self.commit_lookup[warp] = self.lookup_penalty[code]
        else:
            if zeros_only:
                landed = self.write_zeros(sm, served, at, self.data_stage.count_wavefronts(wavefronts))
            landed = self.l1.look_up(sm, self.coalescer.request, self.coalescer.base, landed, at, self.copy_hit, 0)
        if reads_l2 and not looks_up:
            # The data takes as many cycles as the largest of three: wavefronts in shared memory, wavefronts in the L1's
            # banks, and lines that were not in the L1.
            passes = max(wavefronts, self.l1_wavefronts[self.coalescer.request], self.l1.pending_lines)
            landed = self.data_stage.pass_return(sm, landed, passes)
            if missing_lines:
                self.in_flight.send(self.sms + sm, landed, missing_lines)
        self.open_group[warp] = max(landed, self.open_group[warp])
        return landed

    def copy_around_l1(self, sm: int, served: int, issued: int, penalty: int) -> int:
        """
        Execute a cp.async.cg that leaves the SM's queue; return the cycle at which its data is in shared memory.

        The tag lookup takes a cycle for each request. It takes ``penalty`` more if the copy fills several lines of
        shared memory whose numbers are equal modulo 4; the LDGDEPBAR that follows then takes ``penalty``, too.
        """
        cycles, entries, at = self.coalescer.lookup_cycles(), 0, served
        if self.most_outstanding:
            entries = self.coalescer.count_entries()
            at = self.in_flight.free_at(sm, served, entries, self.most_outstanding)
        begins = self.reserve_lookup(sm, at, cycles + penalty)
        self.note_lookup(sm, begins)
        landed = self.read_lines(sm, begins, issued) + self.wavefront_latency * (cycles - 1)
        if self.most_outstanding:
            self.in_flight.send(sm, landed, entries)
        return landed

    def read_lines(self, sm: int, at: int, issued: int) -> int:
        """Read the lines of a cp.async.cg from the L2; return the cycle at which the last one is in shared memory."""
        request, lines = self.coalescer.request, self.l2.lines
        sectors = self.asked[request]
        self.sectors[sm] += sectors
        # Latencies of the L2 and DRAM are measured with loads. A copy takes longer by the difference of their L1 hits.
        beyond = self.copy_hit - self.load_hit
        start = self.crossbar.inject(sm, at, sectors * SECTOR_BYTES)
        self.l2.sectors += sectors
        done, first = 0, self.touched[request]
        count = self.touched[request + 1] - first
        # All slots are looked up before the first line is served, so that the host's cache misses overlap.
        for place in range(count):
            self.slots[place] = lines.touch(self.line[first + place] + self.coalescer.base)
        for place in range(count):
            slot, mask = self.slots[place], self.sector_mask[first + place]
            if self.simulates_l2:
                landed = self.l2.read(sm, slot, mask, start, issued)
            else:
                self.sampled.splits_line = self.coalescer.splits_line(first + place)
                landed = self.sampled.read(sm, slot, mask, start, issued)
            done = max(done, landed)
            self.data_stage.add_write(sm, landed + beyond, sectors_in(mask))
        return done + beyond

    def access_output(self, smsp: int, warp: int, at: int) -> int:
        """
        Issue a load or store of the epilogue (D10).

        A store takes a cycle of the data stage for every four sectors. It waits in its SMSP's queue for room before the
        SM's port. Then its data occupies the path to the port, at ``l1_store_bytes`` a cycle.

        Returns:
            The cycle at which a load's data arrives, or at which the data stage serves a store.
        """
        code, sm = self.at[warp], self.sm_of[smsp]
        self.coalescer.resolve_output(warp, code)
        sectors = self.asked[self.coalescer.request]
        lines = 0 if self.is_load[code] else (sectors + SECTORS_PER_LINE - 1) // SECTORS_PER_LINE
        served = self.queue_output(smsp, warp, at, lines, sectors)
        if self.is_load[code]:
            if not sectors:
                return served + self.copy_hit
            self.sectors[sm] += sectors
            output = self.coalescer.output_of(warp, code)
            slow, missed, first = self.found_slow[output], self.found_missed[output], self.found_first[output]
            return self.sampled.read_output(sm, served, at, sectors, slow, missed, first)
        self.drained[warp] = served
        if sectors:
            self.stores.store(sm, served, at, sectors)
            self.note_stored(sm, warp, served)
        return served

    def write_lines(self, smsp: int, warp: int, at: int) -> int:
        """
        Issue a store or an atomic whose lines are known (D10).

        It takes a cycle of the data stage for each line, and waits for the SM's port as a store of the epilogue does.

        Returns:
            The cycle at which an atomic's result arrives, or at which the data stage serves a store.
        """
        code, sm = self.at[warp], self.sm_of[smsp]
        first, end = self.touched[self.coalescer.request], self.touched[self.coalescer.request + 1]
        sectors = self.asked[self.coalescer.request]
        served = self.queue_output(smsp, warp, at, end - first, sectors)
        self.drained[warp] = served
        if not sectors:
            return served + self.load_hit if self.is_load[code] else served
        landed = self.stores.store_lines(sm, served, at, first, end, self.coalescer.base, self.atomic[code])
        self.note_stored(sm, warp, served)
        self.warps.acknowledged[warp] = self.stores.stored_at[sm] // MILLI + self.stores.write_latency
        return landed if self.is_load[code] else served

    def queue_output(self, smsp: int, warp: int, at: int, lines: int, sectors: int) -> int:
        """
        Queue a store, or a load of the epilogue, before the SM's port; return the cycle at which it is served.

        Args:
            smsp, warp, at: The issue.
            lines: Cycles of the data stage that a store takes; 0 if nothing is stored.
            sectors: Sectors that it stores.
        """
        sm, mio = self.sm_of[smsp], self.mio
        mio.entry(self.data_stage.count_wavefronts(lines), self.registers[self.at[warp]], 0)
        if lines:
            mio.port_room = self.stores.room_at_port(sm)
            mio.copy_writes = self.data_stage.writes_of_copies(sm, at)
            if self.port_path_bytes:
                mio.port_path_cycles = (sectors * SECTOR_BYTES + self.port_path_bytes // 2) // self.port_path_bytes
        self.served = mio.queue(smsp, at, warp)
        return self.served

    def note_stored(self, sm: int, warp: int, served: int) -> None:
        """Record until when a warp, and the slot of its CTA, wait for the store that passed the SM's port last."""
        slot, taken = self.slot[warp], self.stores.stored_at[sm] // MILLI
        self.drained[warp] = max(served, self.stores.port_exit[sm] // MILLI)
        self.stores_taken[slot] = max(taken, self.stores_taken[slot])

    def commit(self, smsp: int, warp: int, at: int) -> None:
        """Issue a commit (LDGDEPBAR). It takes the data stage, and then the tag lookup after its copies."""
        sm = self.sm_of[smsp]
        self.mio.entry(self.commit_stage, 0, 0)
        self.mio.queue(smsp, at, warp)
        self.tag_free[sm] += self.commit_lookup[warp]
        self.commit_lookup[warp] = 0
        self.last_look_up[sm] = max(self.last_look_up[sm], self.tag_free[sm])
        self.warps.commit(warp)

    def fence(self, sm: int) -> None:
        """
        Hold memory instructions of an SM behind a barrier, when its last warp arrives, until earlier ones are served.

        The held instructions have read their registers already. They wait until all earlier ones have left the SMSPs'
        queues, the data stage has served all stores to shared memory, and the tag lookup of the last copy has begun. If
        an LDGDEPBAR follows that copy, they wait until the lookups of both are over (D32).
        """
        self.mio.fence(sm, max(self.stored_until[sm], self.last_look_up[sm]))

    # --- tag lookup ---

    def reserve_lookup(self, sm: int, at: int, cycles: int) -> int:
        """Reserve an SM's tag lookup for some cycles, after earlier lookups; return the first of the cycles."""
        begin = max(at, self.tag_free[sm])
        self.tag_free[sm] = begin + cycles
        return begin

    def note_lookup(self, sm: int, at: int) -> None:
        """Record the cycle until which a copy waits for its tag lookup, or to write its zeros."""
        self.copies_waiting[sm * self.look_ups + self.next_copy[sm]] = at
        self.next_copy[sm] = (self.next_copy[sm] + 1) % self.look_ups
        self.last_look_up[sm] = at

    def write_zeros(self, sm: int, at: int, issued: int, cycles: int) -> int:
        """
        Write a copy's zeros in ``cycles`` cycles of the data stage; return the cycle of the last write (D21).

        The copy waits for the tag lookup, and occupies it until the zeros are written. It writes in cycles in which no
        other copy writes a line.
        """
        stage = self.data_stage
        lines = stage.lines_of_copies(sm, issued)
        first, cycle = -1, max(at, self.tag_free[sm])
        while cycles > 0:
            if stage.state_of(lines, cycle) == 0:
                cycle = stage.reserve(sm, cycle, 1, 0)
                stage.take_cycle(lines, cycle, ISSUED)
                first = cycle if first < 0 else first
                cycles -= 1
            cycle += 1
        self.tag_free[sm] = cycle
        self.note_lookup(sm, first)
        return cycle - 1
