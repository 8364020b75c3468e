"""Types of ``data_stage.py`` for Cython."""

cimport cython

from gpusim.sim.core.calendar cimport Calendar
from gpusim.sim.core.warps cimport Warps

@cython.final
cdef class DataStage:
    cdef Calendar calendar
    cdef Warps warps
    cdef long long per_cycle, fill_bytes, sms, last
    cdef readonly long long wavefronts
    cdef long long[::1] words, full_from, full_to, load_warp, load_board, load_passes, load_landed
    cdef long long[::1] first_load, next_load, lost, moved_to, to_write, writes_next, writes_noted, lines_noted
    cdef long long[::1] sectors_noted
    cdef inline long long states_of(self, long long pipeline, long long cycle) noexcept
    cdef inline void set_states(self, long long pipeline, long long cycle, long long states) noexcept
    cdef long long state_of(self, long long pipeline, long long cycle) noexcept
    cdef void take_cycle(self, long long pipeline, long long cycle, long long state) noexcept
    cdef void block(self, long long sm, long long at, long long until) noexcept
    cdef long long next_free(self, long long sm, long long at) noexcept
    cdef long long service(self, long long wavefronts) noexcept
    cdef long long count_wavefronts(self, long long wavefronts) noexcept
    @cython.locals(joins=bint, yields=bint, replay=bint)
    cdef long long reserve(self, long long pipeline, long long at, long long cycles, long long copy_writes) noexcept
    cdef void note_full(self, long long pipeline, long long at, long long cycle) noexcept
    cdef bint replays(self, long long copy_writes, long long cycle, bint replay) noexcept
    cdef void return_data(self, long long pipeline, long long at, long long cycles) noexcept
    cdef long long pass_return(self, long long sm, long long at, long long wavefronts) noexcept
    cdef void note_load(self, long long sm, long long warp, long long board, long long passes, long long landed) noexcept
    cdef void move_returns(self, long long pipeline, long long at, long long moved) noexcept
    cdef void delay_loads(self, long long sm, long long moved) noexcept
    cdef void add_write(self, long long sm, long long at, long long sectors) noexcept
    cdef long long writes_of_copies(self, long long sm, long long at) noexcept
    cdef long long lines_of_copies(self, long long sm, long long at) noexcept
