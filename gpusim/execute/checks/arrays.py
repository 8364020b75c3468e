"""Finds the instructions that read uninitialised arrays in global memory before any thread writes them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np

from gpusim.arrays import BoolArray, IntArray
from gpusim.execute.checks.memory import UnwrittenRead, checked_access
from gpusim.execute.core import constants as core
from gpusim.execute.image import Allocation
from gpusim.execute.lane_masks import active_lanes
from gpusim.execute.run import ExecutedSteps, KernelExecution
from gpusim.lower.sass.operands import PT
from gpusim.schedule.warp_events import Effect

ACCESS_KINDS: Final = (core.LOAD, core.STORE_WORDS, core.ATOMIC, core.COPY)


class _Read(NamedTuple):
    """A read of a byte that nobody has written: CTA, byte of the array, and who reads it."""

    cta: int
    byte: int
    instruction: int
    warp: int
    lane: int


@dataclass(slots=True)
class _Watched:
    """An array, and whether each granule of it is written. A granule is as large as the kernel's smallest access."""

    array: Allocation
    written: BoolArray


class ArrayCheck:
    """
    Finds reads of uninitialised arrays before a write.

    "Before" means the order in which gpusim executes CTAs and warps.
    """

    def __init__(self, execution: KernelExecution, arrays: Sequence[Allocation]) -> None:
        """
        Prepare the check.

        Args:
            execution: The launch.
            arrays: The arrays.
        """
        self.execution = execution
        table = execution.rows.reshape(-1, core.ROW)
        kind, space = table[:, core.KIND], table[:, core.SPACE]
        self._kind, self._size = kind, table[:, core.SIZE]
        self._accesses = np.isin(kind, ACCESS_KINDS) & np.isin(space, (core.GLOBAL_SPACE, core.GENERIC_SPACE))
        # A copy whose predicate does not hold reads nothing, and its trace does not tell whether it does.
        self._accesses &= (kind != core.COPY) | ((table[:, core.X] == PT) & (table[:, core.X_FLIP] == 0))
        sizes = self._size[self._accesses]
        self._granule = int(sizes.min()) if len(sizes) else 1
        self._watched = [_Watched(one, np.zeros(-(-one.size // self._granule), np.bool_)) for one in arrays]
        self._reads: dict[tuple[int, str], tuple[_Read, set[int]]] = {}

    def take(self, piece: ExecutedSteps) -> None:
        """Take a piece of the trace; the pieces come in the order of execution."""
        made = piece.steps[piece.accesses]
        chosen = self._accesses[made]
        # The second row of a copy is where it writes in shared memory.
        chosen &= (self._kind[made] != core.COPY) | np.append(True, piece.accesses[1:] != piece.accesses[:-1])[
            : len(made)
        ]
        rows = np.flatnonzero(chosen)
        if not len(rows):
            return
        addresses, active = piece.addresses[rows], active_lanes(piece.lanes[piece.accesses[rows]])
        for watched in self._watched:
            offset = addresses - watched.array.address
            inside = active & (offset >= 0) & (offset + self._size[made[rows]][:, None] <= watched.array.size)
            if inside.any():
                self._examine(piece, watched, rows, offset, inside)

    def findings(self) -> tuple[UnwrittenRead, ...]:
        """Return the first read of each instruction and array, by the instruction's address."""
        found = []
        for (instruction, array), (read, ctas) in sorted(self._reads.items()):
            effect = Effect.ATOMIC if self._kind[instruction] == core.ATOMIC else Effect.READ
            access = checked_access(self.execution, effect, instruction, read.warp, read.lane)
            launch, kernel = self.execution.launch, self.execution.cubin.kernel
            found.append(UnwrittenRead(kernel, launch.ctaid(read.cta), read.byte, access, len(ctas), array))
        return tuple(found)

    def _examine(
        self, piece: ExecutedSteps, watched: _Watched, rows: IntArray, offset: IntArray, inside: BoolArray
    ) -> None:
        """Find the reads of granules that are not written yet, and mark the granules that the piece writes."""
        row, lane = np.nonzero(inside)
        made = piece.steps[piece.accesses[rows[row]]]
        words = self._size[made] // self._granule
        entry = np.repeat(np.arange(len(row)), words)
        word = np.arange(len(entry)) - np.repeat(np.cumsum(words) - words, words)
        granule = offset[row, lane][entry] // self._granule + word
        row, lane, kind = row[entry], lane[entry], self._kind[made][entry]
        writes = np.isin(kind, (core.STORE_WORDS, core.ATOMIC))
        targets, first = np.unique(granule[writes], return_index=True)
        place = np.searchsorted(targets, granule)
        before = np.append(row[writes][first], len(rows))[np.where(np.isin(granule, targets), place, len(targets))]
        unwritten = np.flatnonzero((kind != core.STORE_WORDS) & ~watched.written[granule] & (before >= row))
        for one in unwritten[np.unique(made[entry][unwritten], return_index=True)[1]].tolist():
            instruction = int(made[entry[one]])
            warp = int(piece.warps[piece.accesses[rows[row[one]]]])
            byte = int(granule[one]) * self._granule
            read = _Read(piece.cta, byte, instruction, warp, int(lane[one]))
            self._reads.setdefault((instruction, watched.array.name), (read, set()))[1].add(piece.cta)
        watched.written[targets] = True
