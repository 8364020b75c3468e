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
    cdef long long[::1] at, slot, cta, number, barred, held, watched, free, arrived, expected, phase, pending
    cdef long long[::1] last_arrival, released, waiting, waiters, awaited
    cdef void reset(self, long long slot) noexcept
    cdef bint meet(self, long long warp, long long at) noexcept
    cdef void wait(self, long long warp, long long place) noexcept
    cpdef bint complete_bytes(self, long long slot, long long barrier, long long size, long long at) noexcept
    @cython.locals(place=cython.longlong, waiter=cython.longlong, first=cython.longlong)
    cpdef list awaited_phases(self)
    cdef bint take(self, long long place, long long at) noexcept
    cdef long long soonest_release(self, long long now) noexcept
    cdef void release(self, long long warp, long long at) noexcept
    cdef void join(self, long long warp, long long code) noexcept
