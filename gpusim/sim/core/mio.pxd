"""Types of ``mio.py`` for Cython."""

cimport cython

from gpusim.sim.core.data_stage cimport DataStage
from gpusim.sim.core.warps cimport Warps

@cython.final
cdef class OperandCollector:
    cdef Warps warps
    cdef long long interval, registers_an_mma, tensor
    cdef const int[::1] waits, stall, port, issues_every, next_stop, until_stop, chain, order
    cdef const long long[::1] multiplies_at, end
    cdef long long[::1] multiplies, mio_free, port_free, port_user, port_takes, port_turn, at, ready, segment, home
    cdef long long[::1] held, board
    cdef long long beside_mma(self, long long smsp, long long warp, long long at, long long registers) noexcept
    cdef long long beside_issued(self, long long smsp, long long warp, long long at, long long registers) noexcept
    cdef long long between_mma(self, long long smsp, long long warp, long long at, long long registers, long long beside_others) noexcept
    cdef long long boards_free(self, long long warp, long long waits) noexcept
    cdef long long over_before(self, long long code, long long at, long long read) noexcept

@cython.final
cdef class Mio:
    cdef DataStage data_stage
    cdef OperandCollector collector
    cdef long long depth, sm_depth, sm_interval, smsp_interval, copy_interval, copy_queue, copy_registers
    cdef long long places_apart, register_interval, smsps, width, mio, sms, collected, passed, room_again, waits, cycles
    cdef long long registers, until, own, entries, interval, room, apart, beside, written, way
    cdef long long[::1] sm_of, port_free, mio_free, left, no_room_until, queue_at, queued, entry_free, sm_entry_free
    cdef long long[::1] sm_queue_at, store_way, fenced_until, apart_until, apart_turn
    cdef void entry(self, long long cycles, long long registers, long long until) noexcept
    cdef long long queue(self, long long smsp, long long at, long long warp) noexcept
    cdef long long queue_copy(self, long long smsp, long long at, long long warp) noexcept
    @cython.locals(no_room=bint)
    cdef long long queue_entry(self, long long smsp, long long at) noexcept
    cdef long long wait_in_order(self, long long sm, long long collected, bint no_room) noexcept
    cdef long long wait_apart(self, long long sm, long long collected) noexcept
    cdef long long sm_entry(self, long long sm, long long behind) noexcept
    cdef void leave_queue(self, long long smsp, long long at) noexcept
    cdef void fence(self, long long sm, long long at) noexcept
