"""
The LSU: memory instructions from their issue to their data, by the queues of the MIO, the tags and the memories behind.

In silicon: the unit that takes memory instructions from the MIO, looks up their lines one request after another, keeps
count of the copies in flight, and returns data to registers.
Figures: ``load_hit``, ``copy_hit``, ``look_ups``, ``load_look_ups``, ``outstanding``, ``outstanding_through``,
``copy_stage``, ``commit_stage``, ``copy_release``, ``source_release``, ``warp_return_bytes``, ``wavefront_latency``,
``l1_store_bytes``.
State: by SM when the tag lookup is free, the copies and loads that wait for it, the copies in flight in their order.
Timing: an access to shared memory has its data when its wavefronts have passed the data stage. A load looks up its
lines when the data stage lets it pass, and takes the data stage when its data returns. A cp.async around the L1 takes
the data stage, its tag lookup in the order of copies, and the L2; its group is complete when its data is there.

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
    Copies in flight of an SM, in the order of their tag lookups, and the places that their requests take.

    A way is an SM, for its copies around the L1; counted on from the last one, for those through it.
    """

    def __init__(self, most: int, sms: int) -> None:
        """Count copies of some SMs, of which at most so many places are taken at once."""
        self.most = max(1, most)
        self.landed, self.places = zeros(2 * sms * self.most), zeros(2 * sms * self.most)
        self.first, self.next, self.taken = zeros(2 * sms), zeros(2 * sms), zeros(2 * sms)

    def room(self, way: int, at: int, places: int, most: int) -> int:
        """
        Return when a copy's requests find places.

        Copies give theirs back in the order of their lookups: what is behind one that comes from far keeps its own,
        though it has come.

        Args:
            way: The way.
            at: The first cycle that it may be.
            places: How many the copy takes.
            most: How many there are.
        """
        while self.taken[way] and self.taken[way] + places > most:
            place = way * self.most + self.first[way] % self.most
            at = max(at, self.landed[place])
            self.taken[way] -= self.places[place]
            self.first[way] += 1
        return at

    def send(self, way: int, landed: int, places: int) -> None:
        """Note a copy whose requests are in flight until a cycle."""
        place = way * self.most + self.next[way] % self.most
        self.landed[place], self.places[place] = landed, places
        self.next[way] += 1
        self.taken[way] += places


class Lsu:
    """
    The LSUs of all SMs.

    Attributes:
        request, base: The request of the access resolved last, and the line that its lines count from.
    """

    def __init__(  # noqa: PLR0917 - called positionally by both executions
        self, figures: "Figures", code: "CodeRows", data: "Data", warps: Warps, mio: Mio, l1: L1, stores: Stores
    ) -> None:
        """
        Build them.

        Args:
            figures: Those of the machine.
            code: The code of all CTAs.
            data: What CTAs touch.
            warps: The warps that issue.
            mio: The queues.
            l1: The L1s, with the L2 behind them.
            stores: The stores of all SMs.
        """
        self.figures_of(figures)
        self.code_of(code)
        self.data_of(data)
        self.warps, self.mio, self.l1, self.stores = warps, mio, l1, stores
        self.data_stage, self.crossbar, self.sampled = self.mio.data_stage, self.l1.crossbar, self.l1.sampled
        self.l2 = self.l1.l2
        self.sms, self.sectors, self.sm_of = self.data_stage.sms, self.l1.sectors, self.mio.sm_of
        self.take_columns()
        # When the tag lookup is free; copies, and loads, that wait for theirs, each in one of so many places in turn.
        self.tag_free, self.copies_waiting, self.copy_turn = (
            zeros(self.sms),
            zeros(self.sms * self.look_ups),
            zeros(self.sms),
        )
        self.loads_waiting, self.load_turn = zeros(self.sms * max(1, self.load_look_ups)), zeros(self.sms)
        # When what was stored to shared memory has had its wavefronts, and when the last copy comes to its lookup, or
        # the end of its group has been there.
        self.stored_until, self.last_look_up = zeros(self.sms), zeros(self.sms)
        self.in_flight = InFlight(max(self.most_outstanding, self.most_through), self.sms)
        self.slots, self.request, self.base = zeros(LINES_AT_ONCE), 0, 0

    def figures_of(self, figures: "Figures") -> None:
        """Take over the machine's figures."""
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
        """Take over the columns of the code that memory instructions have."""
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
        """Take over the columns of what CTAs touch."""
        self.rows, self.outputs, self.simulates_l2 = data.rows, data.outputs, data.simulates_l2
        self.row_fetch, self.row_status, self.row_output = data.row_fetch, data.row_status, data.row_output
        self.output_line = data.output_line
        self.found_slow, self.found_missed, self.found_first = data.found_slow, data.found_missed, data.found_first
        self.pattern, self.fetch_line, self.requests, self.vecs = data.pattern, data.fetch_line, data.request, data.vecs
        self.asked, self.touched, self.l1_wavefronts = data.asked, data.touched, data.l1_wavefronts
        self.line, self.sector_mask = data.line, data.mask

    def take_columns(self) -> None:
        """Share the columns of warps, and of the units below."""
        warps = self.warps
        self.at, self.trip, self.segment, self.number = warps.at, warps.trip, warps.segment, warps.number
        self.slot, self.cta, self.accepted, self.drained = warps.slot, warps.cta, warps.accepted, warps.drained
        self.written, self.return_free, self.loads_free = warps.written, warps.return_free, warps.loads_free
        self.open_group, self.tagged_apart = warps.open_group, warps.tagged_apart
        self.sectors, self.sm_of = self.l1.sectors, self.mio.sm_of

    # --- instructions ---

    def issue(self, smsp: int, warp: int, at: int) -> int:
        """Issue a memory instruction; return the cycle at which its data has arrived."""
        code, mio = self.at[warp], self.mio
        kind, reason = self.kind[code], LONG_SCOREBOARD
        if kind == SHARED:
            reason = SHORT_SCOREBOARD
            landed = self.access_shared(smsp, warp, at)
        elif kind == LDGSTS:
            # Its registers are waited for as those of any access to global memory (Nsight Compute's guide).
            landed = self.copy_async(smsp, warp, at)
        elif self.row[code] >= 0:
            landed = self.load(smsp, warp, at)
        else:
            landed = self.access_output(smsp, warp, at)
        if self.write[code] >= 0:
            self.warps.hold_board(warp, self.write[code], landed, reason)
        if self.read[code] >= 0:
            # Addresses are read on the way to the SM's queue, what is stored when the data stage takes it. A copy lets
            # go of its own when that has as many places again.
            if kind == LDGSTS:
                released = max(mio.collected, mio.room_again) + self.copy_release
            else:
                released = mio.collected if self.is_load[code] else self.leaves
                released += self.registers[code] * self.register_interval + self.source_release
            self.warps.hold_board(warp, self.read[code], released, reason)
        return landed

    def reads_registers(self, kind: int) -> bool:
        """Return whether the instruction issued last read its registers: a copy of nothing reads none."""
        return kind != LDGSTS or self.asked[self.request] > 0

    def access_shared(self, smsp: int, warp: int, at: int) -> int:
        """Issue an access to shared memory; return when a load's value can be used, or a store is done."""
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
        Return the cycle at which the value of a load from shared memory can be used.

        The registers of one warp take a load's bytes at a rate, and its wavefronts as far apart as they are served
        alone; loads of other warps of its SMSP do not wait for that.
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
        Issue a load of an operand; return the cycle at which its data has arrived.

        It takes the data stage when its data returns, and none before. Each of its wavefronts in the L1 is looked up in
        a cycle, after all that look up lines before it; where more lines lack sectors, each of these. So many loads may
        wait for that; all memory instructions behind the next one wait with it.
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
        # While the last of several lines comes, wavefronts of those before it pass.
        late = self.wavefront_latency * (wavefronts - 1) - self.line_interval * max(0, self.l1.brought - 1)
        landed = self.data_stage.pass_return(sm, landed, wavefronts) + max(0, late)
        passes = self.data_stage.last
        # The registers of one warp take what comes at a rate, as those of a shared load; here it is as many bytes as
        # the sectors have. What comes sooner than a load's data that issued before waits for none.
        path = (self.asked[request] * SECTOR_BYTES + self.return_bytes - 1) // self.return_bytes
        if landed + path > self.loads_free[warp]:
            landed = max(landed, self.loads_free[warp] + path)
            self.loads_free[warp] = landed
        if self.write[code] >= 0:
            self.data_stage.note_load(sm, warp, self.write[code], passes, landed)
        return landed

    def copy_async(self, smsp: int, warp: int, at: int) -> int:
        """Issue a cp.async; return the cycle at which its data has arrived, or its zeros are written."""
        code, sm, mio = self.at[warp], self.sm_of[smsp], self.mio
        self.resolve(warp, code)
        comes = self.asked[self.request] > 0
        looks_up = comes and not self.through_l1[code]
        # Without active lanes a copy takes no wavefront, unless it fills with zeros (D21).
        wavefronts = self.wavefronts_of(warp, code) if comes or self.zero_fills[code] else 0
        # It takes the data stage for longer where it fills lines of one class, and for zeros when they are written.
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
            # What the L1 has passes in the wavefronts of its banks, and what is to come a line in each.
            passes = max(wavefronts, self.l1_wavefronts[self.request], self.l1.coming)
            landed = self.data_stage.pass_return(sm, landed, passes)
            if lacked:
                self.in_flight.send(self.sms + sm, landed, lacked)
        self.open_group[warp] = max(landed, self.open_group[warp])
        return landed

    def copy_around(self, sm: int, leaves: int, issued: int, apart: int) -> int:
        """
        Serve a copy around the L1; return the cycle at which its data is in shared memory.

        A request takes a cycle of tag lookup, and a copy one more whose lines in shared memory are all of one class
        (``apart``), and so does the end of a group behind it.
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
        """Read the lines of a copy around the L1; return the cycle at which the last one is in shared memory."""
        request, lines = self.request, self.l2.lines
        sectors = self.asked[request]
        self.sectors[sm] += sectors
        # The latencies of L2 and DRAM are those of loads; a copy takes longer by what it takes longer on a hit.
        beyond = self.copy_hit - self.load_hit
        start = self.crossbar.inject(sm, at, sectors * SECTOR_BYTES)
        self.l2.sectors += sectors
        done, first = 0, self.touched[request]
        count = self.touched[request + 1] - first
        # All lines are looked for before the first one is served: they lie anywhere in the memory that this runs in,
        # which so waits for all at once.
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
        Issue a load or store of the epilogue; return the cycle at which a load's data has arrived (D10).

        A store looks up its lines on the way, one a cycle, as copies do. Four sectors are taken for a line. It waits in
        the queue of its SMSP until there is room before the SM's port, and its data takes the way there for some
        cycles.
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
        """Issue the end of a commit group, which comes to the tag lookup behind its copies."""
        sm = self.sm_of[smsp]
        self.mio.entry(self.commit_stage, 0, 0)
        self.mio.queue(smsp, at, warp)
        self.tag_free[sm] += self.tagged_apart[warp]
        self.tagged_apart[warp] = 0
        self.last_look_up[sm] = max(self.last_look_up[sm], self.tag_free[sm])
        self.warps.commit(warp)

    def fence(self, sm: int) -> None:
        """
        Let memory instructions of an SM wait for those before a barrier, from its last arrival on.

        They have their registers read, and wait then until all that were issued before have left the SMSPs' queues,
        what was stored to shared memory has had its wavefronts, and the last copy comes to its lookup, or the end of
        its group has been there.
        """
        self.mio.fence(sm, max(self.stored_until[sm], self.last_look_up[sm]))

    # --- what an instruction touches ---

    def resolve(self, warp: int, code: int) -> None:
        """Find the request, the lines and the L2 status of a warp's access to an operand."""
        row = self.cta[self.slot[warp]] * self.rows + self.row[code]
        turn = self.turn[code] + self.trip[warp] * self.tiles[self.segment[warp]]
        fetch = self.row_fetch[row] + turn
        self.sampled.status = self.row_status[row] + turn
        pattern = self.pattern[fetch]
        place = self.access[code] * self.vecs[pattern] + self.vec[code]
        self.request = self.requests[pattern] + place * self.most_warps + self.number[warp]
        self.base = self.fetch_line[fetch]

    def wavefronts_of(self, warp: int, code: int) -> int:
        """Return the wavefronts of a shared access in the ring slot that this trip uses."""
        slot = self.ring_slot[code] + self.trip[warp] * self.tiles[self.segment[warp]]
        return self.waves[self.wave[code] + slot % self.wave_slots[code] * self.most_warps + self.number[warp]]

    def output_of(self, warp: int, code: int) -> int:
        """Return the place of a warp's load or store of the epilogue among those of all CTAs."""
        return self.cta[self.slot[warp]] * self.outputs + self.turn[code]

    def resolve_output(self, warp: int, code: int) -> None:
        """Find the request and the lines of a warp's load or store of the epilogue."""
        output = self.output_of(warp, code)
        self.request = self.row_output[output] + self.access[code] * self.most_warps + self.number[warp]
        self.base = self.output_line[output]

    def tags(self) -> int:
        """Return the cycles in which a copy looks up its lines: one for each request."""
        return self.touched[self.request + 1] - self.touched[self.request]

    def places(self) -> int:
        """
        Return the places that a copy's requests take among those in flight.

        Two each where all are of a sector. Not modelled: what copies take whose requests are of one and of several.
        """
        tags = self.tags()
        return 2 * tags if tags == self.asked[self.request] else tags

    def has_twin(self, touched: int) -> bool:
        """Return whether the request before or behind one of the same copy is for other sectors of its line (D24)."""
        first, last = self.touched[self.request], self.touched[self.request + 1] - 1
        return (touched > first and self.are_twins(touched - 1, touched)) or (
            touched < last and self.are_twins(touched, touched + 1)
        )

    def are_twins(self, one: int, other: int) -> bool:
        """Return whether two requests of a copy are for other sectors of one line."""
        return self.line[one] == self.line[other] and self.sector_mask[one] != self.sector_mask[other]

    # --- tag lookup ---

    def look_up_tags(self, sm: int, at: int, cycles: int) -> int:
        """Let an instruction look up its lines for some cycles, after those before it; return the first."""
        begin = max(at, self.tag_free[sm])
        self.tag_free[sm] = begin + cycles
        return begin

    def wait_for_tags(self, sm: int, at: int) -> None:
        """Note that a copy waits for its tag lookup, or to write its zeros, until a cycle."""
        self.copies_waiting[sm * self.look_ups + self.copy_turn[sm]] = at
        self.copy_turn[sm] = (self.copy_turn[sm] + 1) % self.look_ups
        self.last_look_up[sm] = at

    def write_zeros(self, sm: int, at: int, issued: int, cycles: int) -> int:
        """
        Write a copy's zeros, in the turn of copies that look up lines; return the cycle of the last ones (D21).

        What copies bring goes first.
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
