"""Types of ``lsu.py`` for Cython."""

cimport cython

from gpusim.sim.core.cache cimport Lines
from gpusim.sim.core.data_stage cimport DataStage
from gpusim.sim.core.l1 cimport L1
from gpusim.sim.core.l2 cimport L2
from gpusim.sim.core.l2_arbiter cimport Crossbar
from gpusim.sim.core.l2_sampled cimport L2Sampled
from gpusim.sim.core.mio cimport Mio
from gpusim.sim.core.stores cimport Stores
from gpusim.sim.core.warps cimport Warps

@cython.final
cdef class InFlight:
    cdef long long most
    cdef long long[::1] landed, entries, first, next, occupied
    cdef long long free_at(self, long long queue, long long at, long long entries, long long most) noexcept
    cdef void send(self, long long queue, long long landed, long long entries) noexcept

@cython.final
cdef class Coalescer:
    cdef L2 l2
    cdef L2Sampled sampled
    cdef Warps warps
    cdef long long request, base, traced_wavefronts, read_sectors, most_warps, rows, outputs, arrays
    cdef const int[::1] first_wavefront, wavefront_slots, ring_slot, row, fetch_number, access, vec, traced, fetch_sectors
    cdef const long long[::1] wavefronts, tiles, row_fetch, row_status, row_output, output_line, pattern, fetch_line
    cdef const long long[::1] requests, vecs, asked, touched, line, sector_mask, array_line, traced_access, traced_line
    cdef long long[::1] trip, segment, number, slot, cta, next_traced
    cdef void take(self, long long warp, long long code) noexcept
    cdef void resolve(self, long long warp, long long code) noexcept
    cdef long long wavefronts_of(self, long long warp, long long code) noexcept
    cdef long long output_of(self, long long warp, long long code) noexcept
    cdef void resolve_output(self, long long warp, long long code) noexcept
    cdef long long lookup_cycles(self) noexcept
    cdef long long count_entries(self) noexcept
    cdef bint splits_line(self, long long touched) noexcept
    cdef bint split_line(self, long long one, long long other) noexcept

@cython.final
cdef class Lsu:
    cdef Coalescer coalescer
    cdef Crossbar crossbar
    cdef DataStage data_stage
    cdef InFlight in_flight
    cdef L1 l1
    cdef L2 l2
    cdef L2Sampled sampled
    cdef Mio mio
    cdef Stores stores
    cdef Warps warps
    cdef bint simulates_l2
    cdef long long sms, load_hit, copy_hit, line_interval, look_ups, load_look_ups, most_outstanding
    cdef long long most_through, copy_stage, commit_stage, copy_release, source_release, return_bytes
    cdef long long wavefront_latency, port_path_bytes, register_interval, served
    cdef const int[::1] kind, latency, write, read, registers, row
    cdef const int[::1] bytes, is_load, through_l1, zero_fills, fills, lookup_penalty, traced, atomic
    cdef const long long[::1] found_slow, found_missed, found_first, asked, touched, l1_wavefronts, line, sector_mask
    cdef long long[::1] sectors, sm_of, tag_free, copies_waiting, next_copy, loads_waiting, next_load, stored_until, last_look_up
    cdef long long[::1] slots, at, slot, stores_taken, drained, written, return_free, loads_free, open_group, commit_lookup
    @cython.locals(mio=Mio)
    cdef long long issue(self, long long smsp, long long warp, long long at) noexcept
    cdef bint reads_registers(self, long long kind) noexcept
    @cython.locals(mio=Mio)
    cdef long long access_shared(self, long long smsp, long long warp, long long at) noexcept
    cdef long long return_shared(self, long long warp, long long served, long long wavefronts) noexcept
    @cython.locals(mio=Mio)
    cdef long long load(self, long long smsp, long long warp, long long at) noexcept
    @cython.locals(reads_l2=bint, looks_up=bint, zeros_only=bint, mio=Mio)
    cdef long long copy_async(self, long long smsp, long long warp, long long at) noexcept
    cdef long long copy_around_l1(self, long long sm, long long served, long long issued, long long penalty) noexcept
    @cython.locals(lines=Lines)
    cdef long long read_lines(self, long long sm, long long at, long long issued) noexcept
    cdef long long access_output(self, long long smsp, long long warp, long long at) noexcept
    cdef long long write_lines(self, long long smsp, long long warp, long long at) noexcept
    @cython.locals(mio=Mio)
    cdef long long queue_output(self, long long smsp, long long warp, long long at, long long lines, long long sectors) noexcept
    cdef void note_stored(self, long long sm, long long warp, long long served) noexcept
    cdef void commit(self, long long smsp, long long warp, long long at) noexcept
    cdef void fence(self, long long sm) noexcept
    cdef long long reserve_lookup(self, long long sm, long long at, long long cycles) noexcept
    cdef void note_lookup(self, long long sm, long long at) noexcept
    @cython.locals(stage=DataStage)
    cdef long long write_zeros(self, long long sm, long long at, long long issued, long long cycles) noexcept
