"""Types of ``chip.py`` for Cython."""

cimport cython

from gpusim.sim.core.cache cimport Lines
from gpusim.sim.core.calendar cimport Calendar
from gpusim.sim.core.dram cimport Dram
from gpusim.sim.core.l2 cimport L2
from gpusim.sim.core.l2_arbiter cimport Crossbar
from gpusim.sim.core.l2_sampled cimport L2Sampled
from gpusim.sim.core.log cimport Log
from gpusim.sim.core.stores cimport Stores

@cython.final
cdef class Chip:
    cdef readonly long long sms, slots, share, now, instructions, wavefronts
    cdef readonly long long ended, ended_at, ended_sm, ended_slot, ended_launched
    cdef readonly Log notes, spans
    cdef list l1
    cdef Calendar calendar
    cdef Crossbar crossbar
    cdef readonly Dram dram
    cdef readonly L2 l2
    cdef L2Sampled l2_sampled
    cdef readonly Stores stores
    cdef readonly long long[::1] stalls, sectors
    cdef long long chosen_at, others_at, smsps, ports, tensor, mio, smsp_width, past_smsps, depth, sm_depth, commit_stage, copy_queue, copy_stage, look_ups, load_look_ups, stores_apart, fill_bytes, way_takes, most_outstanding, most_through, most_sent, collected, staged_last, sm_interval, smsp_interval, per_cycle, wavefront_latency, return_bytes
    cdef long long source_release, register_interval, registers_an_mma, copy_registers, ample, copy_release, copy_interval, mufu_dispatch, load_hit, copy_hit, barrier_base, barrier_each, constant_miss
    cdef long long launch_delay, fetch_miss, stream_lines, fetch_interval, cache_lines
    cdef long long semaphore, line_interval
    cdef long long l1_lines
    cdef long long warps, lines, cached, simulates_l2, rows, outputs
    cdef long long brought, coming, fetched, requested
    cdef const int[::1] kind, port, throttle, interval, latency, stall, gated, waits, write, fetches, is_branch, dispatches, takes, next_stop, until_stop, joins, awaits, activity, chain, order
    cdef const int[::1] read, registers, wave, wave_slots, row, turn_of, access, vec, stage, pending_groups, bytes, is_load, through_l1, zero_fills, fills, apart
    cdef const long long[::1] waves, multiplies_at, first, end, trips, tiles, begins, program, warps_of, follows, followed
    cdef const long long[::1] row_fetch, row_status, row_output, pattern, fetch_line, request, vecs, asked, touched, l1_wavefronts
    cdef const long long[::1] line, sector_mask, output_sectors, found_slow, found_missed, found_first
    cdef long long[::1] awaited_warp, awaited_board, awaited_passes, awaited_landed, awaited_first, awaited_next, given, found, loads_free
    cdef long long[::1] staged, to_write, writes_next, writes_noted, full_from, full_to, tag_free, tagged, tag_turn, sought, sought_turn, apart_until, sent, sent_places, sent_first, sent_next, outstanding, apart_turn, tagged_apart, last_look_up, lines_noted, sectors_noted, store_way, barrier_free, cold, line_ready, streamed, fetch_free, fetched_lines, cached_line
    cdef long long[::1] port_free, port_user, port_takes, port_turn, mio_free, left, roomless, cleared, settled, return_free, queue, queue_at, queued, sm_queue, sm_queue_at, taken, due_at, due_takes, due_first, due_next, multiplies, clock, asleep, last, active, blocked, planned, rivals, members
    cdef long long[::1] cta, expected, soonest, launched, remaining, accepted, arrived, last_arrival, arrivals, observed, parked, awaiting, finished, slot_of
    cdef long long[::1] age, home, slot, at, segment, trip, ready, stalled, issued, reason, board, board_reason
    cdef long long[::1] barred, held, dispatched, watched, port_of, number, sm_of
    cdef long long[::1] groups, committed, open_group, drained, written
    cdef long long[::1] looked_for
    @cython.locals(calendar=Calendar)
    cpdef long long run(self) except *
    cdef void wake(self, long long smsp, long long at) noexcept
    cpdef hand(self, long long sm, long long cta, long long at, long long observed)
    cdef long long next_launch(self, long long sm, long long now) noexcept
    cdef void launch(self, long long slot, long long at) noexcept
    cdef void leave(self, long long warp, long long at) noexcept
    cdef void remove(self, long long smsp, long long warp) noexcept
    cdef void arrive(self, long long warp, long long at) noexcept
    cdef void clear(self, long long sm) noexcept
    cdef void release(self, long long warp, long long at) noexcept
    cdef long long horizon(self, long long smsp, long long now) noexcept
    cdef inline long long choose(self, long long smsp, long long clock) noexcept
    cdef void take(self, long long port, long long at) noexcept
    cdef inline void issue_pipe(self, long long smsp, long long warp, long long at) noexcept
    @cython.locals(same=bint)
    cdef long long issue_from(self, long long smsp, long long now) noexcept
    cdef inline void issue_beyond(self, long long smsp, long long warp, long long at) noexcept
    cdef inline void account(self, long long warp, long long at, long long free, long long throttle) noexcept
    cdef long long throttled(self, long long warp, long long begin, long long free, long long reason) noexcept
    cdef long long charge(self, long long warp, long long begin, long long end, long long reason) noexcept
    @cython.locals(spans=Log)
    cdef void log_span(self, long long warp, long long begin, long long end, long long reason) noexcept
    cdef void note(self, long long warp, long long at, long long landed) noexcept
    @cython.locals(notes=Log)
    cdef void log_note(self, long long warp, long long place, long long tiles, long long at, long long landed, long long stalled) noexcept
    cdef void wait_until(self, long long warp, long long cycle, long long reason) noexcept
    cdef void hold(self, long long warp, long long board, long long free, long long reason) noexcept
    cdef void commit(self, long long warp) noexcept
    cdef inline void advance(self, long long warp, long long at) noexcept
    cdef long long next_trip(self, long long warp, long long segment) noexcept
    cdef inline void gate(self, long long warp, long long code) noexcept
    cdef void fetch(self, long long warp) noexcept
    cdef void await_slice(self, long long warp) noexcept
    cdef void raise_semaphore(self, long long cta, long long at) noexcept
    cdef void join(self, long long warp, long long code) noexcept
    cdef void rejoin(self, long long warp) noexcept
    cdef void fill_line(self, long long sm, long long line, long long at) noexcept
    cdef long long wavefronts_of(self, long long warp, long long code) noexcept
    cdef long long service(self, long long wavefronts) noexcept
    @cython.locals(joins=bint, yields=bint, again=bint)
    cdef long long reserve(self, long long stage, long long at, long long cycles, long long written) noexcept
    cdef long long note_writes(self, long long sm, long long at) noexcept
    cdef long long note_lines(self, long long sm, long long at) noexcept
    cdef long long write_zeros(self, long long sm, long long at, long long issued, long long cycles) noexcept
    cdef void looks_up_at(self, long long sm, long long at) noexcept
    cdef bint passes_again(self, long long written, long long cycle, bint again) noexcept
    cdef long long tags(self) noexcept
    cdef long long tag(self, long long sm, long long at, long long cycles) noexcept
    cdef long long places(self) noexcept
    @cython.locals(cache=Lines)
    cdef long long lacked(self, long long sm) noexcept
    cdef long long room_for(self, long long way, long long at, long long places, long long most) noexcept
    cdef void send(self, long long way, long long landed, long long places) noexcept
    cdef void block(self, long long sm, long long at, long long until) noexcept
    cdef long long place_in_queue(self, long long sm, long long behind) noexcept
    cdef void await_load(self, long long sm, long long warp, long long passes, long long landed) noexcept
    cdef void put_off(self, long long sm, long long moved) noexcept
    cdef void free_later(self, long long warp, long long board, long long landed, long long later) noexcept
    cdef long long next_free(self, long long sm, long long at) noexcept
    cdef inline long long states_of(self, long long stage, long long cycle) noexcept
    cdef inline void set_states(self, long long stage, long long cycle, long long states) noexcept
    cdef long long state_of(self, long long stage, long long cycle) noexcept
    cdef void take_cycle(self, long long stage, long long cycle, long long state) noexcept
    cdef void come(self, long long stage, long long at, long long cycles) noexcept
    cdef void take_reads(self, long long smsp, long long at, long long hundredths) noexcept
    cdef inline void take_later(self, long long smsp, long long at, long long hundredths) noexcept
    cdef inline void take_due(self, long long smsp, long long at) noexcept
    cdef long long taken_in(self, long long sm, long long at, long long wavefronts) noexcept
    cdef long long staged_cycles(self, long long wavefronts) noexcept
    cdef long long gaps(self, long long smsp, long long warp, long long at, long long registers) noexcept
    cdef long long between_mma(self, long long smsp, long long warp, long long at, long long registers, long long beside_others) noexcept
    cdef long long beside_mma(self, long long smsp, long long warp, long long at, long long registers) noexcept
    cdef long long boards_free(self, long long warp, long long waits) noexcept
    cdef long long over_before(self, long long code, long long at, long long read) noexcept
    cdef void end_group(self, long long sm, long long warp) noexcept
    cdef long long dispatch(self, long long smsp, long long at, long long cycles, long long registers, long long until, long long warp, long long apart, long long written) noexcept
    cdef long long dispatch_copy(self, long long smsp, long long at, long long cycles, long long registers, long long until, long long warp, long long beside) noexcept
    @cython.locals(alone=bint)
    cdef long long queue_up(self, long long smsp, long long at, long long cycles, long long registers, long long until, long long waits, long long own, long long entries, long long interval, long long apart, long long room, long long beside, long long written, long long way) noexcept
    cdef long long dispatch_output(self, long long smsp, long long at, long long cycles, long long registers, long long room, long long warp, long long written, long long way) noexcept
    cdef void leave_queue(self, long long smsp, long long at, long long registers, long long entries) noexcept
    @cython.locals(comes=bint)
    cdef long long memory(self, long long smsp, long long warp, long long at) noexcept
    cdef long long load(self, long long smsp, long long warp, long long at) noexcept
    @cython.locals(comes=bint, looks_up=bint, blank=bint)
    cdef long long copy_async(self, long long smsp, long long warp, long long at) noexcept
    cdef long long shared(self, long long warp, long long leaves, long long wavefronts) noexcept
    cdef void resolve(self, long long warp, long long code) noexcept
    @cython.locals(cache=Lines)
    cdef long long copy(self, long long sm, long long at, long long issued, long long code) noexcept
    cdef bint has_twin(self, long long touched) noexcept
    cdef bint are_twins(self, long long one, long long other) noexcept
    @cython.locals(cache=Lines)
    cdef long long bring(self, long long sm, long long at, long long issued, long long missing, long long interval) noexcept
    cdef long long pass_in(self, long long sm, long long at, long long interval) noexcept
    @cython.locals(cache=Lines)
    cdef long long look_up(self, long long sm, long long at, long long issued, long long hit, long long interval) noexcept
    cdef long long output_of(self, long long warp, long long code) noexcept
    cdef long long sectors_of_output(self, long long warp, long long code) noexcept
    cdef long long output(self, long long sm, long long warp, long long at, long long leaves, long long sectors) noexcept
