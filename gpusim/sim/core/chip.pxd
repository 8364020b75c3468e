"""Types of ``chip.py`` for Cython."""

cimport cython

from gpusim.sim.core.barriers cimport Barriers
from gpusim.sim.core.calendar cimport Calendar
from gpusim.sim.core.data_stage cimport DataStage
from gpusim.sim.core.dram cimport Dram
from gpusim.sim.core.l1 cimport L1
from gpusim.sim.core.l2 cimport L2
from gpusim.sim.core.l2_arbiter cimport Crossbar
from gpusim.sim.core.l2_sampled cimport L2Sampled
from gpusim.sim.core.log cimport Log, WarpRecord
from gpusim.sim.core.lsu cimport Lsu
from gpusim.sim.core.mio cimport Mio
from gpusim.sim.core.sm90.mbarriers cimport Mbarriers
from gpusim.sim.core.sm90.tma cimport Tma
from gpusim.sim.core.sm90.units cimport Sm90
from gpusim.sim.core.sm90.wgmma cimport WgmmaQueues
from gpusim.sim.core.smsp cimport Smsp
from gpusim.sim.core.stores cimport Stores
from gpusim.sim.core.warps cimport Warps

@cython.final
cdef class Chip:
    cdef readonly Barriers barriers
    cdef Calendar calendar
    cdef Crossbar crossbar
    cdef readonly DataStage data_stage
    cdef readonly Dram dram
    cdef readonly L1 l1
    cdef readonly L2 l2
    cdef L2Sampled l2_sampled
    cdef Lsu lsu
    cdef readonly Mbarriers mbarriers
    cdef Mio mio
    cdef WarpRecord record
    cdef readonly Smsp smsp
    cdef readonly Stores stores
    cdef readonly Tma tma
    cdef readonly WgmmaQueues wgmma
    cdef readonly Sm90 sm90
    cdef Warps warps
    cdef long long width, past_smsps, turn_of_tma
    cdef readonly long long sms, slots, now, ended_at, ended_sm, ended_launched
    cdef readonly Log notes, spans
    cdef long long[::1] asleep
    cdef readonly long long[::1] stalls, by_instruction
    @cython.locals(barriers=Barriers, calendar=Calendar, warps=Warps, smsp=Smsp)
    cpdef long long run(self) except *
    cpdef hand(self, long long sm, long long cta, long long at, long long observed)
