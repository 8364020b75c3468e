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
