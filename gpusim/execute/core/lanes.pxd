"""Types of ``lanes.py`` for Cython."""

cimport cython

from gpusim.execute.core.registers cimport WarpRegisters

@cython.locals(inside=cython.longlong, found=cython.longlong)
cdef void shuffle(WarpRegisters r, long long row) noexcept
cdef void vote(WarpRegisters r, long long row) noexcept
cdef void match(WarpRegisters r, long long row) noexcept
cdef void reduce(WarpRegisters r, long long row) noexcept
cdef void to_uniform(WarpRegisters r, long long row) noexcept
cdef void lane_operation(WarpRegisters r, long long row, long long kind) noexcept
