"""Types of ``mio.py`` for Cython."""

cimport cython

from gpusim.sim.core.data_stage cimport DataStage
from gpusim.sim.core.warps cimport Warps

@cython.final
cdef class OperandCollector:
    cdef Warps warps
    cdef long long interval, registers_an_mma, tensor
    cdef const int[::1] waits, stall, port, issues_every, next_stop, cycles_to_stop, chain, order
    cdef const long long[::1] mma_places, end
    cdef long long[::1] last_mma, collector_free, port_free, port_user, port_taken, port_next, at, ready, segment, home
    cdef long long[::1] at_barrier, board
    cdef long long mma_delay(self, long long smsp, long long warp, long long at, long long registers) noexcept
    cdef long long delay_by_issued_mma(self, long long smsp, long long warp, long long at, long long registers) noexcept
    cdef long long delay_by_predicted_mma(self, long long smsp, long long warp, long long at, long long registers, long long registers_beside_others) noexcept
    cdef long long boards_free(self, long long warp, long long waits) noexcept
    cdef long long finished_before(self, long long code, long long at, long long read) noexcept

@cython.final
cdef class Mio:
    cdef DataStage data_stage
    cdef OperandCollector collector
    cdef long long depth, sm_depth, sm_interval, smsp_interval, copy_interval, copy_queue, copy_registers
    cdef long long side_entries, register_interval, smsps, width, mio, sms, smsp_exit, sm_exit, free_for_next, read_delay, cycles
    cdef long long registers, not_before, smsp_entries, sm_entries, path_cycles, port_room, side_buffer, leaves_early, copy_writes, port_path_cycles
    cdef long long[::1] sm_of, port_free, collector_free, last_exit, store_blocks_until, queue_at, entry_percent, entry_free, sm_entry_free
    cdef long long[::1] sm_queue_at, port_path_free, fenced_until, side_free, side_next
    cdef void entry(self, long long cycles, long long registers, long long not_before) noexcept
    cdef long long queue(self, long long smsp, long long at, long long warp) noexcept
    cdef long long queue_copy(self, long long smsp, long long at, long long warp) noexcept
    @cython.locals(blocked_by_store=bint)
    cdef long long queue_entry(self, long long smsp, long long at) noexcept
    cdef long long wait_in_order(self, long long sm, long long smsp_exit, bint blocked_by_store) noexcept
    cdef long long wait_in_side_buffer(self, long long sm, long long smsp_exit) noexcept
    cdef long long sm_entry(self, long long sm, long long behind) noexcept
    cdef void leave_queue(self, long long smsp, long long at) noexcept
    cdef void fence(self, long long sm, long long at) noexcept
