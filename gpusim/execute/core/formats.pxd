"""Types of ``formats.py`` for Cython."""

cimport cython

@cython.locals(up=cython.longlong, outward=cython.longlong)
cdef unsigned int narrowed(unsigned long long bits, long long sticky, long long exponent_bits, long long mantissa_bits, long long rounding) noexcept
cdef unsigned int packed_half(unsigned long long bits, long long kind, long long rounding) noexcept
cdef unsigned int wide_half(unsigned int bits) noexcept
cdef unsigned int wide_of_half(unsigned int bits, long long kind) noexcept
cdef unsigned int packed_eight(double value, long long kind) noexcept
cdef unsigned int half_of_eight(unsigned int bits, long long kind) noexcept
cdef unsigned int flushed(unsigned int bits, long long flush) noexcept
