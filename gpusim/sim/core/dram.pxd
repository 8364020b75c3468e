"""Types of ``dram.py`` for Cython."""

cimport cython

cdef long long hashed(long long number) noexcept

@cython.final
cdef class Dram:
    cdef long long share, rate, channels, banks, bank_busy, least, median, late, later, most, on_time, refresh, period
    cdef long long region_lines, unit_bits, write_percent, most_gathered, gathering, turnaround, longest_wait
    cdef long long draw, unnumbered
    cdef readonly long long read_bytes
    cdef long long[::1] unit_masks, bank_free, channel_free, gathered, gathered_since
    cdef long long transfer_time(self, long long size) noexcept
    cdef long long bank_of(self, long long line) noexcept
    cdef long long next_bank(self) noexcept
    cdef long long free_at(self, long long bank) noexcept
    cdef long long occupy(self, long long bank, long long at, long long size, long long writes) noexcept
    cdef long long transfer(self, long long bank, long long issued, long long size) noexcept
    cdef long long read(self, long long line, long long bank, long long start, long long size, long long issued) noexcept
    cdef long long read_unnumbered(self, long long start, long long size, long long issued) noexcept
    cdef long long write_line(self, long long issued, long long size) noexcept
    cdef long long arrival(self, long long line, long long at) noexcept
    cdef long long refresh_left(self, long long line, long long at) noexcept
    cdef long long quantile(self, long long draw) noexcept
