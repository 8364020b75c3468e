"""Types of ``atomics.py`` for Cython."""

from gpusim.execute.core.registers cimport Registers
from gpusim.execute.core.memory cimport Memory

cdef void atomic(Memory m, Registers r, long long row) noexcept
cdef unsigned long long updated(long long operation, long long number, unsigned long long old, unsigned long long operand, unsigned long long other) noexcept
cdef unsigned long long added(long long number, unsigned long long old, unsigned long long operand) noexcept
