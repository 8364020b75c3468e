"""Types of ``log.py`` for Cython."""

cimport cython

@cython.final
cdef class Log:
    cdef readonly object column
    cdef object rows
    cdef long long[::1] block
    cdef long long width, filled
    cdef long long row(self) noexcept
    cpdef flush(self)

@cython.final
cdef class WarpRecord:
    cdef readonly long long[::1] stalls, by_instruction
    cdef long long[::1] number, watched
    cdef readonly Log notes, spans
    cdef long long charge(self, long long warp, long long begin, long long end, long long reason) noexcept
    @cython.locals(spans=Log)
    cdef void span(self, long long warp, long long begin, long long end, long long reason) noexcept
    @cython.locals(notes=Log)
    cdef void note(self, long long warp, long long place, long long tiles, long long at, long long landed, long long stalled) noexcept
    cpdef flush(self)
