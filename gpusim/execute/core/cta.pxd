"""Types of ``cta.py`` for Cython."""

cimport cython

from gpusim.execute.core.registers cimport WarpRegisters
from gpusim.execute.core.memory cimport CtaMemory
from gpusim.execute.core.convergence cimport Convergence
from gpusim.execute.core.trace cimport Trace

@cython.final
cdef class Cta:
    cdef public WarpRegisters r
    cdef public CtaMemory m
    cdef public Convergence c
    cdef public Trace t
    cdef object held
    cdef long long* barriers
    cdef public long long instructions, warps, warp, at, fault
    cpdef void begin(self, long long threads, long long registers, long long x, long long y, long long z)
    cpdef long long run(self, long long turn)

cdef long long finished(Cta x) noexcept
cdef long long released(Cta x) noexcept
@cython.locals(living=cython.longlong, expected=cython.longlong)
cdef void release(Cta x) noexcept
cdef long long spins(Cta x, long long at) noexcept
cdef long long run_warp(Cta x, long long turn) noexcept
cdef long long stop(Cta x, long long at, long long fault) noexcept
cdef void operate(Cta x, long long row, long long kind) noexcept
cdef void access(Cta x, long long row, long long kind) noexcept
cdef long long control(Cta x, long long at, long long row, long long kind) noexcept
cdef long long first_lane(WarpRegisters r) noexcept
@cython.locals(whole=cython.longlong)
cdef long long taken_branch(Cta x, long long at, long long row) noexcept
cdef long long indexed_branch(Cta x, long long at, long long row) noexcept
cdef void convergence_word(Cta x, long long row, long long kind) noexcept
cdef void read_clock(Cta x, long long row) noexcept
cdef long long arrive(Cta x, long long at, long long row) noexcept
