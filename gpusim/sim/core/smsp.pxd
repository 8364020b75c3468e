"""Types of ``smsp.py`` for Cython."""

cimport cython

from gpusim.sim.core.barriers cimport Barriers
from gpusim.sim.core.log cimport WarpRecord
from gpusim.sim.core.lsu cimport Coalescer, Lsu
from gpusim.sim.core.mio cimport Mio
from gpusim.sim.core.sm90.units cimport Sm90
from gpusim.sim.core.warps cimport Warps

@cython.final
cdef class Smsp:
    cdef Barriers barriers
    cdef Sm90 sm90
    cdef Coalescer coalescer
    cdef Lsu lsu
    cdef Mio mio
    cdef WarpRecord record
    cdef Warps warps
    cdef long long mufu_dispatch, chosen_at, others_at, tensor_port, mio_port
    cdef readonly long long instructions
    cdef const int[::1] kind, port, throttle, interval, latency, stall, gated, waits, write, is_branch, dispatches
    cdef long long pass_latency
    cdef bint counts_instructions
    cdef long long[::1] by_instruction, before
    cdef const int[::1] mma_hundredths, pending, awaits, activity
    cdef const long long[::1] trips, tiles, first, end
    cdef long long[::1] stalls, asleep, clock, planned, planned_others, active, blocked, last, sm_of, dispatch_free, mma_carry
    cdef long long[::1] last_mma, members, reads_first, reads_next, reads_at, reads_delay, port_free, port_user, port_next
    cdef long long[::1] port_taken, ready, port_of, age, number, issued, at, stalled, reason, home, segment, trip
    cdef long long[::1] release_at, at_barrier, watched, drained, board, board_reason
    cdef long long horizon(self, long long smsp, long long now) noexcept
    cdef inline long long choose(self, long long smsp, long long clock) noexcept
    @cython.locals(same=bint, own=bint)
    cdef long long issue_from(self, long long smsp, long long now) noexcept
    cdef void log_take(self, long long port, long long at) noexcept
    cdef inline void issue_pipe(self, long long smsp, long long warp, long long at) noexcept
    cdef long long issue_passes(self, long long warp, long long at) noexcept
    cdef inline void issue_beyond(self, long long smsp, long long warp, long long at) noexcept
    cdef void delay_mma(self, long long smsp, long long at, long long hundredths) noexcept
    cdef inline void note_reads(self, long long smsp, long long at, long long hundredths) noexcept
    cdef inline void delay_by_reads(self, long long smsp, long long at) noexcept
    @cython.locals(record=WarpRecord)
    cdef inline void account(self, long long warp, long long at, long long free, long long throttle) noexcept
    cdef void account_by_instruction(self, long long warp, long long at, long long free, long long throttle) noexcept
    cdef long long throttled(self, long long warp, long long begin, long long free, long long reason) noexcept
    cdef void note(self, long long warp, long long at, long long landed) noexcept
    cdef inline void advance(self, long long warp, long long at) noexcept
    cdef long long next_trip(self, long long warp, long long segment) noexcept
    cdef inline void gate(self, long long warp, long long code) noexcept
