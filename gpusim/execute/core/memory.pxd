"""Types of ``memory.py`` for Cython."""

cimport cython

from gpusim.execute.core.registers cimport WarpRegisters

@cython.final
cdef class CtaMemory:
    cdef object held, held_addresses
    cdef unsigned char* global_bytes
    cdef unsigned char* shared
    cdef unsigned char* local
    cdef long long* allocations
    cdef long long* addresses
    cdef public long long count, shared_size, stack, fault, fault_lane, fault_address, fault_space, last, warp, space, size
    cpdef void take(self, long long[::1] addresses)

cdef void clear_shared(CtaMemory m) noexcept
cdef long long wrong(CtaMemory m, long long fault, long long lane, long long address, long long space) noexcept
cdef long long global_place(CtaMemory m, long long lane, long long address, long long size) noexcept
cdef long long place_in(CtaMemory m, long long lane, long long address, long long size, long long space) noexcept
cdef unsigned int read_word(CtaMemory m, long long place, long long size) noexcept
cdef void write_word(CtaMemory m, long long place, long long size, unsigned int word) noexcept
cdef void find_addresses(CtaMemory m, WarpRegisters r, long long row) noexcept
cdef void load(CtaMemory m, WarpRegisters r, long long row) noexcept
cdef void store_lanes(CtaMemory m, WarpRegisters r, long long row) noexcept
cdef void load_constant(CtaMemory m, WarpRegisters r, long long row) noexcept
cdef void copy(CtaMemory m, WarpRegisters r, long long row) noexcept
cdef void load_matrix(CtaMemory m, WarpRegisters r, long long row) noexcept
