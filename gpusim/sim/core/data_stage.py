"""
The data stage of each SM, and the pipelines beside it: which cycle goes to which instruction, and which to data.

In silicon: the stage of the MIO that moves wavefronts between shared memory or the L1 and the registers. Data that
returns from beyond the L1 passes it, too, and so do the writes of copies to shared memory.
Figures: ``wavefronts_per_cycle``, ``fill_bytes``.
State: for each pipeline the state of every cycle to come, two bits each: free, taken by an instruction, or reserved for
returning data. The loads whose data is to return, in order. The lines that copies are to write.
Timing: an instruction takes the first free cycles from its own on, and every other one that is reserved for returning
data: that moves to the next free cycle. A store replays a wavefront in whose cycle a copy writes.

Pipeline number ``kind * sms + sm`` is that of an SM, with the kinds of ``constants``: of the data stage the SM's own
number.

>>> from gpusim.machine import load_machine
>>> from gpusim.sim.figures import figures_of
>>> stage = DataStage(figures_of(load_machine("h200"), 0, busy=False), None, Calendar([zeros(1)] * 4), sms=1)
>>> stage.return_data(0, at=10, cycles=3)
>>> stage.reserve(0, 10, cycles=2, written=0), stage.last
(11, 13)
"""

from typing import TYPE_CHECKING

from gpusim.sim.columns import pages, zeros
from gpusim.sim.core.calendar import Calendar
from gpusim.sim.core.constants import (
    ALL_ISSUED,
    COPY_WRITES,
    CYCLE_BITS,
    ISSUED,
    LINE_BITS,
    LINE_MASK,
    LOADS_IN_FLIGHT,
    MOST_LOST,
    PIPELINES,
    RETURNING,
    STAGE_MASK,
    STAGE_WORDS,
    STATES,
    TO_WRITE,
    TO_WRITE_MASK,
    WORD_CYCLES,
    WORD_NUMBER,
    WORD_NUMBERS,
    ZERO_WRITES,
)
from gpusim.sim.core.warps import Warps
from gpusim.units import SECTOR_BYTES, SECTORS_PER_LINE

if TYPE_CHECKING:
    from gpusim.sim.figures import Figures


class DataStage:
    """
    The data stages of all SMs.

    Attributes:
        wavefronts: Wavefronts that they took.
        last: The last cycle that was taken last.
    """

    def __init__(self, figures: "Figures", warps: Warps, calendar: Calendar, sms: int) -> None:
        """
        Build them.

        Args:
            figures: Those of the machine.
            warps: The warps whose loads return.
            calendar: What knows the cycle under way.
            sms: Simulated SMs.
        """
        self.per_cycle, self.fill_bytes = figures.wavefronts_per_cycle, figures.fill_bytes
        self.warps, self.calendar, self.sms = warps, calendar, sms
        self.wavefronts, self.last = 0, 0
        # States of the cycles of each pipeline; from ``full_from`` to ``full_to`` all cycles are known to be taken.
        self.words = pages(PIPELINES * sms * STAGE_WORDS)
        self.full_from, self.full_to = zeros(PIPELINES * sms), zeros(PIPELINES * sms)
        # Loads in flight, in the order of their issue: the scoreboard, the cycle of their data, when it can be used.
        self.load_warp, self.load_board = zeros(sms * LOADS_IN_FLIGHT), zeros(sms * LOADS_IN_FLIGHT)
        self.load_passes, self.load_landed = zeros(sms * LOADS_IN_FLIGHT), zeros(sms * LOADS_IN_FLIGHT)
        self.first_load, self.next_load = zeros(sms), zeros(sms)
        # Cycles of returning data that an instruction takes, and those that the data moves to.
        self.lost, self.moved_to = zeros(MOST_LOST), zeros(MOST_LOST)
        # Lines that copies are to write, and how far stores and zeros have looked at them.
        self.to_write, self.writes_next, self.writes_noted = pages(sms * TO_WRITE), zeros(sms), zeros(sms)
        self.lines_noted, self.sectors_noted = zeros(sms), zeros(sms)

    # --- cycles of a pipeline ---

    def states_of(self, pipeline: int, cycle: int) -> int:
        """Return the states of the cycles that are one integer with a cycle, two bits each."""
        number = cycle >> CYCLE_BITS & WORD_NUMBERS
        states = self.words[pipeline * STAGE_WORDS + (number & STAGE_MASK)] ^ number << WORD_NUMBER
        return 0 if states >> WORD_NUMBER else states

    def set_states(self, pipeline: int, cycle: int, states: int) -> None:
        """Set the states of these cycles; those that lay in their place are over."""
        number = cycle >> CYCLE_BITS & WORD_NUMBERS
        self.words[pipeline * STAGE_WORDS + (number & STAGE_MASK)] = number << WORD_NUMBER | states

    def state_of(self, pipeline: int, cycle: int) -> int:
        """Return the state of a cycle, 0 where it is free."""
        return self.states_of(pipeline, cycle) >> 2 * (cycle & WORD_CYCLES) & STATES

    def take_cycle(self, pipeline: int, cycle: int, state: int) -> None:
        """Set the state of a cycle."""
        states, shift = self.states_of(pipeline, cycle), 2 * (cycle & WORD_CYCLES)
        self.set_states(pipeline, cycle, states ^ (states >> shift & STATES ^ state) << shift)

    def block(self, sm: int, at: int, until: int) -> None:
        """Take all cycles of the data stage up to one."""
        for cycle in range(at, until):
            self.take_cycle(sm, cycle, ISSUED)

    def next_free(self, sm: int, at: int) -> int:
        """Return the first cycle of the data stage from one on that no instruction has taken."""
        cycle = self.full_to[sm] if self.full_from[sm] <= at <= self.full_to[sm] else at
        while self.state_of(sm, cycle) == ISSUED:
            cycle += 1
        return cycle

    # --- instructions ---

    def service(self, wavefronts: int) -> int:
        """Return the cycles that the data stage takes for some wavefronts."""
        return (wavefronts + self.per_cycle - 1) // self.per_cycle

    def count_wavefronts(self, wavefronts: int) -> int:
        """Count wavefronts that the data stage takes; return its cycles for them, at least one."""
        self.wavefronts += wavefronts
        return max(1, self.service(wavefronts))

    def reserve(self, pipeline: int, at: int, cycles: int, written: int) -> int:
        """
        Take the first cycles of a pipeline from a cycle on that no other instruction has taken (D2).

        Returning data gives every other cycle to instructions, and takes the next free one.

        Args:
            pipeline: The pipeline.
            at: The first cycle that it may take.
            cycles: How many it takes.
            written: Of a store, the pipeline of the writes of copies; 0 for what writes nothing.

        Returns:
            The first cycle; ``last`` is the last.
        """
        first, moved, yields, replay = -1, 0, False, False
        joins = self.full_from[pipeline] <= at <= self.full_to[pipeline]
        cycle = self.full_to[pipeline] if joins else at
        while cycles > 0:
            states = self.states_of(pipeline, cycle)
            ahead = states >> 2 * (cycle & WORD_CYCLES)
            if ahead & STATES == ISSUED:
                while ahead & STATES == ISSUED:
                    ahead >>= 2
                    cycle += 1
                if cycle & WORD_CYCLES == 0:
                    continue
            shift = 2 * (cycle & WORD_CYCLES)
            if ahead == 0 and written == 0:
                # The rest of the word is free: as much of it as is needed goes at once.
                taken = min(cycles, WORD_CYCLES + 1 - (cycle & WORD_CYCLES))
                self.set_states(pipeline, cycle, states | ALL_ISSUED >> 2 * (WORD_CYCLES + 1 - taken) << shift)
                first, yields = cycle if first < 0 else first, False
                cycle, cycles = cycle + taken, cycles - taken
                self.last = cycle - 1
                continue
            state = ahead & STATES
            if state == RETURNING and not yields:
                yields = True
            else:
                if state == RETURNING:
                    self.lost[moved] = cycle
                    moved += 1
                yields = False
                self.set_states(pipeline, cycle, states ^ (state ^ ISSUED) << shift)
                self.last = cycle
                replay = written > 0 and self.replays(written, cycle, replay)
                if not replay:
                    cycles -= 1
                    first = cycle if first < 0 else first
            cycle += 1
        self.note_full(pipeline, at, cycle)
        if moved:
            self.move_returns(pipeline, cycle, moved)
        return first

    def note_full(self, pipeline: int, at: int, cycle: int) -> None:
        """Note that all cycles from one on, which an instruction could have taken, are taken up to another one."""
        if self.full_from[pipeline] <= at <= self.full_to[pipeline]:
            self.full_to[pipeline] = cycle
        elif at >= self.full_to[pipeline]:
            self.full_to[pipeline] = cycle
            self.full_from[pipeline] = at

    def replays(self, written: int, cycle: int, replay: bool) -> bool:
        """
        Return whether a store has to replay its wavefront, because what a copy brings is written in its cycle (D3).

        A replayed wavefront goes first, and the write moves to the next free cycle.
        """
        if self.state_of(written, cycle) == 0:
            return False
        if replay:
            last = self.last
            self.return_data(written, cycle + 1, 1)
            self.last = last
        return not replay

    # --- returning data ---

    def return_data(self, pipeline: int, at: int, cycles: int) -> None:
        """Reserve the first free cycles of a pipeline for returning data."""
        start = cycle = max(at, self.full_to[pipeline]) if self.full_from[pipeline] <= at else at
        while cycles > 0:
            states = self.states_of(pipeline, cycle)
            shift = 2 * (cycle & WORD_CYCLES)
            # Whatever takes a cycle has the upper one of its two bits.
            taken = states >> shift & ALL_ISSUED
            if taken == ALL_ISSUED >> shift:
                cycle += WORD_CYCLES + 1 - (cycle & WORD_CYCLES)
                continue
            while taken & ISSUED:
                taken >>= 2
                cycle += 1
            self.set_states(pipeline, cycle, states | (taken & STATES | RETURNING) << 2 * (cycle & WORD_CYCLES))
            self.last = cycle
            cycles -= 1
            cycle += 1
        if pipeline >= COPY_WRITES * self.sms and start >= self.full_to[pipeline]:
            # What copies write, and zeros, take every cycle from the first one looked at.
            if start > self.full_to[pipeline]:
                self.full_from[pipeline] = start
            self.full_to[pipeline] = cycle

    def pass_return(self, sm: int, at: int, wavefronts: int) -> int:
        """
        Let data that returns to an SM through its L1 pass the data stage (D3).

        Returns:
            The cycle at which it can be used: that of its arrival, and what it waits for the data stage.
        """
        cycles = self.count_wavefronts(wavefronts)
        self.return_data(sm, at, cycles)
        return max(at, self.last + 1 - cycles)

    def note_load(self, sm: int, warp: int, board: int, passes: int, landed: int) -> None:
        """Note a load that holds a scoreboard: until when its data passes the data stage, and when it is used."""
        place = sm * LOADS_IN_FLIGHT + self.next_load[sm] % LOADS_IN_FLIGHT
        self.load_board[place], self.load_warp[place] = warp + board, warp
        self.load_passes[place], self.load_landed[place] = passes, landed
        self.next_load[sm] += 1
        self.first_load[sm] = max(self.first_load[sm], self.next_load[sm] - LOADS_IN_FLIGHT)

    def move_returns(self, pipeline: int, at: int, moved: int) -> None:
        """Move returning data whose cycles an instruction took (``lost``) to the next free ones from a cycle on."""
        last = self.last
        for place in range(moved):
            self.return_data(pipeline, at, 1)
            self.moved_to[place] = self.last
        self.delay_loads(pipeline, moved)
        self.last = last

    def delay_loads(self, sm: int, moved: int) -> None:
        """
        Delay returning loads that lost a cycle of the data stage.

        When an instruction takes a cycle that was reserved for returning data, that data moves to the next free cycle.
        Returning data stays in order, so every later load of this SM moves back too, up to the next idle cycle; where
        stores follow a burst of loads that adds up.

        Not modelled: arithmetic that waits for a load and has issued ahead of the clock, copies through the L1, and
        what passes while an instruction at the head of the SM's queue waits (``block``). What is logged of a load is
        what was foreseen when it issued.
        """
        base, first = sm * LOADS_IN_FLIGHT, self.first_load[sm]
        while first < self.next_load[sm] and self.load_passes[base + first % LOADS_IN_FLIGHT] < self.calendar.cycle:
            first += 1
        self.first_load[sm] = first
        for number in range(first, self.next_load[sm]):
            place = base + number % LOADS_IN_FLIGHT
            passes, cycles = self.load_passes[place], 0
            for at in range(moved):
                if self.lost[at] > passes + cycles:
                    break
                if passes + cycles < self.moved_to[at]:
                    cycles += 1
            if cycles:
                self.load_passes[place] += cycles
                landed = self.load_landed[place]
                self.load_landed[place] += cycles
                self.warps.delay_load(self.load_warp[place], self.load_board[place], landed, landed + cycles)

    # --- writes of copies to shared memory ---

    def add_write(self, sm: int, at: int, sectors: int) -> None:
        """Note a line of which a copy writes some sectors at a cycle; nothing where stores do not meet them."""
        if self.fill_bytes:
            place = sm * TO_WRITE + (self.writes_next[sm] & TO_WRITE_MASK)
            self.to_write[place] = at << LINE_BITS | sectors
            self.writes_next[sm] += 1

    def writes_of_copies(self, sm: int, at: int) -> int:
        """
        Reserve cycles for what copies write to an SM's shared memory from a cycle on (D3).

        It is looked at when something is stored, as nothing else asks for it; return the pipeline of the writes.
        """
        pipeline = COPY_WRITES * self.sms + sm
        for number in range(max(self.writes_noted[sm], self.writes_next[sm] - TO_WRITE), self.writes_next[sm]):
            line = self.to_write[sm * TO_WRITE + (number & TO_WRITE_MASK)]
            if line >> LINE_BITS >= at:
                size = (line & LINE_MASK) * SECTOR_BYTES
                self.return_data(pipeline, line >> LINE_BITS, (size + self.fill_bytes - 1) // self.fill_bytes)
        self.writes_noted[sm] = self.writes_next[sm]
        return pipeline

    def lines_of_copies(self, sm: int, at: int) -> int:
        """
        Reserve cycles for the lines that copies write to an SM from a cycle on, in which no zeros are written (D3).

        A cycle for a line, be it in parts, whose writes take all banks; return the pipeline of these cycles.
        """
        pipeline = ZERO_WRITES * self.sms + sm
        for number in range(max(self.lines_noted[sm], self.writes_next[sm] - TO_WRITE), self.writes_next[sm]):
            line = self.to_write[sm * TO_WRITE + (number & TO_WRITE_MASK)]
            if line >> LINE_BITS >= at:
                self.sectors_noted[sm] += line & LINE_MASK
                if self.sectors_noted[sm] >= SECTORS_PER_LINE:
                    self.return_data(pipeline, line >> LINE_BITS, 1)
                    self.sectors_noted[sm] -= SECTORS_PER_LINE
        self.lines_noted[sm] = self.writes_next[sm]
        return pipeline
