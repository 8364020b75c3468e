"""Types of ``l2_arbiter.py`` for Cython."""

cimport cython

@cython.final
cdef class Crossbar:
    cdef long long port_bytes
    cdef long long[::1] read_free, store_free, stored_at
    cdef long long inject(self, long long sm, long long at, long long size) noexcept

@cython.final
cdef class L2Arbiter:
    cdef long long share, read_as_store, fill_time
    cdef long long[::1] small_cpc, direction_bytes, slowdown, done, fraction
    cdef long long grant(self, long long direction, long long sm, long long start) noexcept
    cdef long long request(self, long long direction, long long sm, long long start, long long issued, long long size) noexcept
    cdef void charge(self, long long direction, long long sm, long long issued, long long size) noexcept
    cdef long long backlog(self, long long entry, long long now) noexcept
    cdef void set_backlog(self, long long entry, long long now, long long backlog) noexcept
    cdef void charge_stores(self, long long now, long long time) noexcept
    cdef long long fill(self, long long issued, long long size) noexcept
    cdef long long all_served(self, long long direction) noexcept
