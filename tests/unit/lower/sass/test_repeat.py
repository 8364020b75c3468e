"""Loops whose trips repeat: skipping turns leaves a warp in the state in which executing them would."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpusim.lower.sass.emulate_registers import Registers
from gpusim.lower.sass.repeat import ExecutedInstruction, Loop, Turns

MASK = (1 << 32) - 1


class Counting:
    """
    A loop by hand: register r grows by its step, and by what its place in the turn gives and takes.
    """

    def __init__(self, steps, turn, start=0):
        self.steps, self.turn = steps, turn
        self.registers = Registers(b"")
        self.registers.vector[: len(steps)] = start
        self.local = np.zeros((1, 32), dtype=np.uint64)
        self.executed = []
        self.ran = []

    def trip(self, number):
        for register, step in enumerate(self.steps):
            place = number % self.turn
            swing = place + 1 if place + 1 < self.turn else -sum(range(1, self.turn))
            row = self.registers.vector[register].astype(np.int64)
            self.registers.vector[register] = (row + step + swing) & MASK
            self.executed.append(ExecutedInstruction(register, None))
        self.local += np.uint64(2)
        self.ran.append(number)

    def run(self, trips, *, skipping):
        turns = Turns(Loop(0, trips, self.turn))
        number = 0
        while number < trips:
            before = len(turns.skips)
            if skipping:
                turns.arrive(self.executed, self.registers, self.local, whole=True)
            if len(turns.skips) > before:
                number = turns.skips[-1].trips.stop
            self.trip(number)
            number += 1
        return turns.skips


@given(
    steps=st.lists(st.integers(-(1 << 29), 1 << 29), min_size=1, max_size=4),
    turn=st.integers(1, 6),
    trips=st.integers(0, 90),
    start=st.integers(0, MASK),
)
def test_a_skipped_loop_ends_in_the_state_of_the_executed_one(steps, turn, trips, start):
    all_, some = Counting(steps, turn, start), Counting(steps, turn, start)
    all_.run(trips, skipping=False)
    skips = some.run(trips, skipping=True)

    assert np.array_equal(all_.registers.vector, some.registers.vector)
    assert np.array_equal(all_.local, some.local)
    assert len(some.ran) + sum(len(skip.trips) for skip in skips) == trips
    assert all(len(skip.trips) % turn == 0 for skip in skips)


@pytest.mark.parametrize("trips", [100, 100_000])
def test_the_trips_executed_do_not_depend_on_their_number(trips):
    """Two turns of 3 show the repetition; 3 to 5 times 3 more are left, because the last two turns are executed."""
    warp = Counting([16, -1 & MASK], 3)
    (skip,) = warp.run(trips, skipping=True)

    assert skip.trips.start == 6
    assert len(warp.ran) == 12 + trips % 3


def test_a_register_is_never_carried_past_the_end_of_its_range():
    """An address of 64 bits lies in two registers, and the carry between them happens in an executed trip."""
    warp = Counting([1 << 20], 1, start=MASK - (40 << 20))
    skips = warp.run(400, skipping=True)

    carry = next(number for number in range(400) if (MASK - (40 << 20)) + ((number + 1) << 20) > MASK)
    assert carry in warp.ran
    assert all(carry not in skip.trips for skip in skips)


def test_a_register_that_grows_faster_each_turn_is_not_skipped():
    warp = Counting([1], 2)
    turns = Turns(Loop(0, 50, 2))
    for number in range(50):
        turns.arrive(warp.executed, warp.registers, warp.local, whole=True)
        warp.registers.vector[1] += np.uint64(number)
        warp.trip(number)

    assert turns.skips == []


def test_other_instructions_in_the_second_turn_are_no_repetition():
    warp = Counting([1], 2)
    turns = Turns(Loop(0, 50, 2))
    for number in range(50):
        turns.arrive(warp.executed, warp.registers, warp.local, whole=True)
        warp.trip(number)
        if number // 2 % 2:
            warp.executed.append(ExecutedInstruction(9, None))

    assert turns.skips == []


def test_a_diverged_warp_skips_nothing():
    warp = Counting([1], 2)
    turns = Turns(Loop(0, 50, 2))
    for number in range(50):
        turns.arrive(warp.executed, warp.registers, warp.local, whole=number % 4 != 2)
        warp.trip(number)

    assert turns.skips == []
