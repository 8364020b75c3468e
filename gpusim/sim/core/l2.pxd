"""Types of ``l2.py`` for Cython."""

cimport cython

from gpusim.sim.core.cache cimport Lines
from gpusim.sim.core.dram cimport Dram, hashed
from gpusim.sim.core.l2_arbiter cimport L2Arbiter

@cython.final
cdef class L2:
    cdef Lines lines
    cdef L2Arbiter arbiter
    cdef Dram dram
    cdef long long near, far, far_percent, hop, home_bits, most_lines, most_merged, merge_window, gpcs, next_line, far_phase
    cdef long long fetch_sectors, read_sectors, taken
    cdef long long[::1] updated_until
    cdef long long slices
    cdef readonly long long sectors, looked_up, written_back
    cdef long long[::1] sm_offset, gpc, side, merge_table
    cdef long long hit_latency(self, long long sm) noexcept
    cdef bint is_far(self, long long sm, long long line) noexcept
    @cython.locals(lines=Lines, arbiter=L2Arbiter, far=bint, same=bint)
    cdef long long read(self, long long sm, long long slot, long long mask, long long start, long long issued) noexcept
    cdef long long read_box_line(self, long long sm, long long line, long long mask, long long start, long long issued) noexcept
    cdef long long taken_with(self, long long mask) noexcept
    cdef long long brought_with(self, long long mask) noexcept
    cdef long long read_dram(self, long long line, long long start, long long size, long long issued) noexcept
    cdef long long merge_entry(self, long long sm, long long slot) noexcept
    cdef void clear_merges(self, long long slot) noexcept
    cdef long long store_line(self, long long issued) noexcept
    cdef long long write(self, long long line, long long mask, long long masked, long long start, long long issued) noexcept
    @cython.locals(lines=Lines)
    cdef long long update(self, long long sm, long long line, long long mask, long long start, long long issued, long long busy) noexcept
    cdef long long slice_of(self, long long line) noexcept
    cdef long long make_room(self, long long issued) noexcept
