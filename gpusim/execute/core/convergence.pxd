"""Types of ``convergence.py`` for Cython."""

cimport cython

@cython.final
cdef class Convergence:
    cdef object held
    cdef long long* state
    cdef public long long first, fault
    cpdef void choose(self, long long warp) noexcept

cdef void put_off(Convergence c, long long at, long long lanes) noexcept
cdef long long branch(Convergence c, long long at, long long target, long long taken) noexcept
cdef long long rotate(Convergence c, long long at) noexcept
cdef long long hold(Convergence c, long long at, long long key, long long arrived, long long lanes) noexcept
cdef long long meet(Convergence c, long long at, long long key, long long arrived, long long lanes) noexcept
cdef long long let_go(Convergence c, long long key, long long lanes) noexcept
cdef long long arrived_lanes(Convergence c, long long here) noexcept
cdef void separate(Convergence c) noexcept
cdef long long members(Convergence c, long long key, long long lanes) noexcept
cdef long long converge(Convergence c, long long at, long long key) noexcept
cdef long long pass_warpsync(Convergence c) noexcept
cdef long long next_group(Convergence c) noexcept
cdef long long leave(Convergence c, long long at, long long lanes) noexcept
cdef void start(Convergence c, long long lanes) noexcept
