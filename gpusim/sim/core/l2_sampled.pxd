"""Types of ``l2_sampled.py`` for Cython."""

cimport cython

from gpusim.sim.core.cache cimport Lines
from gpusim.sim.core.dram cimport Dram
from gpusim.sim.core.l2 cimport L2
from gpusim.sim.core.l2_arbiter cimport Crossbar, L2Arbiter

@cython.final
cdef class L2Sampled:
    cdef Crossbar crossbar
    cdef L2 l2
    cdef Dram dram
    cdef long long most_lines, share, status, slow_credit, missed_credit, merged_credit, far_credit, brought_credit
    cdef long long later, later_mergeable, next_line, filled_at, added_sectors, displaced, held_sectors, chunk_sectors
    cdef long long last_chunk
    cdef bint splits_line
    cdef const long long[::1] slow, represented, sharers, looked
    cdef long long[::1] stored_in
    @cython.locals(l2=L2)
    cdef long long read_output(self, long long sm, long long at, long long issued, long long sectors, long long slow, long long missed, long long first) noexcept
    @cython.locals(l2=L2)
    cdef long long read_known(self, long long sm, long long at, long long issued, long long sectors, long long slow, long long missed) noexcept
    @cython.locals(l2=L2, lines=Lines, misses=bint, far=bint, in_flight=bint)
    cdef long long read(self, long long sm, long long slot, long long mask, long long start, long long issued) noexcept
    @cython.locals(arbiter=L2Arbiter)
    cdef long long merge_or_charge(self, long long sm, long long start, long long issued, long long asked) noexcept
    cdef void credit_slow(self, long long asked) noexcept
    cdef long long fetch(self, long long bank, long long issued) noexcept
    cdef long long displace(self, long long issued, long long sectors, long long stored) noexcept
