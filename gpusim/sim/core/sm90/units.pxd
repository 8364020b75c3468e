"""Types of ``units.py`` for Cython."""

cimport cython

from gpusim.sim.core.lsu cimport Lsu
from gpusim.sim.core.sm90.mbarriers cimport Mbarriers
from gpusim.sim.core.sm90.tma cimport Tma
from gpusim.sim.core.sm90.wgmma cimport WgmmaQueues
from gpusim.sim.core.warps cimport Warps

@cython.final
cdef class Sm90:
    cdef Warps warps
    cdef Lsu lsu
    cdef readonly Mbarriers mbarriers
    cdef readonly Tma tma
    cdef readonly WgmmaQueues wgmma
    cdef const int[::1] kind, pending
    cdef long long[::1] at, sm_of
    cdef long long issue(self, long long smsp, long long warp, long long at) noexcept
    cdef void gate(self, long long warp, long long code) noexcept
