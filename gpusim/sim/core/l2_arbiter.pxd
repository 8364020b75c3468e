"""Types of ``l2_arbiter.py`` for Cython."""

cimport cython

@cython.final
cdef class Crossbar:
    cdef long long port_bytes
    cdef long long[::1] read_free, store_free, stored_at
    cdef long long inject(self, long long sm, long long at, long long size) noexcept

@cython.final
cdef class L2Arbiter:
    cdef long long share, read_takes, fill_takes
    cdef long long[::1] small_cpc, way_bytes, share_takes, done, part
    cdef long long grant(self, long long way, long long sm, long long start) noexcept
    cdef long long request(self, long long way, long long sm, long long start, long long issued, long long size) noexcept
    cdef void charge(self, long long way, long long sm, long long issued, long long size) noexcept
    cdef long long backlog(self, long long own, long long now) noexcept
    cdef void set_backlog(self, long long own, long long now, long long backlog) noexcept
    cdef void charge_stores(self, long long now, long long takes) noexcept
    cdef long long fill(self, long long issued, long long size) noexcept
    cdef long long all_served(self, long long way) noexcept
