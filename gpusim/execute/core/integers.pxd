"""Types of ``integers.py`` for Cython."""

cimport cython

from gpusim.execute.core.registers cimport WarpRegisters

@cython.locals(once=cython.longlong, twice=cython.longlong)
cdef void add3(WarpRegisters r, long long row) noexcept
cdef void multiply(WarpRegisters r, long long row) noexcept
@cython.locals(carried=cython.longlong)
cdef void multiply_wide(WarpRegisters r, long long row) noexcept
@cython.locals(carried=cython.longlong)
cdef void shift_add(WarpRegisters r, long long row) noexcept
cdef void select(WarpRegisters r, long long row) noexcept
cdef void move(WarpRegisters r, long long row) noexcept
cdef void absolute(WarpRegisters r, long long row) noexcept
cdef void extreme(WarpRegisters r, long long row) noexcept
cdef void add_extreme(WarpRegisters r, long long row) noexcept
@cython.locals(less=cython.longlong)
cdef void take_extreme(WarpRegisters r, long long row, long long left, long long right) noexcept
cdef long long compared(long long relation, long long less, long long equal) noexcept
cdef long long combined(long long how, long long holds, long long other) noexcept
cdef void compare(WarpRegisters r, long long row) noexcept
cdef void dot(WarpRegisters r, long long row) noexcept
cdef void pack_integers(WarpRegisters r, long long row) noexcept
cdef void difference(WarpRegisters r, long long row) noexcept
cdef void integer_operation(WarpRegisters r, long long row, long long kind) noexcept
