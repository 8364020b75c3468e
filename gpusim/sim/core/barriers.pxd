"""Types of ``barriers.py`` for Cython."""

cimport cython

from gpusim.sim.core.log cimport WarpRecord
from gpusim.sim.core.warps cimport Warps

@cython.final
cdef class Barriers:
    cdef WarpRecord record
    cdef Warps warps
    cdef long long base, each, per_cta
    cdef const int[::1] joins, awaits, barrier, arrivals, meets, expects
    cdef long long[::1] at, slot, cta, number, release_at, at_barrier, watched, free, arrived, expected, phase, pending
    cdef long long[::1] expects_all, last_arrival, released, waiting, waiters, awaited_phase
    cdef void reset(self, long long slot) noexcept
    cdef bint issue(self, long long warp, long long at) noexcept
    cdef void wait(self, long long warp, long long place) noexcept
    cpdef bint complete_bytes(self, long long slot, long long barrier, long long size, long long at) noexcept
    @cython.locals(place=cython.longlong, waiter=cython.longlong, first=cython.longlong)
    cpdef list awaited_phases(self)
    cdef void leave(self, long long slot) noexcept
    cdef bint complete(self, long long place) noexcept
    cdef bint count_arrival(self, long long place, long long at) noexcept
    cdef long long soonest_release(self, long long now) noexcept
    cdef void release(self, long long warp, long long at) noexcept
    cdef void wait_for_release(self, long long warp, long long code) noexcept
