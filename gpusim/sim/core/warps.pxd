"""Types of ``warps.py`` for Cython."""

cimport cython

from gpusim.sim.core.calendar cimport Calendar
from gpusim.sim.core.icache cimport ICache
from gpusim.sim.core.log cimport WarpRecord

@cython.final
cdef class Warps:
    cdef Calendar calendar
    cdef ICache icache
    cdef WarpRecord record
    cdef long long launch_delay, constant_miss, semaphore, smsps, slots, most_warps, width, past_smsps, ended
    cdef long long ended_at, ended_sm, ended_launched
    cdef const int[::1] icache_line, port, waits, awaits
    cdef const long long[::1] first, begins, warps_of, program, follows, followed
    cdef long long[::1] sm_of, asleep, planned, active, blocked, members, cold, cta, expected, soonest, launched
    cdef long long[::1] remaining, stores_taken, observed, slice_waiting, slice_waiters, finished, slot_of, ready, port_of, age
    cdef long long[::1] number, issued, at, stalled, reason, home, segment, trip, release_at, at_barrier, watched, slot
    cdef long long[::1] return_free, committed, open_group, drained, board, board_reason, written, commit_lookup
    cdef long long[::1] loads_free, group_done, next_traced, acknowledged
    cdef const long long[::1] first_traced
    cdef bint has_traces
    cdef void hand(self, long long sm, long long cta, long long at, long long observed) noexcept
    cdef long long next_launch(self, long long sm, long long now) noexcept
    cdef void launch(self, long long slot, long long at) noexcept
    cdef long long emptiest(self, long long sm) noexcept
    cdef void start(self, long long warp, long long slot, long long number, long long smsp, long long at) noexcept
    cdef void leave(self, long long warp, long long at) noexcept
    cdef void wake(self, long long smsp, long long at) noexcept
    cdef void remove(self, long long smsp, long long warp) noexcept
    cdef void block(self, long long warp) noexcept
    cdef void unblock(self, long long warp) noexcept
    cdef void wait_until(self, long long warp, long long cycle, long long reason) noexcept
    cdef void fetch(self, long long warp) noexcept
    cdef void hold_board(self, long long warp, long long board, long long free, long long reason) noexcept
    cdef void delay_load(self, long long warp, long long board, long long landed, long long later) noexcept
    cdef void commit(self, long long warp) noexcept
    cdef long long group_complete(self, long long warp, long long pending) noexcept
    cdef void await_slice(self, long long warp) noexcept
    cdef void raise_semaphore(self, long long cta, long long at) noexcept
