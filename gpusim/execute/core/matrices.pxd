"""Types of ``matrices.py`` for Cython."""

from gpusim.execute.core.registers cimport Registers

cdef unsigned int element(Registers r, long long first, long long row, long long k, long long form) noexcept
cdef double float_value(unsigned int bits, long long kind) noexcept
cdef void half_product(Registers r, long long row) noexcept
cdef unsigned int addend(Registers r, long long row, long long register, long long m, long long n) noexcept
cdef void write_sums(Registers r, long long row) noexcept
cdef void integer_product(Registers r, long long row) noexcept
cdef long long part(long long bits, long long width, long long is_signed) noexcept
cdef void transpose(Registers r, long long row) noexcept
cdef void matrix_operation(Registers r, long long row, long long kind) noexcept
