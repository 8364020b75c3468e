"""The shared access of each kind with the most bank conflicts: the instruction to examine lane by lane."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from gpusim.arrays import BoolArray, IntArray
from gpusim.schedule.counts import ConflictRow, CountedKernel
from gpusim.tile.shared_tables import SharedTable
from gpusim.units import WARP_SIZE


@dataclass(frozen=True, slots=True)
class WorstAccess:
    """
    The instruction of one warp that has the most wavefronts beyond the ideal among all of its kind.

    Attributes:
        row: Kind of the access, as in the table of bank conflicts.
        table: Table that contains the access.
        index: Index of the access in the table, with the warp last.
    """

    row: ConflictRow
    table: SharedTable
    index: tuple[int, ...]

    @property
    def addresses(self) -> IntArray:
        """Byte address of each lane from the operand's base. Shape (32,)."""
        return np.asarray(self.table.addresses[self.index])

    @property
    def active(self) -> BoolArray:
        """Lanes that take part. Shape (32,)."""
        active = self.table.active
        if active is None:
            return np.ones(WARP_SIZE, dtype=np.bool_)
        return np.asarray(np.broadcast_to(active, self.table.offsets.shape)[self.index])

    @property
    def wavefronts(self) -> int:
        """Wavefronts that it needs."""
        return int(self.table.wavefronts[self.index])

    @property
    def conflicts(self) -> int:
        """Wavefronts beyond the ideal."""
        return self.wavefronts - int(self.table.ideal[self.index])


def worst_accesses(kernel: CountedKernel[Any]) -> tuple[WorstAccess, ...]:
    """
    Return the worst access of each row of a kernel's bank-conflict table, the worst first.

    Rows with equal conflicts keep the order of the table. Of equally bad accesses the first one issued is returned.
    """
    lanes = kernel.lanes()
    worst: dict[ConflictRow, WorstAccess] = {}
    seen = set()
    for steps, _ in kernel.programs():
        for step in dict.fromkeys(steps):
            row, shared = kernel.row(step, lanes), lanes.shared(step)
            if row is None or shared is None or (row, id(shared.table), shared.place) in seen:
                continue
            seen.add((row, id(shared.table), shared.place))
            extra = shared.table.wavefronts[shared.place] - shared.table.ideal[shared.place]
            found = WorstAccess(row, shared.table, (*shared.place, int(np.argmax(extra))))
            if row not in worst or found.conflicts > worst[row].conflicts:
                worst[row] = found
    return tuple(sorted(worst.values(), key=lambda access: (-access.conflicts, access.row)))
