"""
The data stage of each SM, and four other pipelines: the cycles that instructions and returning data take.

In silicon: the stage of the MIO that moves wavefronts between the registers and shared memory or the L1. Data that
returns from the L2 passes through it, too. Copies write their lines to shared memory concurrently.
Figures: ``shared.wavefronts_per_cycle``, ``async_copy.pace.fill_bytes``.
State: for each pipeline the state of every future cycle, two bits each: free, taken by an instruction, or reserved for
returning data. For each SM, its loads in flight in order of issue, and the lines that copies will write.
Timing: an instruction takes the first free cycles at or after its arrival. Among cycles that are reserved for returning
data it takes every second one, and the data moves to the next free cycle. A store replays a wavefront if a copy writes
in the same cycle.

A pipeline has the number ``kind * sms + sm``; ``constants`` lists the kinds. The data stage is kind 0, so its number is
the SM's number.

>>> from gpusim.machine import load_machine
>>> stage = DataStage(load_machine("h200"), None, Calendar([zeros(1)] * 4), sms=1)
>>> stage.return_data(0, at=10, cycles=3)
>>> stage.reserve(0, 10, cycles=2, copy_writes=0), stage.last
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
    from gpusim.machine.spec import Machine


class DataStage:
    """
    The data stages of all SMs.

    Attributes:
        wavefronts: Wavefronts that all data stages served.
        last: The last cycle that the latest reservation took.
    """

    def __init__(self, machine: "Machine", warps: Warps, calendar: Calendar, sms: int) -> None:
        """
        Build data stages whose cycles are all free.

        Args:
            machine: The machine.
            warps: The warps of all SMs.
            calendar: The calendar, for the current cycle.
            sms: Number of simulated SMs.
        """
        pace = None if machine.async_copy is None else machine.async_copy.pace
        self.per_cycle, self.fill_bytes = machine.shared.wavefronts_per_cycle, 0 if pace is None else pace.fill_bytes
        self.warps, self.calendar, self.sms = warps, calendar, sms
        self.wavefronts, self.last = 0, 0
        # States of each pipeline's cycles. All cycles from ``full_from`` up to ``full_to`` are known to be taken.
        self.words = pages(PIPELINES * sms * STAGE_WORDS)
        self.full_from, self.full_to = zeros(PIPELINES * sms), zeros(PIPELINES * sms)
        # Loads in flight in order of issue: warp and scoreboard, the cycle at which the data passes the data stage, and
        # the cycle at which it can be used.
        self.load_warp, self.load_board = zeros(sms * LOADS_IN_FLIGHT), zeros(sms * LOADS_IN_FLIGHT)
        self.load_passes, self.load_landed = zeros(sms * LOADS_IN_FLIGHT), zeros(sms * LOADS_IN_FLIGHT)
        self.first_load, self.next_load = zeros(sms), zeros(sms)
        # Cycles that an instruction takes from returning data, and the cycles that the data moves to.
        self.lost, self.moved_to = zeros(MOST_LOST), zeros(MOST_LOST)
        # A ring of the lines that copies will write. ``writes_of_copies`` and ``lines_of_copies`` each count the lines
        # for which they have reserved cycles.
        self.to_write, self.writes_next, self.writes_noted = pages(sms * TO_WRITE), zeros(sms), zeros(sms)
        self.lines_noted, self.sectors_noted = zeros(sms), zeros(sms)

    # --- cycles of a pipeline ---

    def states_of(self, pipeline: int, cycle: int) -> int:
        """Return the word of a cycle: the states of 16 consecutive cycles, two bits each."""
        number = cycle >> CYCLE_BITS & WORD_NUMBERS
        states = self.words[pipeline * STAGE_WORDS + (number & STAGE_MASK)] ^ number << WORD_NUMBER
        return 0 if states >> WORD_NUMBER else states

    def set_states(self, pipeline: int, cycle: int, states: int) -> None:
        """Set the word of a cycle. It overwrites the word of cycles long past."""
        number = cycle >> CYCLE_BITS & WORD_NUMBERS
        self.words[pipeline * STAGE_WORDS + (number & STAGE_MASK)] = number << WORD_NUMBER | states

    def state_of(self, pipeline: int, cycle: int) -> int:
        """Return the state of a cycle: 0 (free), ``ISSUED`` or ``RETURNING``."""
        return self.states_of(pipeline, cycle) >> 2 * (cycle & WORD_CYCLES) & STATES

    def take_cycle(self, pipeline: int, cycle: int, state: int) -> None:
        """Set the state of a cycle."""
        states, shift = self.states_of(pipeline, cycle), 2 * (cycle & WORD_CYCLES)
        self.set_states(pipeline, cycle, states ^ (states >> shift & STATES ^ state) << shift)

    def block(self, sm: int, at: int, until: int) -> None:
        """Mark all cycles of an SM's data stage from ``at`` up to ``until``, exclusive, as taken by an instruction."""
        for cycle in range(at, until):
            self.take_cycle(sm, cycle, ISSUED)

    def next_free(self, sm: int, at: int) -> int:
        """Return the first cycle of an SM's data stage, from ``at`` on, that no instruction has taken."""
        cycle = self.full_to[sm] if self.full_from[sm] <= at <= self.full_to[sm] else at
        while self.state_of(sm, cycle) == ISSUED:
            cycle += 1
        return cycle

    # --- instructions ---

    def service(self, wavefronts: int) -> int:
        """Return the number of cycles in which the data stage serves ``wavefronts`` wavefronts."""
        return (wavefronts + self.per_cycle - 1) // self.per_cycle

    def count_wavefronts(self, wavefronts: int) -> int:
        """Add wavefronts to the total; return the cycles of the data stage that they take, at least one."""
        self.wavefronts += wavefronts
        return max(1, self.service(wavefronts))

    def reserve(self, pipeline: int, at: int, cycles: int, copy_writes: int) -> int:
        """
        Reserve cycles of a pipeline for an instruction: the first ones that no other instruction has taken (D2).

        In a run of cycles that are reserved for returning data, the instruction takes every second cycle. The data that
        loses its cycle moves to the next free cycle.

        Args:
            pipeline: The pipeline's number.
            at: First cycle that the instruction may take.
            cycles: Number of cycles that it takes.
            copy_writes: For a store, the pipeline of the copies' writes to shared memory; else 0.

        Returns:
            The first cycle that it takes; ``last`` is the last one.
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
            if ahead == 0 and copy_writes == 0:
                # All later cycles of this word are free: take as many as are needed at once.
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
                replay = copy_writes > 0 and self.replays(copy_writes, cycle, replay)
                if not replay:
                    cycles -= 1
                    first = cycle if first < 0 else first
            cycle += 1
        self.note_full(pipeline, at, cycle)
        if moved:
            self.move_returns(pipeline, cycle, moved)
        return first

    def note_full(self, pipeline: int, at: int, cycle: int) -> None:
        """Note that all cycles of a pipeline from ``at`` up to ``cycle``, exclusive, are taken."""
        if self.full_from[pipeline] <= at <= self.full_to[pipeline]:
            self.full_to[pipeline] = cycle
        elif at >= self.full_to[pipeline]:
            self.full_to[pipeline] = cycle
            self.full_from[pipeline] = at

    def replays(self, copy_writes: int, cycle: int, replay: bool) -> bool:
        """
        Return whether a store must replay its wavefront because a copy writes in the same cycle (D3).

        A wavefront is replayed once. If the replay coincides with a write again, the write moves to the next free
        cycle.

        Args:
            copy_writes: The pipeline of the copies' writes.
            cycle: The wavefront's cycle.
            replay: Whether the wavefront is a replay already.
        """
        if self.state_of(copy_writes, cycle) == 0:
            return False
        if replay:
            last = self.last
            self.return_data(copy_writes, cycle + 1, 1)
            self.last = last
        return not replay

    # --- returning data ---

    def return_data(self, pipeline: int, at: int, cycles: int) -> None:
        """Reserve the first ``cycles`` free cycles of a pipeline, from ``at`` on, for returning data."""
        start = cycle = max(at, self.full_to[pipeline]) if self.full_from[pipeline] <= at else at
        while cycles > 0:
            states = self.states_of(pipeline, cycle)
            shift = 2 * (cycle & WORD_CYCLES)
            # Both states of a taken cycle, ``ISSUED`` and ``RETURNING``, have the upper of its two bits set.
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
            # Only returning data takes cycles of these pipelines, so all cycles from ``start`` to here are taken.
            if start > self.full_to[pipeline]:
                self.full_from[pipeline] = start
            self.full_to[pipeline] = cycle

    def pass_return(self, sm: int, at: int, wavefronts: int) -> int:
        """
        Send data that arrives at an SM at cycle ``at`` through the data stage (D3).

        Returns:
            The cycle at which the data can be used: its arrival, or later if it waits for the data stage.
        """
        cycles = self.count_wavefronts(wavefronts)
        self.return_data(sm, at, cycles)
        return max(at, self.last + 1 - cycles)

    def note_load(self, sm: int, warp: int, board: int, passes: int, landed: int) -> None:
        """
        Add a load to an SM's loads in flight.

        Args:
            sm: The SM.
            warp: The load's warp.
            board: The scoreboard that the load holds.
            passes: Last cycle of the data stage that the load's data takes.
            landed: Cycle at which the data can be used.
        """
        place = sm * LOADS_IN_FLIGHT + self.next_load[sm] % LOADS_IN_FLIGHT
        self.load_board[place], self.load_warp[place] = warp + board, warp
        self.load_passes[place], self.load_landed[place] = passes, landed
        self.next_load[sm] += 1
        self.first_load[sm] = max(self.first_load[sm], self.next_load[sm] - LOADS_IN_FLIGHT)

    def move_returns(self, pipeline: int, at: int, moved: int) -> None:
        """
        Move returning data to the next free cycles of a pipeline, from ``at`` on, and delay the loads.

        An instruction has taken ``moved`` cycles from the data: the first entries of ``lost``.
        """
        last = self.last
        for place in range(moved):
            self.return_data(pipeline, at, 1)
            self.moved_to[place] = self.last
        self.delay_loads(pipeline, moved)
        self.last = last

    def delay_loads(self, sm: int, moved: int) -> None:
        """
        Delay returning loads that lost cycles of the data stage.

        When an instruction takes a cycle that was reserved for returning data, that data moves to the next free cycle.
        Returning data stays in order, so every later load of this SM moves back too, up to the next idle cycle. If
        several stores follow a burst of loads, each of them can delay the loads further.

        Not modelled: delays of cp.async.ca; delays of arithmetic that the simulation has issued already, because its
        SMSP is ahead of the calendar; delays of data that returns while an instruction blocks the head of the SM's
        queue (``block``). The log keeps the arrival that was expected when the load issued.
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
        """Record that a copy writes sectors of a line to shared memory at a cycle, if such writes delay stores."""
        if self.fill_bytes:
            place = sm * TO_WRITE + (self.writes_next[sm] & TO_WRITE_MASK)
            self.to_write[place] = at << LINE_BITS | sectors
            self.writes_next[sm] += 1

    def writes_of_copies(self, sm: int, at: int) -> int:
        """
        Reserve the cycles, from a cycle on, in which copies write lines to an SM's shared memory (D3).

        Only stores check these reservations, so a store makes them when it issues.

        Returns:
            The pipeline of the writes.
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
        Reserve the cycles, from ``at`` on, in which copies write whole lines to shared memory (D3).

        A zero-fill is not written in these cycles. A whole line takes all banks for one cycle. Sectors of partly
        written lines add up to whole lines.

        Returns:
            The pipeline of these cycles.
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
