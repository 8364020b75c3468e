"""Types of ``halves.py`` for Cython."""

from gpusim.execute.core.registers cimport Registers

cdef double half_operand(Registers r, long long row, long long place, long long lane, long long high) noexcept
cdef unsigned int sum_as_half(double product, double c, long long kind) noexcept
cdef unsigned int settled_half(unsigned int bits, long long kind, long long form) noexcept
cdef void half_arithmetic(Registers r, long long row, long long kind) noexcept
cdef void half_extreme(Registers r, long long row) noexcept
cdef void half_compare(Registers r, long long row) noexcept
cdef void half_operation(Registers r, long long row, long long kind) noexcept
