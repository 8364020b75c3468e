"""
Collects a CTA's accesses of shared memory from its trace, and finds the wait that completes each asynchronous copy.

Shared memory is divided into granules, each as large as the kernel's smallest access. An entry stands for a lane that
accesses a granule: it holds the granule, the row of the access and the lane in one integer.
"""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final, NamedTuple

import numpy as np

from gpusim.arrays import IntArray
from gpusim.execute.checks.instructions import (
    AWAITS,
    COMMITS,
    MEETS,
    NO_ACCESS,
    NOTHING,
    SharedInstructions,
)
from gpusim.execute.core import constants as core
from gpusim.execute.lane_masks import active_lanes
from gpusim.execute.run import ExecutedSteps
from gpusim.schedule.happens_before import NEVER_COMPLETE
from gpusim.schedule.warp_events import Arrive, Effect, Sync
from gpusim.units import WARP_SIZE

LANE_BITS, ROW_BITS = 5, 35
"""Bits of an entry below its granule: the row of the access, and the lane."""

ROW_MASK: Final = (1 << ROW_BITS) - 1


class SharedRows(NamedTuple):
    """
    Accesses of shared memory, one row for each warp instruction, in the order of execution.

    Attributes:
        step: Step of the CTA that made the access.
        instruction, warp: Number of its instruction, and its warp.
    """

    step: IntArray
    instruction: IntArray
    warp: IntArray


class _Lanes(NamedTuple):
    """The lanes of some rows: number of the first row, instructions, masks of the lanes that execute, addresses."""

    first: int
    instruction: IntArray
    mask: IntArray
    addresses: IntArray


@dataclass(slots=True)
class CtaAccesses:
    """
    What a CTA has done with shared memory so far.

    Attributes:
        instructions: The kernel's instructions.
        warps: Warps of the CTA.
        steps: Steps that were taken.
        examined: Rows that were examined already. They are kept because later accesses are compared with them.
        row_count: Number of rows.
    """

    instructions: SharedInstructions
    warps: int
    steps: int = 0
    examined: int = 0
    row_count: int = 0
    _rows: list[SharedRows] = field(default_factory=list)
    _lanes: list[_Lanes] = field(default_factory=list)
    _orders: list[IntArray] = field(default_factory=list)
    _carried: IntArray = field(default_factory=lambda: np.zeros(0, np.int64))

    def take(self, piece: ExecutedSteps) -> None:
        """Add a piece of the trace."""
        known = self.instructions
        ordering = np.flatnonzero((known.role[piece.steps] != NOTHING) & (piece.lanes != 0))
        if len(ordering):
            self._orders.append(np.stack([piece.warps[ordering], ordering + self.steps, piece.steps[ordering]]))
        made = piece.steps[piece.accesses]
        chosen = known.effect[made] != NO_ACCESS
        copies = known.copies[made]
        if copies.any():
            second = np.append(False, piece.accesses[1:] == piece.accesses[:-1])
            chosen &= second | ~copies
        if chosen.any():
            step, made = piece.accesses[chosen], made[chosen]
            mask = np.where(known.matrix[made], known.lanes[made], piece.lanes[step])
            self._lanes.append(_Lanes(self.row_count, made, mask, piece.addresses[chosen]))
            self._rows.append(SharedRows(step + self.steps, made, piece.warps[step]))
            self.row_count += len(step)
        self.steps += len(piece.steps)

    def rows(self) -> SharedRows:
        """Return the accesses."""
        empty = SharedRows(*np.zeros((3, 0), np.int64))
        return SharedRows(*(np.concatenate(column) for column in zip(empty, *self._rows, strict=True)))

    def entries(self) -> IntArray:
        """Return an entry for each granule that each lane accesses."""
        return np.concatenate([self._carried, *(part for lanes in self._lanes for part in self._entries(lanes))])

    def _entries(self, lanes: _Lanes) -> Iterator[IntArray]:
        known, made, addresses = self.instructions, lanes.instruction, lanes.addresses
        active = active_lanes(lanes.mask)
        generic = known.generic[made]
        if generic.any():
            active &= ~generic[:, None] | (addresses >> 32 == core.SHARED_WINDOW)
            addresses = addresses & core.ALL
        row = np.arange(lanes.first, lanes.first + len(made)) << LANE_BITS
        entries = (addresses // known.granule << ROW_BITS + LANE_BITS) + row[:, None] + np.arange(WARP_SIZE)
        for size in np.unique(known.size[made]):
            found = entries[(known.size[made] == size)[:, None] & active]
            for word in range(size // known.granule):
                yield found + (word << ROW_BITS + LANE_BITS)

    def fingerprint(self) -> bytes:
        """Return a hash that is equal for CTAs with equal accesses in equal order."""
        found = hashlib.blake2b(digest_size=16)
        for part in (*self._orders, *(column for rows in self._rows for column in rows)):
            found.update(part.tobytes())
        for lanes in self._lanes:
            addresses = lanes.addresses
            if (lanes.mask != core.ALL).any():
                addresses = np.where(active_lanes(lanes.mask), addresses, 0)
            found.update(lanes.mask.tobytes())
            found.update(addresses.tobytes())
        return found.digest()

    def barriers(self) -> tuple[bytes, list[list[Arrive | Sync | None]]]:
        """Return the events of each warp at barriers, and a key that is equal for CTAs with equal events."""
        warp, _, instruction = self._of(MEETS)
        events: list[list[Arrive | Sync | None]] = [[] for _ in range(self.warps)]
        for one, at in zip(warp.tolist(), instruction.tolist(), strict=True):
            events[one].append(self.instructions.barriers[at])
        return warp.tobytes() + instruction.tobytes(), events

    def segments(self, warp: IntArray, step: IntArray) -> IntArray:
        """Return how many barriers each warp met before a step; a step behind all is ``NEVER_COMPLETE``."""
        return self._before(self._of(MEETS), warp, step)

    def ends(self, rows: SharedRows) -> IntArray:
        """Return the step that completes each access: its own, or for an asynchronous copy the wait that covers it."""
        ends = rows.step.copy()
        copied = np.flatnonzero(self.instructions.effect[rows.instruction] == Effect.ASYNC_WRITE)
        if not len(copied):
            return ends
        commits, waits = self._of(COMMITS), self._of(AWAITS)
        done = self._before(commits, waits[0], waits[1]) - self.instructions.pending[waits[2]]
        group = self._before(commits, rows.warp[copied], rows.step[copied])
        for warp in np.unique(rows.warp[copied]):
            own, here = rows.warp[copied] == warp, waits[0] == warp
            complete = np.maximum.accumulate(done[here])
            steps = np.append(waits[1][here], NEVER_COMPLETE)
            ends[copied[own]] = steps[np.searchsorted(complete, group[own], side="right")]
        return ends

    def keep(self, entries: IntArray) -> None:
        """Keep only the accesses of some entries."""
        used, place = np.unique(entries >> LANE_BITS & ROW_MASK, return_inverse=True)
        self._carried = (entries & ~(ROW_MASK << LANE_BITS)) | place << LANE_BITS
        self._rows = [SharedRows(*(column[used] for column in self.rows()))]
        self._lanes.clear()
        self.examined = self.row_count = len(used)

    def _of(self, role: int) -> IntArray:
        """Return warp, step and instruction of all steps of a role, by warp and step."""
        found = np.concatenate([np.zeros((3, 0), np.int64), *self._orders], axis=1)
        found = found[:, self.instructions.role[found[2]] == role]
        return found[:, np.argsort(found[0], kind="stable")]

    @staticmethod
    def _before(events: IntArray, warp: IntArray, step: IntArray) -> IntArray:
        """Return how many events of each warp come before a step of it."""
        keys, first = events[0] * NEVER_COMPLETE * 2 + events[1], warp * NEVER_COMPLETE * 2
        return np.searchsorted(keys, first + step) - np.searchsorted(keys, first)
