"""Types of ``tma.py`` for Cython."""

cimport cython

from gpusim.sim.core.cache cimport sectors_in
from gpusim.sim.core.calendar cimport Calendar
from gpusim.sim.core.l2 cimport L2
from gpusim.sim.core.l2_arbiter cimport Crossbar
from gpusim.sim.core.lsu cimport Lsu
from gpusim.sim.core.sm90.mbarriers cimport Mbarriers
from gpusim.sim.core.stores cimport Stores
from gpusim.sim.core.warps cimport Warps

@cython.final
cdef class Tma:
    cdef Warps warps
    cdef Mbarriers mbarriers
    cdef Crossbar crossbar
    cdef L2 l2
    cdef Lsu lsu
    cdef Stores stores
    cdef Calendar calendar
    cdef long long row_time, box_time, store_latency, width
    cdef readonly long long lines, turn
    cdef const int[::1] expects
    cdef const long long[::1] entry, base, touched, line, mask
    cdef long long[::1] at, slot, next_traced, drained, stores_taken, first_box, next_box, free
    cdef long long[::1] box_of, box_base, box_slot, box_bytes, next_line, begun, landed, stored, read_until
    cdef void load(self, long long sm, long long warp, long long at) noexcept
    cdef void serve(self, long long sm, long long now) noexcept
    cdef inline void request_line(self, long long sm, long long touched, long long base, long long now) noexcept
    cdef void store(self, long long sm, long long warp, long long at) noexcept
    cdef long long read_complete(self, long long warp, long long pending) noexcept
