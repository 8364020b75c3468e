"""Types of ``conversions.py`` for Cython."""

cimport cython

from gpusim.execute.core.registers cimport WarpRegisters

cdef double wide_of(WarpRegisters r, long long place, long long lane, long long kind) noexcept
cdef void write_as(WarpRegisters r, long long lane, double value, long long kind, long long rounding) noexcept
cdef void float_convert(WarpRegisters r, long long row) noexcept
cdef void fetch_source(WarpRegisters r, long long row, long long kind) noexcept
cdef double whole_of(double value, long long rounding) noexcept
cdef void round_whole(WarpRegisters r, long long row) noexcept
cdef void to_integer(WarpRegisters r, long long row) noexcept
cdef unsigned long long clamped(double value, long long bits, long long of_double) noexcept
cdef void from_integer(WarpRegisters r, long long row) noexcept
@cython.locals(up=cython.longlong)
cdef void write_long(WarpRegisters r, long long lane, unsigned long long value, long long kind, long long rounding) noexcept
cdef void float_pack(WarpRegisters r, long long row) noexcept
cdef void eight_pack(WarpRegisters r, long long row) noexcept
cdef void eight_unpack(WarpRegisters r, long long row) noexcept
cdef unsigned int half_of(unsigned int bits, long long kind, long long rounding) noexcept
cdef void conversion(WarpRegisters r, long long row, long long kind) noexcept
