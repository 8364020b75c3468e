"""Types of ``atomics.py`` for Cython."""

cimport cython

from gpusim.execute.core.registers cimport WarpRegisters
from gpusim.execute.core.memory cimport CtaMemory

cdef void atomic(CtaMemory m, WarpRegisters r, long long row) noexcept
@cython.locals(less=cython.longlong)
cdef unsigned long long updated(long long operation, long long number, unsigned long long old, unsigned long long operand, unsigned long long other) noexcept
cdef unsigned long long added(long long number, unsigned long long old, unsigned long long operand) noexcept
