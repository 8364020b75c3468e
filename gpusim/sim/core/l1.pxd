"""Types of ``l1.py`` for Cython."""

cimport cython

from gpusim.sim.core.cache cimport Lines
from gpusim.sim.core.data_stage cimport DataStage
from gpusim.sim.core.l2 cimport L2
from gpusim.sim.core.l2_arbiter cimport Crossbar
from gpusim.sim.core.l2_sampled cimport L2Sampled

@cython.final
cdef class L1:
    cdef Crossbar crossbar
    cdef DataStage data_stage
    cdef L2 l2
    cdef L2Sampled sampled
    cdef bint simulates_l2
    cdef long long most_lines, load_hit, line_interval, sms, missed_lines, pending_lines
    cdef const long long[::1] asked, touched, line, sector_mask
    cdef list caches
    cdef readonly long long[::1] sectors
    @cython.locals(cache=Lines)
    cdef long long count_missing(self, long long sm, long long request, long long base) noexcept
    @cython.locals(cache=Lines)
    cdef long long look_up(self, long long sm, long long request, long long base, long long at, long long issued, long long hit, long long interval) noexcept
    @cython.locals(cache=Lines, lines=Lines)
    cdef long long read_missing(self, long long sm, long long request, long long base, long long at, long long issued, long long missing, long long interval) noexcept
    cdef long long pass_line(self, long long sm, long long at, long long interval) noexcept
