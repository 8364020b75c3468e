"""Types of ``trace.py`` for Cython."""

cimport cython

from gpusim.execute.core.memory cimport CtaMemory

@cython.final
cdef class Trace:
    cdef object held
    cdef long long* steps
    cdef long long* warps
    cdef long long* addresses
    cdef public long long count, rows, total, room, row_room
    cdef bint keeps
    cpdef void empty(self) noexcept

cdef void note(Trace t, long long at, long long lanes, long long warp) noexcept
@cython.locals(lanes=cython.longlong, part=cython.longlong, place=cython.longlong, lowest=cython.longlong, lane=cython.longlong, address=cython.longlong, line=cython.longlong, found=cython.ulonglong, mixed=cython.ulonglong)
cdef void note_addresses(Trace t, CtaMemory m, long long copies) noexcept
cdef long long full(Trace t) noexcept
