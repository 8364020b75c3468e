"""Types of ``wgmma.py`` for Cython."""

cimport cython

from gpusim.sim.core.warps cimport Warps

@cython.final
cdef class WgmmaQueues:
    cdef Warps warps
    cdef readonly long long busy, queue
    cdef long long start, finish, width
    cdef const int[::1] interval, pending
    cdef long long[::1] at, open_group, free, issued, begins
    cdef long long issue(self, long long smsp, long long warp, long long at) noexcept
    cdef long long room(self, long long warp) noexcept
