"""Types of ``matrices.py`` for Cython."""

from gpusim.execute.core.registers cimport WarpRegisters

cdef void unpack(WarpRegisters r, long long row, long long first, long long rows, long long place) noexcept
cdef double float_value(unsigned int bits, long long kind) noexcept
cdef void half_product(WarpRegisters r, long long row) noexcept
cdef unsigned int addend(WarpRegisters r, long long row, long long register, long long m, long long n) noexcept
cdef void write_sums(WarpRegisters r, long long row) noexcept
cdef void integer_product(WarpRegisters r, long long row) noexcept
cdef long long part(long long bits, long long width, long long is_signed) noexcept
cdef void double_product(WarpRegisters r, long long row) noexcept
cdef unsigned long long pair_of(WarpRegisters r, long long source, long long register, long long lane) noexcept
cdef void transpose(WarpRegisters r, long long row) noexcept
cdef void matrix_operation(WarpRegisters r, long long row, long long kind) noexcept
