"""Types of ``bits.py`` for Cython."""

cimport cython

from gpusim.execute.core.registers cimport WarpRegisters

cdef unsigned int table_bits(long long table, unsigned int a, unsigned int b, unsigned int c) noexcept
@cython.locals(some=cython.longlong, also=cython.longlong)
cdef void logic(WarpRegisters r, long long row) noexcept
cdef void predicate_logic(WarpRegisters r, long long row) noexcept
cdef void shift(WarpRegisters r, long long row) noexcept
cdef void permute(WarpRegisters r, long long row) noexcept
cdef long long chosen_byte(long long mode, long long selector, long long byte) noexcept
cdef void sign_extend(WarpRegisters r, long long row) noexcept
cdef void bit_mask(WarpRegisters r, long long row) noexcept
cdef void count(WarpRegisters r, long long row) noexcept
cdef void find_leading(WarpRegisters r, long long row) noexcept
cdef void reverse(WarpRegisters r, long long row) noexcept
cdef void pack_predicates(WarpRegisters r, long long row) noexcept
cdef void unpack_predicates(WarpRegisters r, long long row) noexcept
cdef void bit_operation(WarpRegisters r, long long row, long long kind) noexcept
