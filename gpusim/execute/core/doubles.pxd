"""Types of ``doubles.py`` for Cython."""

from gpusim.execute.core.registers cimport WarpRegisters

cdef double double_at(WarpRegisters r, long long place, long long lane) noexcept
cdef void double_operation(WarpRegisters r, long long row, long long kind) noexcept
cdef void double_compare(WarpRegisters r, long long row) noexcept
cdef long long first_is_extreme(double a, double b, long long extreme) noexcept
