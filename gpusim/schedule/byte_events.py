"""
The shared-memory accesses of a kernel's CTAs as events of all warps, byte for byte, and the races among them.

An op's SASS instruction says what it does. This module knows the addresses of a kernel, and no family.
"""

from collections.abc import Sequence
from typing import Final, Generic, NamedTuple, assert_never

import numpy as np

from gpusim.arrays import IntArray
from gpusim.schedule.happens_before import happens_before
from gpusim.schedule.lanes import Lanes, Shared, StepT
from gpusim.schedule.ops import SassOpcode
from gpusim.schedule.races import Overlaps, find_races
from gpusim.schedule.warp_events import AwaitCopies, CommitCopies, Effect, MemoryAccess, Sync, WarpEvent

EFFECTS: Final[dict[SassOpcode, Effect]] = {
    "LDSM": Effect.READ,
    "LDS": Effect.READ,
    "STS": Effect.WRITE,
    "LDGSTS": Effect.ASYNC_WRITE,
    "ATOMS": Effect.ATOMIC,
}
"""Actions of the instructions that access shared memory."""


class Race(NamedTuple):
    """
    Two accesses of shared memory that race.

    Attributes:
        first, second: Indices of their steps, and warps.
    """

    first: tuple[int, int]
    second: tuple[int, int]


def races_of(lanes: Lanes[StepT], programs: Sequence[Sequence[StepT]]) -> tuple[tuple[Race, ...], ...]:
    """
    Find the races of programs that CTAs of one kernel execute.

    Args:
        lanes: Addresses of the kernel.
        programs: Steps of each program, shipped or mutated.

    Returns:
        The races of each program: of each pair of steps one, in order of the later step.

    Not modelled: predicated-off lanes of a copy (each counts as a write).
    """
    accesses = _Accesses(lanes)
    events = [accesses.events(steps) for steps in programs]
    overlaps = Overlaps(accesses.footprints)
    return tuple(_races(warps, places, overlaps) for warps, places in events)


def _races(warps: list[list[WarpEvent]], places: list[list[int]], overlaps: Overlaps) -> tuple[Race, ...]:
    order = happens_before(warps)
    found = find_races(order, overlaps)
    of_steps: dict[tuple[int, int], Race] = {}
    for pair in zip(found.first.tolist(), found.second.tolist(), strict=True):
        one, other = sorted(
            (places[order.warp[access]][order.begin[access]], int(order.warp[access])) for access in pair
        )
        of_steps.setdefault((other[0], one[0]), Race(one, other))
    return tuple(race for _, race in sorted(of_steps.items()))


class _Accesses(Generic[StepT]):
    """
    The accesses of a kernel.

    Attributes:
        footprints: Addresses in the CTA's shared memory of each footprint that was met.
    """

    def __init__(self, lanes: Lanes[StepT]) -> None:
        self.lanes = lanes
        self.footprints: list[IntArray] = []
        self._numbers: dict[bytes, int] = {}
        self._known: dict[tuple[Shared, int, SassOpcode], list[WarpEvent]] = {}

    def events(self, steps: Sequence[StepT]) -> tuple[list[list[WarpEvent]], list[list[int]]]:
        """Return the events of each warp, and the index of each one's step."""
        warps: list[list[WarpEvent]] = [[] for _ in range(self.lanes.warps)]
        places: list[list[int]] = [[] for _ in range(self.lanes.warps)]
        for index, step in enumerate(steps):
            events = self._of_step(step)
            for warp in self.lanes.warps_of(step) if events else ():
                warps[warp].append(events[warp])
                places[warp].append(index)
        return warps, places

    def _of_step(self, step: StepT) -> list[WarpEvent]:
        """Return the event of a step in each warp, were it to execute it; empty if it has none."""
        opcode: SassOpcode | None = self.lanes.op(step).opcode
        match opcode:
            case "LDGDEPBAR":
                return [CommitCopies()] * self.lanes.warps
            case "DEPBAR":
                return [AwaitCopies(self.lanes.op(step).pending)] * self.lanes.warps
            case "BAR":
                return [Sync(0)] * self.lanes.warps
            case "LDSM" | "LDS" | "STS" | "LDGSTS" | "ATOMS":
                return self._accesses(step, opcode)
            case "HMMA" | "IMMA" | "LDG" | "STG" | "SHFL" | "MUFU" | None:
                return []
            case _:
                assert_never(opcode)

    def _accesses(self, step: StepT, opcode: SassOpcode) -> list[WarpEvent]:
        """
        Return the access of each warp.

        Raises:
            TypeError: The kernel has no address for it.
        """
        shared, base = self.lanes.shared(step), self.lanes.base(step)
        if shared is None:
            raise TypeError(f"{step} accesses shared memory, and has no address")
        key = shared, base, opcode
        if key not in self._known:
            footprints = _bytes_of_warps(shared, base)
            self._known[key] = [MemoryAccess(EFFECTS[opcode], self._number(bytes_)) for bytes_ in footprints]
        return self._known[key]

    def _number(self, footprint: IntArray) -> int:
        number = self._numbers.setdefault(footprint.tobytes(), len(self.footprints))
        if number == len(self.footprints):
            self.footprints.append(footprint)
        return number


def _bytes_of_warps(shared: Shared, base: int) -> list[IntArray]:
    """Return the addresses of the bytes that each warp accesses, ascending."""
    table, addresses = shared.table, shared.addresses + base
    active = np.ones_like(addresses, np.bool_)
    if table.active is not None:
        active = np.broadcast_to(table.active, table.offsets.shape)[shared.place]
    each = np.arange(table.width)
    return [np.unique(own[taken][:, None] + each) for own, taken in zip(addresses, active, strict=True)]
