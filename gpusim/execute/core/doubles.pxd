"""Types of ``doubles.py`` for Cython."""

from gpusim.execute.core.registers cimport Registers

cdef double double_at(Registers r, long long place, long long lane) noexcept
cdef void double_operation(Registers r, long long row, long long kind) noexcept
cdef void double_compare(Registers r, long long row) noexcept
