"""Types of ``access_counts.py`` for Cython."""

cimport cython

@cython.final
cdef class AccessCounts:
    cdef object held
    cdef long long* code
    cdef long long* counts
    cdef long long* s
    cpdef void add(self, long long[:] steps, long long[:] lanes, long long[:] accesses, long long[:, :] addresses)

cdef void count_access(AccessCounts x, long long at, long long mask, long long second) noexcept
cdef void count_generic(AccessCounts x, long long place, long long mask, long long size, long long loads) noexcept
cdef void count_shared(AccessCounts x, long long place, long long mask, long long size, long long loads) noexcept
cdef long long share_in_pairs(AccessCounts x, long long mask) noexcept
cdef long long wavefronts(AccessCounts x, long long mask, long long width, long long lanes) noexcept
cdef void count_repeats(AccessCounts x, long long place, long long mask) noexcept
cdef void count_global(AccessCounts x, long long place, long long mask, long long size) noexcept
cdef long long find(AccessCounts x, long long value, long long column) noexcept
