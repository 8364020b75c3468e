"""Types of ``barriers.py`` for Cython."""

cimport cython

from gpusim.sim.core.log cimport WarpRecord
from gpusim.sim.core.warps cimport Warps

@cython.final
cdef class Barriers:
    cdef WarpRecord record
    cdef Warps warps
    cdef long long base, each
    cdef const int[::1] joins, awaits
    cdef long long[::1] at, slot, cta, barred, held, watched, free, arrived, last_arrival, arrivals
    @cython.locals(warps=Warps)
    cdef bint arrive(self, long long warp, long long at) noexcept
    cdef long long soonest_release(self, long long now) noexcept
    cdef void release(self, long long warp, long long at) noexcept
    cdef void join(self, long long warp, long long code) noexcept
