"""Types of ``mbarriers.py`` for Cython."""

cimport cython

from gpusim.sim.core.barriers cimport Barriers
from gpusim.sim.core.warps cimport Warps

@cython.final
cdef class Mbarriers:
    cdef Warps warps
    cdef Barriers barriers
    cdef long long base, each, remote, per_cta
    cdef const int[::1] arrivals, meets, expects
    cdef const long long[::1] entry, cluster
    cdef long long[::1] at, slot, cta, slot_of, release_at, next_traced, arrived, expected, pending, waiting, last_arrival, waiters, free
    cdef readonly long long[::1] phase, released
    cdef void reset(self, long long slot) noexcept
    cdef void issue(self, long long warp, long long at) noexcept
    cdef void wait(self, long long warp, long long place, long long phase) noexcept
    cdef void arrive(self, long long place, long long at, long long late, long long expected) noexcept
    cdef void reach(self, long long slot, long long entry, long long at, long long size, long long expected) noexcept
    cdef void count(self, long long slot, long long place, long long at, long long size, long long expected) noexcept
    cdef void land(self, long long place, long long size, long long at) noexcept
    cdef void complete(self, long long place) noexcept
