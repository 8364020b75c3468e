"""Types of ``icache.py`` for Cython."""

cimport cython

@cython.final
cdef class ICache:
    cdef long long miss, stream_lines, interval, held_lines, lines
    cdef long long[::1] ready, streamed, free, fetched, held
    cdef long long fetch(self, long long sm, long long line, long long at) noexcept
    cdef void fill(self, long long sm, long long line, long long at) noexcept
