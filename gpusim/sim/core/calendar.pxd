"""Types of ``calendar.py`` for Cython."""

cimport cython

@cython.final
cdef class Calendar:
    cdef long long[::1] last_of, due, before, after, listed
    cdef long long now, wheel_end, count, later, cycle
    cdef inline void schedule(self, long long event, long long due) noexcept
    cdef long long ring_of(self, long long event) noexcept
    cdef void append(self, long long event) noexcept
    cdef inline void drop(self, long long event) noexcept
    cdef inline long long first(self) noexcept
    cdef inline long long take(self) noexcept
    cdef void advance_wheel(self) noexcept
