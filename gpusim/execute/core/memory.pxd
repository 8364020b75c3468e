"""Types of ``memory.py`` for Cython."""

cimport cython

from gpusim.execute.core.registers cimport Registers

@cython.final
cdef class Memory:
    cdef object held, held_addresses
    cdef unsigned char* global_bytes
    cdef unsigned char* shared
    cdef unsigned char* local
    cdef long long* allocations
    cdef long long* addresses
    cdef public long long count, shared_size, stack, fault, fault_lane, fault_address, fault_space, last, warp, space, size
    cpdef void take(self, long long[::1] addresses)

cdef long long wrong(Memory m, long long fault, long long lane, long long address, long long space) noexcept
cdef long long global_place(Memory m, long long lane, long long address, long long size) noexcept
cdef long long place_in(Memory m, long long lane, long long address, long long size, long long space) noexcept
cdef unsigned int read_word(Memory m, long long place, long long size) noexcept
cdef void write_word(Memory m, long long place, long long size, unsigned int word) noexcept
cdef void find_addresses(Memory m, Registers r, long long row) noexcept
cdef void load(Memory m, Registers r, long long row) noexcept
cdef void store_lanes(Memory m, Registers r, long long row) noexcept
cdef void load_constant(Memory m, Registers r, long long row) noexcept
cdef void copy(Memory m, Registers r, long long row) noexcept
cdef void load_matrix(Memory m, Registers r, long long row) noexcept
