"""Types of ``cache.py`` for Cython."""

cimport cython

cdef long long sectors_in(long long mask) noexcept

cdef long long parts_in(long long mask) noexcept

cdef long long parity(long long ones) noexcept

@cython.final
cdef class Granules:
    cdef long long capacity, end, held, count
    cdef long long[::1] parts, size, older, newer, step, touched, coming
    cdef void unlink(self, long long at) noexcept
    @cython.locals(known=cython.longlong, missing=cython.longlong, brought=cython.longlong, latest=cython.longlong, oldest=cython.longlong, at=cython.longlong)
    cpdef long long touch(self, long long granule, long long parts, long long size) noexcept
    @cython.locals(row_of="const long long[::1]", granule_of="const long long[::1]", parts_of="const long long[::1]", size_of="const long long[::1]", asked="long long[::1]", missed="long long[::1]", slow="long long[::1]", fresh="long long[::1]", row=cython.longlong, granule=cython.longlong, parts=cython.longlong, size=cython.longlong, at=cython.longlong, missing=cython.longlong, one=cython.longlong)
    cpdef walk(self, touched, const long long[::1] step_of, found)

@cython.final
cdef class Lines:
    cdef long long mask, free, fresh, room, oldest, uses
    cdef readonly long long count
    cdef long long[::1] head, chain, line, use, held, ready, dirty, seen, crossed, requester, lands, pending, log
    cdef long long bucket(self, long long line) noexcept
    cdef long long lookup(self, long long line) noexcept
    cdef void log_use(self, long long slot) noexcept
    cdef void drop_stale_uses(self) noexcept
    cdef long long victim(self) noexcept
    cdef long long allocate(self, long long line) noexcept
    cdef long long touch(self, long long line) noexcept
    cdef void evict(self) noexcept
