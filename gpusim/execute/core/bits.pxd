"""Types of ``bits.py`` for Cython."""

from gpusim.execute.core.registers cimport Registers

cdef unsigned int table_bits(long long table, unsigned int a, unsigned int b, unsigned int c) noexcept
cdef void logic(Registers r, long long row) noexcept
cdef void predicate_logic(Registers r, long long row) noexcept
cdef void shift(Registers r, long long row) noexcept
cdef void permute(Registers r, long long row) noexcept
cdef long long chosen_byte(long long mode, long long selector, long long byte) noexcept
cdef void sign_extend(Registers r, long long row) noexcept
cdef void bit_mask(Registers r, long long row) noexcept
cdef void count(Registers r, long long row) noexcept
cdef void find_leading(Registers r, long long row) noexcept
cdef void reverse(Registers r, long long row) noexcept
cdef void pack_predicates(Registers r, long long row) noexcept
cdef void unpack_predicates(Registers r, long long row) noexcept
cdef void bit_operation(Registers r, long long row, long long kind) noexcept
