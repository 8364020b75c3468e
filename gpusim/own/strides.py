"""Finds how far apart in memory neighbouring lanes are, from the accesses of a launch's first CTA."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from gpusim.arrays import BoolArray, IntArray
from gpusim.execute.core import constants as core
from gpusim.execute.lane_masks import active_lanes
from gpusim.execute.run import ExecutedSteps

MOST_ACCESSES: Final = 1 << 14
"""Accesses of the first CTA after which no more are kept."""


@dataclass(slots=True)
class FirstAccesses:
    """
    The accesses to memory of the first CTA.

    Attributes:
        rows: The executor's rows (``KernelExecution.rows``).
        instruction: Number of the instruction of each access.
        addresses, active: Byte address of each lane, and the lanes that take part, shape [accesses, 32].
    """

    rows: IntArray
    instruction: list[IntArray] = field(default_factory=list)
    addresses: list[IntArray] = field(default_factory=list)
    active: list[BoolArray] = field(default_factory=list)
    _cta: int = -1
    _seen: int = 0

    def watch(self, pieces: Iterable[ExecutedSteps]) -> Iterator[ExecutedSteps]:
        """Yield what an execution yields, and keep the accesses of its first CTA."""
        for piece in pieces:
            self._cta = piece.cta if self._cta < 0 else self._cta
            if piece.cta == self._cta and self._seen < MOST_ACCESSES and len(piece.accesses):
                self._seen += len(piece.accesses)
                self.instruction.append(piece.steps[piece.accesses])
                self.addresses.append(piece.addresses.copy())
                self.active.append(active_lanes(piece.lanes[piece.accesses]))
            yield piece

    def strides(self) -> dict[int, int]:
        """
        Return by instruction the distance of neighbouring lanes' addresses in bytes, if most have the same.

        Of a copy it is that of its reads. ldmatrix has none.
        """
        found: dict[int, int] = {}
        if not self.instruction:
            return found
        instruction, addresses = np.concatenate(self.instruction), np.concatenate(self.addresses)
        active, kinds = np.concatenate(self.active), self.rows.reshape(-1, core.ROW)[:, core.KIND]
        for number in np.unique(instruction).tolist():
            chosen = np.flatnonzero(instruction == number)[:: 2 if kinds[number] == core.COPY else 1]
            apart = np.diff(addresses[chosen], axis=1)[active[chosen][:, 1:] & active[chosen][:, :-1]]
            if kinds[number] == core.LOAD_MATRIX or not len(apart):
                continue
            values, counts = np.unique(apart, return_counts=True)
            if 2 * counts.max() > len(apart):
                found[number] = int(values[counts.argmax()])
        return found
