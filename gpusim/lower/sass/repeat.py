"""Detects repeating trips of an emulated loop, and advances the warp's state past most of them; knows no schedule.

A register that holds a loop counter or an address changes by the same amount in every turn. Three states a turn apart
tell whether all registers do so, and then the state after any number of further turns is known.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from gpusim.arrays import BoolArray, IntArray
from gpusim.lower.sass.emulate_registers import LaneWords, Registers

_WORD = 1 << 32
_HALF = 1 << 31
_STATES = 3
_KEPT_TURNS = 2
"""Turns at the end of a loop that are always executed, because predicates switch off the last copies there."""


class ExecutedInstruction(NamedTuple):
    """
    One executed instruction.

    Attributes:
        at: Index of the instruction in the decoded code.
        lanes: Active lanes whose guard holds; None for all 32.
        address: Byte address of each lane in the memory space that it accesses; None if it accesses none.
        target: Shared-memory address of each lane of a copy, whose ``address`` is the global one; otherwise None.
        predicate: Predicate operand of a copy in each lane; otherwise None.
    """

    at: int
    lanes: BoolArray | None
    address: IntArray | None = None
    target: IntArray | None = None
    predicate: BoolArray | None = None


@dataclass(frozen=True, slots=True)
class Loop:
    """
    A loop whose trips may be skipped.

    Attributes:
        head: Index of its first instruction in the decoded code.
        trips: Trips of the loop that the warp executes.
        turn: Number of trips after which addresses have moved by the same distance as in the turn before.
    """

    head: int
    trips: int
    turn: int


class Skip(NamedTuple):
    """
    Trips that were not executed, because they repeat earlier trips.

    Attributes:
        at: Number of instructions executed before them.
        trips: The trips, counted from 0.
    """

    at: int
    trips: range


class Path(NamedTuple):
    """
    The path of one warp.


    Attributes:
        steps: The executed instructions.
        skips: Positions at which trips of a loop were skipped.
    """

    steps: list[ExecutedInstruction]
    skips: tuple[Skip, ...] = ()


@dataclass(frozen=True, slots=True)
class _State:
    """The state of a warp at the head of a loop, and the number of instructions it had executed."""

    at: int
    words: IntArray
    flags: BoolArray


class Turns:
    """
    Watches the head of a loop, and skips turns once they repeat.

    Attributes:
        loop: The loop.
        skips: The trips skipped so far.
    """

    def __init__(self, loop: Loop) -> None:
        self.loop, self.skips = loop, list[Skip]()
        self._trip = 0
        self._states: list[_State] = []

    def arrive(
        self, steps: Sequence[ExecutedInstruction], registers: Registers, local: LaneWords, *, whole: bool
    ) -> None:
        """
        Record the beginning of a trip. If the last two turns are alike, advance registers and local memory by further
        turns.

        Args:
            steps: The instructions executed so far.
            registers: Registers of the warp.
            local: Local memory of the warp, in 32-bit words.
            whole: Whether all lanes are active. Otherwise nothing is skipped.
        """
        if not whole:
            self._states = []
        elif self._trip % self.loop.turn == 0:
            self._states = [*self._states[1 - _STATES :], _state(len(steps), registers, local)]
            turns = self._turns_to_skip(steps)
            if turns:
                self._skip(turns, registers, local)
        self._trip += 1

    def _turns_to_skip(self, steps: Sequence[ExecutedInstruction]) -> int:
        left = (self.loop.trips - self._trip) // self.loop.turn - _KEPT_TURNS
        if left < 1 or len(self._states) < _STATES:
            return 0
        first, second, third = self._states
        moved = _moved(second, third)
        alike = (
            np.array_equal(moved, _moved(first, second))
            and all(np.array_equal(third.flags, other.flags) for other in (first, second))
            and _alike(steps[first.at : second.at], steps[second.at : third.at])
        )
        return min(left, _turns_without_wrap(third.words, moved)) if alike else 0

    def _skip(self, turns: int, registers: Registers, local: LaneWords) -> None:
        _, second, third = self._states
        words = ((third.words + turns * _moved(second, third)) % _WORD).astype(np.uint64)
        own, uniform = registers.vector.size, registers.uniform.size
        registers.vector[:] = words[:own].reshape(registers.vector.shape)
        registers.uniform[:] = words[own : own + uniform].reshape(registers.uniform.shape)
        local[:] = words[own + uniform :].reshape(local.shape)
        ahead = self._trip + turns * self.loop.turn
        self.skips.append(Skip(third.at, range(self._trip, ahead)))
        self._trip, self._states = ahead, [_state(third.at, registers, local)]


def _state(at: int, registers: Registers, local: LaneWords) -> _State:
    words = np.concatenate([registers.vector.ravel(), registers.uniform.ravel(), local.ravel()]).astype(np.int64)
    return _State(at, words, np.concatenate([registers.predicates.ravel(), registers.uniform_predicates.ravel()]))


def _moved(before: _State, after: _State) -> IntArray:
    """Return the change of each 32-bit word, as a signed number."""
    moved: IntArray = (after.words - before.words + _HALF) % _WORD - _HALF
    return moved


def _turns_without_wrap(words: IntArray, moved: IntArray) -> int:
    """Return for how many turns every word stays in its half of the range, so that carries and comparisons repeat."""
    changed = moved != 0
    if not changed.any():
        return 0
    room = np.where(moved > 0, _HALF - 1 - words % _HALF, words % _HALF)[changed] // np.abs(moved[changed])
    return int(room.min())


def _alike(one: Sequence[ExecutedInstruction], other: Sequence[ExecutedInstruction]) -> bool:
    """Return whether the same instructions were executed in the same lanes, with the same predicates."""
    return len(one) == len(other) and all(
        left.at == right.at and _same(left.lanes, right.lanes) and _same(left.predicate, right.predicate)
        for left, right in zip(one, other, strict=True)
    )


def _same(one: BoolArray | None, other: BoolArray | None) -> bool:
    return one is other or (one is not None and other is not None and np.array_equal(one, other))
