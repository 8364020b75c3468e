"""Types of ``floats.py`` for Cython."""

cimport cython

from gpusim.execute.core.registers cimport WarpRegisters

cdef unsigned int settled(unsigned int bits, long long form, long long flush) noexcept
cdef void float_add(WarpRegisters r, long long row) noexcept
cdef void float_multiply(WarpRegisters r, long long row) noexcept
cdef void float_fused(WarpRegisters r, long long row) noexcept
cdef unsigned int directed(double a, double b, double c, long long rounding) noexcept
cdef void float_extreme(WarpRegisters r, long long row) noexcept
@cython.locals(less=cython.longlong)
cdef unsigned int extreme_of(unsigned int a, unsigned int b, long long least, long long propagates) noexcept
cdef long long float_compared(long long relation, double a, double b) noexcept
cdef long long compare_lanes(WarpRegisters r, long long row) noexcept
cdef void float_compare(WarpRegisters r, long long row) noexcept
cdef void set_word(WarpRegisters r, long long row) noexcept
@cython.locals(careful=cython.longlong, holds=cython.longlong)
cdef void float_check(WarpRegisters r, long long row) noexcept
cdef void float_function(WarpRegisters r, long long row) noexcept
cdef double function_of(long long which, double value) noexcept
cdef void float_select(WarpRegisters r, long long row) noexcept
cdef void float_operation(WarpRegisters r, long long row, long long kind) noexcept
