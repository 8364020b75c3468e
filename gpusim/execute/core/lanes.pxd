"""Types of ``lanes.py`` for Cython."""

from gpusim.execute.core.registers cimport Registers

cdef void shuffle(Registers r, long long row) noexcept
cdef void vote(Registers r, long long row) noexcept
cdef void match(Registers r, long long row) noexcept
cdef void reduce(Registers r, long long row) noexcept
cdef void to_uniform(Registers r, long long row) noexcept
cdef void lane_operation(Registers r, long long row, long long kind) noexcept
