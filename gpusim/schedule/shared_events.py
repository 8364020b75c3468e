"""
The shared-memory accesses of a program's ops, as the events of two warps. This module knows no address.

All warps of a CTA execute the same ops, so two warps represent all. Ops have no addresses, so two accesses share a byte
if any kernel could make them overlap. A fragment load may read each byte that any warp copies to its ring slot. Each
warp copies to bytes of its own, and stages accumulators in bytes of its own. Any warp may load staged accumulators.
Staged accumulators may overlap each ring slot.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TypeAlias, assert_never

import numpy as np

from gpusim.arrays import BoolArray, IntArray
from gpusim.schedule.happens_before import NEVER_COMPLETE, HappensBefore, happens_before
from gpusim.schedule.ops import (
    Barrier,
    CommitGroup,
    CopyAsync,
    Ldmatrix,
    LoadBias,
    LoadFragment,
    LoadGlobal,
    LoadPartial,
    LoadShared,
    LoadSource,
    Op,
    StoreGlobal,
    StoreShared,
    StoreTile,
    WaitGroup,
    WarpMma,
)
from gpusim.schedule.races import Overlaps, find_races
from gpusim.schedule.warp_events import AwaitCopies, CommitCopies, Effect, MemoryAccess, Sync, WarpEvent
from gpusim.tile.operand import Side

WARPS_OF_ALL = 2
"""Warps that represent all warps of a CTA."""

Slot: TypeAlias = tuple[Side, int]
"""Operand and stage of a ring slot."""


@dataclass(frozen=True, eq=False)
class SharedEvents:
    """
    The shared-memory accesses of a program, and their order.

    Attributes:
        ops: Number of ops.
        op_at: Op index of each event of a warp.
        order: The order of the accesses of both warps.
        footprints: Bytes of each footprint. The bytes are numbers that show only which accesses overlap.
    """

    ops: int
    op_at: IntArray
    order: HappensBefore
    footprints: tuple[IntArray, ...]

    @cached_property
    def _op_of(self) -> IntArray:
        """Op index of each access."""
        return self.op_at[self.order.begin]

    @cached_property
    def _access_of(self) -> IntArray:
        """Number of the first warp's access of each op; -1 for an op without one."""
        found = np.full(self.ops, -1)
        found[self._op_of[: self._of_a_warp]] = np.arange(self._of_a_warp)
        return found

    @property
    def _of_a_warp(self) -> int:
        """Number of accesses of one warp."""
        return len(self.order.begin) // WARPS_OF_ALL

    @cached_property
    def landed(self) -> IntArray:
        """
        Op index at which the access of each op has landed.

        For an async copy this is the first wait that covers it, for other accesses the op itself. It is the number of
        ops for a copy that no wait covers, and for an op without an access.
        """
        ends = self.order.end[: self._of_a_warp]
        found = np.full(self.ops, self.ops)
        done = ends != NEVER_COMPLETE
        found[self._op_of[: self._of_a_warp][done]] = self.op_at[ends[done]]
        return found

    def precedes(self, first: Sequence[int], second: Sequence[int]) -> BoolArray:
        """Return for each pair of ops whether the access of one warp is complete before another warp's is issued."""
        of_other_warp = self._of_a_warp + self._access_of[np.array(first, np.int64)]
        return self.order.precedes(of_other_warp, self._access_of[np.array(second, np.int64)])

    def races(self) -> list[tuple[int, int]]:
        """Return the pairs of op indices whose accesses race, in ascending order, the smaller index of a pair first."""
        first, second = (self._op_of[one] for one in find_races(self.order, Overlaps(self.footprints)))
        pairs = np.stack([np.minimum(first, second), np.maximum(first, second)], axis=1)
        return [(one, other) for one, other in np.unique(pairs, axis=0).tolist()]


def shared_events(ops: Sequence[Op], consumed: frozenset[tuple[int, int]]) -> SharedEvents:
    """
    Return the shared-memory accesses of a program.

    Args:
        ops: Ops of any program, shipped or mutated.
        consumed: (k tile, k group) of the fragments that a WarpMma consumes. The loads of other fragments are left out.
    """
    footprints = _Footprints.of(ops)
    warps: tuple[list[WarpEvent], ...] = tuple([] for _ in range(WARPS_OF_ALL))
    op_at: list[int] = []
    for index, op in enumerate(ops):
        if isinstance(op, Ldmatrix | LoadFragment) and (op.k_tile, op.k_group) not in consumed:
            continue
        events = footprints.events(op)
        if events:
            op_at.append(index)
            for warp, event in zip(warps, events, strict=True):
                warp.append(event)
    return SharedEvents(len(ops), np.array(op_at, np.int64), happens_before(warps), footprints.bytes())


@lru_cache(maxsize=4096)
def _accesses(kind: Effect, footprint: int, apart: int) -> tuple[WarpEvent, ...]:
    """Return an access of each warp. The footprint of the first is given, those of the others are ``apart`` further."""
    return tuple(MemoryAccess(kind, footprint + warp * apart) for warp in range(WARPS_OF_ALL))


@dataclass(frozen=True, slots=True)
class _Footprints:
    """
    The footprints of a program's accesses, in the order of their numbers.

    These are each warp's copy to each place of each ring slot, the whole of each slot, each warp's staged accumulators,
    and all staged accumulators.

    Attributes:
        slots: Numbers of the ring slots.
        places: Numbers of the copies (access, vec) into a slot, at least one.
    """

    slots: Mapping[Slot, int]
    places: Mapping[tuple[int, int], int]

    @classmethod
    def of(cls, ops: Sequence[Op]) -> "_Footprints":
        slots: dict[Slot, int] = {}
        places: dict[tuple[int, int], int] = {}
        for op in ops:
            if isinstance(op, CopyAsync | StoreTile | Ldmatrix | LoadFragment):
                slots.setdefault((op.operand, op.stage), len(slots))
            if isinstance(op, CopyAsync | StoreTile):
                places.setdefault(_place(op), len(places))
        return cls(slots, places or {(0, 0): 0})

    def events(self, op: Op) -> tuple[WarpEvent, ...]:
        """Return the event of an op in each warp; empty if it has none."""
        events: tuple[WarpEvent, ...] = ()
        whole = len(self.slots) * len(self.places) * WARPS_OF_ALL
        staged = whole + len(self.slots)
        match op:
            case CopyAsync() | StoreTile():
                kind = Effect.ASYNC_WRITE if isinstance(op, CopyAsync) else Effect.WRITE
                slot, place = self.slots[op.operand, op.stage], self.places[_place(op)]
                events = _accesses(kind, (slot * len(self.places) + place) * WARPS_OF_ALL, 1)
            case CommitGroup():
                events = (CommitCopies(),) * WARPS_OF_ALL
            case WaitGroup():
                events = (AwaitCopies(op.pending),) * WARPS_OF_ALL
            case Barrier():
                events = (Sync(0),) * WARPS_OF_ALL
            case Ldmatrix() | LoadFragment():
                events = _accesses(Effect.READ, whole + self.slots[op.operand, op.stage], 0)
            case StoreShared():
                events = _accesses(Effect.WRITE, staged, 1)
            case LoadShared():
                events = _accesses(Effect.READ, staged + WARPS_OF_ALL, 0)
            case WarpMma() | LoadSource() | LoadBias() | LoadPartial() | StoreGlobal() | LoadGlobal():
                pass  # Registers and global memory only.
            case _:
                assert_never(op)
        return events

    def bytes(self) -> tuple[IntArray, ...]:
        """Return the bytes of each footprint: one for each slot, place, warp that copies and warp that stages."""
        slots, places = len(self.slots), len(self.places)
        ring = np.arange(slots * places * WARPS_OF_ALL * WARPS_OF_ALL).reshape(
            slots, places, WARPS_OF_ALL, WARPS_OF_ALL
        )
        staging = ring.size + np.arange(WARPS_OF_ALL)
        return (
            *ring.reshape(-1, WARPS_OF_ALL),
            *ring.reshape(slots, places * WARPS_OF_ALL * WARPS_OF_ALL),
            *(np.append(ring[..., warp], staging[warp]) for warp in range(WARPS_OF_ALL)),
            staging,
        )


def _place(op: CopyAsync | StoreTile) -> tuple[int, int]:
    return op.access, op.vec if isinstance(op, CopyAsync) else 0
