"""Types of ``integers.py`` for Cython."""

from gpusim.execute.core.registers cimport Registers

cdef void add3(Registers r, long long row) noexcept
cdef void multiply(Registers r, long long row) noexcept
cdef void multiply_wide(Registers r, long long row) noexcept
cdef void shift_add(Registers r, long long row) noexcept
cdef void select(Registers r, long long row) noexcept
cdef void move(Registers r, long long row) noexcept
cdef void absolute(Registers r, long long row) noexcept
cdef void extreme(Registers r, long long row) noexcept
cdef void add_extreme(Registers r, long long row) noexcept
cdef void take_extreme(Registers r, long long row, long long left, long long right) noexcept
cdef long long compared(long long relation, long long less, long long equal) noexcept
cdef long long combined(long long how, long long holds, long long other) noexcept
cdef void compare(Registers r, long long row) noexcept
cdef void dot(Registers r, long long row) noexcept
cdef void pack_integers(Registers r, long long row) noexcept
cdef void difference(Registers r, long long row) noexcept
cdef void integer_operation(Registers r, long long row, long long kind) noexcept
