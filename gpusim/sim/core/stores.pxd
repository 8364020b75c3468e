"""Types of ``stores.py`` for Cython."""

cimport cython

from gpusim.sim.core.cache cimport sectors_in
from gpusim.sim.core.l2 cimport L2
from gpusim.sim.core.l2_arbiter cimport Crossbar, L2Arbiter
from gpusim.sim.core.l2_sampled cimport L2Sampled

@cython.final
cdef class Stores:
    cdef Crossbar crossbar
    cdef L2Sampled sampled
    cdef L2 l2
    cdef L2Arbiter arbiter
    cdef bint simulated
    cdef long long store_buffer, port_bytes, most_waiting, write_latency, unwritten
    cdef readonly long long stored_bytes, acknowledged
    cdef long long[::1] store_free, stored_at, port_exit, waiting, waiting_at, waiting_sectors, first_waiting, next_waiting
    cdef long long leaves, least_bytes, mask_bytes, atomic_bytes, atomic_latency, sector_percent, lane_percent, float_percent
    cdef const long long[::1] line, sector_mask, masked, passes
    cdef long long store_lines(self, long long sm, long long at, long long issued, long long first, long long end, long long base, long long atomic) noexcept
    cdef long long request(self, long long sm, long long at, long long issued, long long port_size, long long size) noexcept
    cdef void pass_port(self, long long sm, long long start, long long sectors) noexcept
    cdef long long room_at_port(self, long long sm) noexcept
    cdef long long store(self, long long sm, long long at, long long issued, long long sectors) noexcept
    @cython.locals(full=bint)
    cdef long long room_behind_port(self, long long sm, long long start, long long sectors) noexcept
