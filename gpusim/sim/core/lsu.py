"""
The LSU: takes a memory instruction from its issue to its data, through the MIO, the tag lookup and the memory behind.

In silicon: the unit that takes memory instructions from the MIO, looks up their lines one request after another,
limits the copies in flight, and returns data to registers.
Figures: ``load_hit``, ``copy_hit``, ``look_ups``, ``load_look_ups``, ``outstanding``, ``outstanding_through``,
``copy_stage``, ``commit_stage``, ``copy_release``, ``source_release``, ``warp_return_bytes``, ``wavefront_latency``,
``l1_store_bytes``.
State: for each SM, when the tag lookup is free, the copies and loads that wait for it, and the copies in flight in
order of their lookups.
Timing: an access to shared memory has its data when its wavefronts have passed the data stage. A global load leaves the
SM's queue, looks up its lines, and takes the data stage when its data returns. A cp.async.cg takes the data stage,
looks up its lines in the order of copies, and reads them from the L2. Its commit group is complete when its data is in
shared memory.

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
from gpusim.sim.core.constants import ISSUED, LDGSTS, LINES_AT_ONCE, MILLI, SHARED
from gpusim.sim.core.l1 import L1
from gpusim.sim.core.mio import Mio
from gpusim.sim.core.stores import Stores
from gpusim.sim.core.warps import Warps
from gpusim.sim.stall_reasons import LONG_SCOREBOARD, SHORT_SCOREBOARD
from gpusim.units import SECTOR_BYTES, SECTORS_PER_LINE

if TYPE_CHECKING:
    from gpusim.sim.columns import CodeRows, Data
    from gpusim.sim.figures import Figures


class InFlight:
    """
    The copies in flight of all SMs, in order of their tag lookups, and the places that their requests take.

    Each SM has two queues. Queue number ``sm`` (argument ``way``) holds its cp.async.cg, number ``sms + sm`` its
    cp.async.ca.
    """

    def __init__(self, most: int, sms: int) -> None:
        """Build empty queues for ``sms`` SMs, in each of which copies take at most ``most`` places."""
        self.most = max(1, most)
        self.landed, self.places = zeros(2 * sms * self.most), zeros(2 * sms * self.most)
        self.first, self.next, self.taken = zeros(2 * sms), zeros(2 * sms), zeros(2 * sms)

    def room(self, way: int, at: int, places: int, most: int) -> int:
        """
        Return the first cycle at which a copy's requests find enough places.

        Copies return their places in the order of their lookups. A copy whose data has arrived keeps its places while
        an earlier copy is still in flight.

        Args:
            way: The queue.
            at: First cycle at which the copy may take its places.
            places: Places that the copy takes.
            most: Places of the queue.
        """
        while self.taken[way] and self.taken[way] + places > most:
            place = way * self.most + self.first[way] % self.most
            at = max(at, self.landed[place])
            self.taken[way] -= self.places[place]
            self.first[way] += 1
        return at

    def send(self, way: int, landed: int, places: int) -> None:
        """Add a copy to a queue: its requests take ``places`` places until its data arrives at cycle ``landed``."""
        place = way * self.most + self.next[way] % self.most
        self.landed[place], self.places[place] = landed, places
        self.next[way] += 1
        self.taken[way] += places


class Lsu:
    """
    The LSUs of all SMs.

    Attributes:
        request, base: Request of the access resolved last, and the line number from which its lines are counted.
    """

    def __init__(  # noqa: PLR0917 - called positionally by both executions
        self, figures: "Figures", code: "CodeRows", data: "Data", warps: Warps, mio: Mio, l1: L1, stores: Stores
    ) -> None:
        """
        Build idle LSUs.

        Args:
            figures: The machine's figures.
            code: The code of all CTAs.
            data: The lines and sectors that CTAs access.
            warps: The warps that issue.
            mio: The MIO queues.
            l1: The L1s, with the L2 behind them.
            stores: The unit of stores to global memory.
        """
        self.figures_of(figures)
        self.code_of(code)
        self.data_of(data)
        self.warps, self.mio, self.l1, self.stores = warps, mio, l1, stores
        self.data_stage, self.crossbar, self.sampled = self.mio.data_stage, self.l1.crossbar, self.l1.sampled
        self.l2 = self.l1.l2
        self.sms, self.sectors, self.sm_of = self.data_stage.sms, self.l1.sectors, self.mio.sm_of
        self.take_columns()
        # When the tag lookup is free; until when a copy, or a load, takes each place of those that wait for it.
        self.tag_free, self.copies_waiting, self.copy_turn = (
            zeros(self.sms),
            zeros(self.sms * self.look_ups),
            zeros(self.sms),
        )
        self.loads_waiting, self.load_turn = zeros(self.sms * max(1, self.load_look_ups)), zeros(self.sms)
        # When stores to shared memory have had their wavefronts; when the last copy begins its lookup (see ``fence``).
        self.stored_until, self.last_look_up = zeros(self.sms), zeros(self.sms)
        self.in_flight = InFlight(max(self.most_outstanding, self.most_through), self.sms)
        self.slots, self.request, self.base = zeros(LINES_AT_ONCE), 0, 0

    def figures_of(self, figures: "Figures") -> None:
        """Keep the machine's figures as attributes."""
        self.load_hit, self.copy_hit, self.line_interval = (
            figures.load_hit,
            figures.copy_hit,
            figures.l1_line_interval,
        )
        self.look_ups, self.load_look_ups = figures.look_ups, figures.load_look_ups
        self.most_outstanding, self.most_through = figures.outstanding, figures.outstanding_through
        self.copy_stage, self.commit_stage = figures.copy_stage, figures.commit_stage
        self.copy_release, self.source_release = figures.copy_release, figures.source_release
        self.return_bytes, self.wavefront_latency = figures.warp_return_bytes, figures.wavefront_latency
        self.way_bytes, self.register_interval = figures.l1_store_bytes, figures.register_interval

    def code_of(self, code: "CodeRows") -> None:
        """Share the columns of the code that describe memory instructions."""
        self.kind, self.latency, self.write, self.read, self.registers = (
            code.kind,
            code.latency,
            code.write,
            code.read,
            code.registers,
        )
        self.wave, self.wave_slots, self.ring_slot, self.waves = code.wave, code.wave_slots, code.ring_slot, code.waves
        self.row, self.turn, self.access, self.vec = code.row, code.turn, code.access, code.vec
        self.bytes, self.is_load, self.through_l1, self.zero_fills = (
            code.bytes,
            code.is_load,
            code.through_l1,
            code.zero_fills,
        )
        self.fills, self.apart, self.tiles, self.most_warps = code.fills, code.apart, code.tiles, code.warps

    def data_of(self, data: "Data") -> None:
        """Share the columns of the CTAs' accesses."""
        self.rows, self.outputs, self.simulates_l2 = data.rows, data.outputs, data.simulates_l2
        self.row_fetch, self.row_status, self.row_output = data.row_fetch, data.row_status, data.row_output
        self.output_line = data.output_line
        self.found_slow, self.found_missed, self.found_first = data.found_slow, data.found_missed, data.found_first
        self.pattern, self.fetch_line, self.requests, self.vecs = data.pattern, data.fetch_line, data.request, data.vecs
        self.asked, self.touched, self.l1_wavefronts = data.asked, data.touched, data.l1_wavefronts
        self.line, self.sector_mask = data.line, data.mask

    def take_columns(self) -> None:
        """Share the columns of the warps, and of the L1 and the MIO."""
        warps = self.warps
        self.at, self.trip, self.segment, self.number = warps.at, warps.trip, warps.segment, warps.number
        self.slot, self.cta, self.accepted, self.drained = warps.slot, warps.cta, warps.accepted, warps.drained
        self.written, self.return_free, self.loads_free = warps.written, warps.return_free, warps.loads_free
        self.open_group, self.tagged_apart = warps.open_group, warps.tagged_apart
        self.sectors, self.sm_of = self.l1.sectors, self.mio.sm_of

    # --- instructions ---

    def issue(self, smsp: int, warp: int, at: int) -> int:
        """Issue a memory instruction, and hold its scoreboards; return when its data arrives, or its store is done."""
        code, mio = self.at[warp], self.mio
        kind, reason = self.kind[code], LONG_SCOREBOARD
        if kind == SHARED:
            reason = SHORT_SCOREBOARD
            landed = self.access_shared(smsp, warp, at)
        elif kind == LDGSTS:
            # A wait for its address registers counts as long_scoreboard, as for other global accesses (ncu's guide).
            landed = self.copy_async(smsp, warp, at)
        elif self.row[code] >= 0:
            landed = self.load(smsp, warp, at)
        else:
            landed = self.access_output(smsp, warp, at)
        if self.write[code] >= 0:
            self.warps.hold_board(warp, self.write[code], landed, reason)
        if self.read[code] >= 0:
            # Address registers are read on the way to the SM's queue, store data when the data stage takes the store. A
            # copy releases its registers when the SM's queue has as many entries again as the copy takes.
            if kind == LDGSTS:
                released = max(mio.collected, mio.room_again) + self.copy_release
            else:
                released = mio.collected if self.is_load[code] else self.leaves
                released += self.registers[code] * self.register_interval + self.source_release
            self.warps.hold_board(warp, self.read[code], released, reason)
        return landed

    def reads_registers(self, kind: int) -> bool:
        """Return whether register reads of the last instruction delay mma.sync. A copy of no sectors delays none."""
        return kind != LDGSTS or self.asked[self.request] > 0

    def access_shared(self, smsp: int, warp: int, at: int) -> int:
        """Issue an access to shared memory; return the cycle at which its value can be used, or its store is done."""
        code, sm, mio = self.at[warp], self.sm_of[smsp], self.mio
        wavefronts = self.wavefronts_of(warp, code)
        stores = self.fills[code]
        mio.entry(
            self.data_stage.count_wavefronts(wavefronts), self.registers[code], self.written[warp] if stores else 0
        )
        if stores:
            mio.apart = mio.places_apart
            mio.written = self.data_stage.writes_of_copies(sm, at)
        self.leaves = leaves = mio.queue(smsp, at, warp)
        if stores:
            self.written[warp] = leaves + wavefronts * self.wavefront_latency
            self.stored_until[sm] = max(self.stored_until[sm], self.data_stage.last + 1)
        if self.is_load[code]:
            return self.return_shared(warp, leaves, wavefronts)
        return self.data_stage.last + 1

    def return_shared(self, warp: int, leaves: int, wavefronts: int) -> int:
        """
        Return when the value of a load, which takes the data stage from cycle ``leaves`` on, can be used.

        A warp's registers take ``warp_return_bytes`` a cycle, and a wavefront every ``wavefront_latency`` cycles. Its
        later loads wait for that; loads of other warps do not.
        """
        code = self.at[warp]
        late = max(0, self.data_stage.last + 1 - leaves - self.data_stage.service(wavefronts))
        landed = leaves + late - 1 + self.latency[code] + self.wavefront_latency * (wavefronts - 1)
        path = (self.bytes[code] + self.return_bytes - 1) // self.return_bytes
        path = max(path, wavefronts * self.wavefront_latency)
        landed = max(landed, self.return_free[warp] + path)
        self.return_free[warp] = landed
        return landed

    def load(self, smsp: int, warp: int, at: int) -> int:
        """
        Issue a global load of an operand; return the cycle at which its data has arrived.

        It takes cycles of the data stage only when its data returns. Tag lookup takes a cycle for each wavefront in the
        L1's banks, or for each line that misses, if those are more. ``load_look_ups`` loads may wait for it; the next
        one blocks the SM's queue. A load without lanes takes a cycle of the data stage and no lookup.
        """
        code, sm, mio = self.at[warp], self.sm_of[smsp], self.mio
        self.resolve(warp, code)
        request = self.request
        wavefronts = self.l1_wavefronts[request]
        if wavefronts == 0:
            mio.entry(1, self.registers[code], 0)
            return mio.queue(smsp, at, warp) + self.load_hit
        place = sm * self.load_look_ups + self.load_turn[sm]
        mio.entry(0, self.registers[code], self.loads_waiting[place] if self.load_look_ups else 0)
        leaves = mio.queue(smsp, at, warp)
        begins = self.look_up_tags(sm, leaves, max(wavefronts, self.l1.lacked(sm, request, self.base)))
        if self.load_look_ups:
            self.loads_waiting[place] = begins
            self.load_turn[sm] = (self.load_turn[sm] + 1) % self.load_look_ups
        landed = self.l1.look_up(sm, request, self.base, begins, at, self.load_hit, self.line_interval)
        # Each wavefront comes ``wavefront_latency`` after the last; those of earlier lines pass while the last comes.
        late = self.wavefront_latency * (wavefronts - 1) - self.line_interval * max(0, self.l1.brought - 1)
        landed = self.data_stage.pass_return(sm, landed, wavefronts) + max(0, late)
        passes = self.data_stage.last
        # Registers take ``warp_return_bytes`` a cycle; data that arrives before an earlier load's does not wait for it.
        path = (self.asked[request] * SECTOR_BYTES + self.return_bytes - 1) // self.return_bytes
        if landed + path > self.loads_free[warp]:
            landed = max(landed, self.loads_free[warp] + path)
            self.loads_free[warp] = landed
        if self.write[code] >= 0:
            self.data_stage.note_load(sm, warp, self.write[code], passes, landed)
        return landed

    def copy_async(self, smsp: int, warp: int, at: int) -> int:
        """Issue a cp.async; return the cycle at which its data is in shared memory, or its zeros are written."""
        code, sm, mio = self.at[warp], self.sm_of[smsp], self.mio
        self.resolve(warp, code)
        comes = self.asked[self.request] > 0
        looks_up = comes and not self.through_l1[code]
        # Without active lanes a copy takes no wavefront, unless it fills with zeros (D21).
        wavefronts = self.wavefronts_of(warp, code) if comes or self.zero_fills[code] else 0
        # A cp.async.cg takes the data stage for ``apart`` cycles more if all its lines in shared memory are of one
        # class. A copy of zeros takes it when the zeros are written.
        blank = not comes and wavefronts > 0
        cycles = self.copy_stage + self.apart[code] if looks_up else int(not blank)
        until = self.copies_waiting[sm * self.look_ups + self.copy_turn[sm]] if looks_up or blank else 0
        lacked = 0
        if comes and not looks_up and self.most_through:
            lacked = self.l1.lacked(sm, self.request, self.base)
        if lacked:
            until = self.in_flight.room(self.sms + sm, 0, lacked, self.most_through)
        mio.entry(cycles, self.registers[code] if comes or blank else 0, until)
        mio.beside = 1 if looks_up else 0
        landed = leaves = mio.queue_copy(smsp, at, warp)
        if looks_up:
            landed = self.copy_around(sm, leaves, at, self.apart[code])
            self.tagged_apart[warp] = self.apart[code]
        else:
            if blank:
                landed = self.write_zeros(sm, leaves, at, self.data_stage.count_wavefronts(wavefronts))
            landed = self.l1.look_up(sm, self.request, self.base, landed, at, self.copy_hit, 0)
        if comes and not looks_up:
            # The data passes in as many cycles as the most of three: wavefronts in shared memory, wavefronts in the
            # L1's banks, and lines that are still to come.
            passes = max(wavefronts, self.l1_wavefronts[self.request], self.l1.coming)
            landed = self.data_stage.pass_return(sm, landed, passes)
            if lacked:
                self.in_flight.send(self.sms + sm, landed, lacked)
        self.open_group[warp] = max(landed, self.open_group[warp])
        return landed

    def copy_around(self, sm: int, leaves: int, issued: int, apart: int) -> int:
        """
        Serve a cp.async.cg that leaves the SM's queue; return the cycle at which its data is in shared memory.

        Tag lookup takes a cycle for each request, and ``apart`` more, which is above 0 only if the copy fills several
        lines of shared memory whose numbers are equal modulo 4. The LDGDEPBAR behind it then takes ``apart``, too.
        """
        tags, places, at = self.tags(), 0, leaves
        if self.most_outstanding:
            places = self.places()
            at = self.in_flight.room(sm, leaves, places, self.most_outstanding)
        begins = self.look_up_tags(sm, at, tags + apart)
        self.wait_for_tags(sm, begins)
        landed = self.read_lines(sm, begins, issued) + self.wavefront_latency * (tags - 1)
        if self.most_outstanding:
            self.in_flight.send(sm, landed, places)
        return landed

    def read_lines(self, sm: int, at: int, issued: int) -> int:
        """Read the lines of a cp.async.cg from the L2; return the cycle at which the last one is in shared memory."""
        request, lines = self.request, self.l2.lines
        sectors = self.asked[request]
        self.sectors[sm] += sectors
        # Latencies of the L2 and DRAM are measured with loads. A copy adds the difference of both on an L1 hit.
        beyond = self.copy_hit - self.load_hit
        start = self.crossbar.inject(sm, at, sectors * SECTOR_BYTES)
        self.l2.sectors += sectors
        done, first = 0, self.touched[request]
        count = self.touched[request + 1] - first
        # Find all slots before serving the first line, so that the host's cache misses overlap.
        for place in range(count):
            self.slots[place] = lines.touch(self.line[first + place] + self.base)
        for place in range(count):
            slot, mask = self.slots[place], self.sector_mask[first + place]
            if self.simulates_l2:
                landed = self.l2.read(sm, slot, mask, start, issued)
            else:
                self.sampled.has_twin = self.has_twin(first + place)
                landed = self.sampled.read(sm, slot, mask, start, issued)
            done = max(done, landed)
            self.data_stage.add_write(sm, landed + beyond, sectors_in(mask))
        return done + beyond

    def access_output(self, smsp: int, warp: int, at: int) -> int:
        """
        Issue a load or store of the epilogue; return the cycle at which it arrives or the data stage takes it (D10).

        A store takes a cycle of the data stage for every four sectors. It waits in its SMSP's queue for room before the
        SM's port. Then its data occupies the path to the port, at ``l1_store_bytes`` a cycle.
        """
        code, sm, mio = self.at[warp], self.sm_of[smsp], self.mio
        self.resolve_output(warp, code)
        sectors = self.asked[self.request]
        lines = 0 if self.is_load[code] else (sectors + SECTORS_PER_LINE - 1) // SECTORS_PER_LINE
        mio.entry(self.data_stage.count_wavefronts(lines), self.registers[code], 0)
        if lines:
            mio.room = self.stores.room_at_port(sm)
            mio.written = self.data_stage.writes_of_copies(sm, at)
            if self.way_bytes:
                mio.way = (sectors * SECTOR_BYTES + self.way_bytes // 2) // self.way_bytes
        self.leaves = leaves = mio.queue(smsp, at, warp)
        if self.is_load[code]:
            if not sectors:
                return leaves + self.copy_hit
            self.sectors[sm] += sectors
            output = self.output_of(warp, code)
            slow, missed, first = self.found_slow[output], self.found_missed[output], self.found_first[output]
            return self.sampled.read_output(sm, leaves, at, sectors, slow, missed, first)
        self.drained[warp] = leaves
        if sectors:
            taken = self.stores.store(sm, leaves, at, sectors)
            self.drained[warp] = max(leaves, self.stores.passed[sm] // MILLI)
            self.accepted[self.slot[warp]] = max(taken, self.accepted[self.slot[warp]])
        return leaves

    def commit(self, smsp: int, warp: int, at: int) -> None:
        """Issue a commit (LDGDEPBAR): it takes the data stage, and the tag lookup behind its copies."""
        sm = self.sm_of[smsp]
        self.mio.entry(self.commit_stage, 0, 0)
        self.mio.queue(smsp, at, warp)
        self.tag_free[sm] += self.tagged_apart[warp]
        self.tagged_apart[warp] = 0
        self.last_look_up[sm] = max(self.last_look_up[sm], self.tag_free[sm])
        self.warps.commit(warp)

    def fence(self, sm: int) -> None:
        """
        Hold later memory instructions of an SM, when the last warp arrives at a barrier, until earlier ones are served.

        The held instructions have read their registers already. They wait until all earlier ones have left the SMSPs'
        queues, the data stage has served all stores to shared memory, and the tag lookup of the last copy has begun. If
        an LDGDEPBAR follows that copy, they wait until this lookup and that of the LDGDEPBAR are over (D32).
        """
        self.mio.fence(sm, max(self.stored_until[sm], self.last_look_up[sm]))

    # --- what an instruction touches ---

    def resolve(self, warp: int, code: int) -> None:
        """Set ``request``, ``base`` and the sampled L2's ``status`` to those of a warp's access to an operand."""
        row = self.cta[self.slot[warp]] * self.rows + self.row[code]
        turn = self.turn[code] + self.trip[warp] * self.tiles[self.segment[warp]]
        fetch = self.row_fetch[row] + turn
        self.sampled.status = self.row_status[row] + turn
        pattern = self.pattern[fetch]
        place = self.access[code] * self.vecs[pattern] + self.vec[code]
        self.request = self.requests[pattern] + place * self.most_warps + self.number[warp]
        self.base = self.fetch_line[fetch]

    def wavefronts_of(self, warp: int, code: int) -> int:
        """Return the wavefronts of a warp's shared access in the ring slot that its current trip uses."""
        slot = self.ring_slot[code] + self.trip[warp] * self.tiles[self.segment[warp]]
        return self.waves[self.wave[code] + slot % self.wave_slots[code] * self.most_warps + self.number[warp]]

    def output_of(self, warp: int, code: int) -> int:
        """Return the index of a warp's epilogue access among the epilogue accesses of all CTAs."""
        return self.cta[self.slot[warp]] * self.outputs + self.turn[code]

    def resolve_output(self, warp: int, code: int) -> None:
        """Set ``request`` and ``base`` to those of a warp's load or store of the epilogue."""
        output = self.output_of(warp, code)
        self.request = self.row_output[output] + self.access[code] * self.most_warps + self.number[warp]
        self.base = self.output_line[output]

    def tags(self) -> int:
        """Return the cycles of tag lookup of the copy resolved last: one for each request."""
        return self.touched[self.request + 1] - self.touched[self.request]

    def places(self) -> int:
        """
        Return the places in flight of the copy resolved last: two a request if all are of one sector, else one (D24).

        Not modelled: copies with requests of one sector and of several.
        """
        tags = self.tags()
        return 2 * tags if tags == self.asked[self.request] else tags

    def has_twin(self, touched: int) -> bool:
        """Return whether the copy's previous or next request is for other sectors of the same line (D24)."""
        first, last = self.touched[self.request], self.touched[self.request + 1] - 1
        return (touched > first and self.are_twins(touched - 1, touched)) or (
            touched < last and self.are_twins(touched, touched + 1)
        )

    def are_twins(self, one: int, other: int) -> bool:
        """Return whether two requests are for the same line and different sectors."""
        return self.line[one] == self.line[other] and self.sector_mask[one] != self.sector_mask[other]

    # --- tag lookup ---

    def look_up_tags(self, sm: int, at: int, cycles: int) -> int:
        """Occupy an SM's tag lookup for some cycles, behind earlier lookups; return the first cycle."""
        begin = max(at, self.tag_free[sm])
        self.tag_free[sm] = begin + cycles
        return begin

    def wait_for_tags(self, sm: int, at: int) -> None:
        """Note that a copy waits until a cycle for its tag lookup, or to write its zeros."""
        self.copies_waiting[sm * self.look_ups + self.copy_turn[sm]] = at
        self.copy_turn[sm] = (self.copy_turn[sm] + 1) % self.look_ups
        self.last_look_up[sm] = at

    def write_zeros(self, sm: int, at: int, issued: int, cycles: int) -> int:
        """
        Write a copy's zeros in ``cycles`` cycles of the data stage; return the cycle of the last write (D21).

        The copy waits for its turn in the tag lookup, and occupies it until its zeros are written. It writes only in
        cycles in which no line of another copy is written.
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
        self.wait_for_tags(sm, first)
        return cycle - 1
