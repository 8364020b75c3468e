"""Types of ``halves.py`` for Cython."""

cimport cython

from gpusim.execute.core.registers cimport WarpRegisters

@cython.locals(upper=cython.longlong)
cdef double half_operand(WarpRegisters r, long long row, long long place, long long lane, long long high) noexcept
cdef unsigned int sum_as_half(double product, double c, long long kind) noexcept
cdef unsigned int settled_half(unsigned int bits, long long kind, long long form) noexcept
cdef void half_arithmetic(WarpRegisters r, long long row, long long kind) noexcept
cdef void half_extreme(WarpRegisters r, long long row) noexcept
cdef void half_compare(WarpRegisters r, long long row) noexcept
cdef void half_operation(WarpRegisters r, long long row, long long kind) noexcept
