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
    cdef long long[::1] landed, places, first, next, taken
    cdef long long room(self, long long way, long long at, long long places, long long most) noexcept
    cdef void send(self, long long way, long long landed, long long places) noexcept

@cython.final
cdef class Lsu:
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
    cdef long long sms, request, base, load_hit, copy_hit, line_interval, look_ups, load_look_ups, most_outstanding
    cdef long long most_through, copy_stage, commit_stage, copy_release, source_release, return_bytes
    cdef long long wavefront_latency, way_bytes, register_interval, most_warps, rows, outputs, leaves
    cdef const int[::1] kind, latency, write, read, registers, wave, wave_slots, ring_slot, row, turn, access, vec
    cdef const int[::1] bytes, is_load, through_l1, zero_fills, fills, apart
    cdef const long long[::1] waves, tiles, row_fetch, row_status, row_output, found_slow, found_missed, found_first
    cdef const long long[::1] pattern, fetch_line, requests, vecs, asked, touched, l1_wavefronts, line, sector_mask
    cdef const long long[::1] output_line
    cdef long long[::1] sectors, sm_of, tag_free, copies_waiting, copy_turn, loads_waiting, load_turn, stored_until, last_look_up
    cdef long long[::1] slots, at, trip, segment, number, slot, cta, accepted, drained, written, return_free
    cdef long long[::1] loads_free, open_group, tagged_apart
    @cython.locals(mio=Mio)
    cdef long long issue(self, long long smsp, long long warp, long long at) noexcept
    cdef bint reads_registers(self, long long kind) noexcept
    @cython.locals(mio=Mio)
    cdef long long access_shared(self, long long smsp, long long warp, long long at) noexcept
    cdef long long return_shared(self, long long warp, long long leaves, long long wavefronts) noexcept
    @cython.locals(mio=Mio)
    cdef long long load(self, long long smsp, long long warp, long long at) noexcept
    @cython.locals(comes=bint, looks_up=bint, blank=bint, mio=Mio)
    cdef long long copy_async(self, long long smsp, long long warp, long long at) noexcept
    cdef long long copy_around(self, long long sm, long long leaves, long long issued, long long apart) noexcept
    @cython.locals(lines=Lines)
    cdef long long read_lines(self, long long sm, long long at, long long issued) noexcept
    @cython.locals(mio=Mio)
    cdef long long access_output(self, long long smsp, long long warp, long long at) noexcept
    cdef void commit(self, long long smsp, long long warp, long long at) noexcept
    cdef void fence(self, long long sm) noexcept
    cdef void resolve(self, long long warp, long long code) noexcept
    cdef long long wavefronts_of(self, long long warp, long long code) noexcept
    cdef long long output_of(self, long long warp, long long code) noexcept
    cdef void resolve_output(self, long long warp, long long code) noexcept
    cdef long long tags(self) noexcept
    cdef long long places(self) noexcept
    cdef bint has_twin(self, long long touched) noexcept
    cdef bint are_twins(self, long long one, long long other) noexcept
    cdef long long look_up_tags(self, long long sm, long long at, long long cycles) noexcept
    cdef void wait_for_tags(self, long long sm, long long at) noexcept
    @cython.locals(stage=DataStage)
    cdef long long write_zeros(self, long long sm, long long at, long long issued, long long cycles) noexcept
