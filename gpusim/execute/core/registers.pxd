"""Types of ``registers.py`` for Cython."""

cimport cython

@cython.final
cdef class WarpRegisters:
    cdef object held
    cdef long long* code
    cdef unsigned int* file
    cdef unsigned int* predicates
    cdef unsigned int* s
    cdef unsigned int* sums
    cdef public long long base, first, mask, constants, all
    cpdef void choose(self, long long warp) noexcept

cdef void reset(WarpRegisters r, long long count) noexcept
cdef void fill(WarpRegisters r, long long number, long long value) noexcept
cdef long long place_of(WarpRegisters r, long long source) noexcept
cdef void fetch(WarpRegisters r, long long row, long long source, long long place) noexcept
cdef void fetch_high(WarpRegisters r, long long row, long long source, long long place) noexcept
cdef void fetch_pair(WarpRegisters r, long long row, long long source, long long place) noexcept
cdef void store(WarpRegisters r, long long row) noexcept
cdef void store_high(WarpRegisters r, long long row) noexcept
cdef void keep_row(WarpRegisters r, long long number, long long place, long long uniform) noexcept
cdef long long tested(WarpRegisters r, long long row, long long column) noexcept
cdef void set_predicate(WarpRegisters r, long long number, long long lanes, long long uniform) noexcept
cdef void set_both(WarpRegisters r, long long row, long long holds, long long other) noexcept
