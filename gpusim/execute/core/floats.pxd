"""Types of ``floats.py`` for Cython."""

from gpusim.execute.core.registers cimport Registers

cdef unsigned int settled(unsigned int bits, long long form, long long flush) noexcept
cdef void float_add(Registers r, long long row) noexcept
cdef void float_multiply(Registers r, long long row) noexcept
cdef void float_fused(Registers r, long long row) noexcept
cdef unsigned int directed(float a, float b, double c, long long rounding) noexcept
cdef void float_extreme(Registers r, long long row) noexcept
cdef unsigned int extreme_of(unsigned int a, unsigned int b, long long least, long long propagates) noexcept
cdef long long float_compared(long long relation, double a, double b) noexcept
cdef long long compare_lanes(Registers r, long long row) noexcept
cdef void float_compare(Registers r, long long row) noexcept
cdef void set_word(Registers r, long long row) noexcept
cdef void float_check(Registers r, long long row) noexcept
cdef void float_function(Registers r, long long row) noexcept
cdef double function_of(long long which, double value) noexcept
cdef void float_select(Registers r, long long row) noexcept
cdef void float_operation(Registers r, long long row, long long kind) noexcept
