"""Counts of each executed instruction: issues, lanes, wavefronts in shared memory, sectors of global memory."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

from gpusim.arrays import BoolArray, IntArray
from gpusim.execute.core import constants as core
from gpusim.execute.run import ExecutedSteps
from gpusim.layout.banks import access_ideal, access_wavefronts, ldmatrix_ideal, ldmatrix_wavefronts
from gpusim.lower.sass.decode import Sass
from gpusim.lower.stream import INSTRUCTION_BYTES
from gpusim.units import SECTOR_BYTES, WARP_SIZE, WORD_BYTES


@dataclass(slots=True)
class InstructionCounts:
    """
    What all warps did with one instruction.

    Attributes:
        address: Byte address in the kernel's text.
        text: The instruction as a disassembler writes it.
        issues: Warps that issued it, those without an active lane among them.
        lanes: Active lanes, over all issues.
        wavefronts, ideal_wavefronts: Wavefronts in shared memory, and those that it would take without bank conflicts.
            Atomics are not counted.
        sectors, ideal_sectors: Sectors of 32 bytes of global memory, and those that hold as many bytes as are accessed.
    """

    address: int
    text: str
    issues: int = 0
    lanes: int = 0
    wavefronts: int = 0
    ideal_wavefronts: int = 0
    sectors: int = 0
    ideal_sectors: int = 0

    @property
    def conflicts(self) -> int:
        """Wavefronts beyond the ideal ones."""
        return self.wavefronts - self.ideal_wavefronts


@dataclass(slots=True)
class KernelCounts:
    """
    Counts of a whole launch.

    Attributes:
        rows: The instructions, by address.
        executed: Numbers of the CTAs that were executed.
    """

    rows: list[InstructionCounts]
    executed: set[int] = field(default_factory=set)

    def total(self, name: str) -> int:
        """Return the sum of a count over all instructions, by its name in ``InstructionCounts``."""
        return sum(getattr(row, name) for row in self.rows)


def empty_counts(code: Sequence[Sass | None]) -> KernelCounts:
    """Return the counts of a kernel that was not executed yet."""
    return KernelCounts(
        [
            InstructionCounts(at * INSTRUCTION_BYTES, "(not decoded)" if sass is None else sass.text)
            for at, sass in enumerate(code)
        ]
    )


def count(counts: KernelCounts, rows: IntArray, pieces: Iterable[ExecutedSteps]) -> None:
    """
    Add what was executed.

    Args:
        counts: The counts, which change.
        rows: The rows of the instructions (``KernelExecution.rows``).
        pieces: What ``KernelExecution.run`` yields.
    """
    table = rows.reshape(-1, core.ROW)
    for piece in pieces:
        _count_steps(counts, piece)
        active = (piece.lanes[piece.accesses][:, None] >> np.arange(WARP_SIZE) & 1).astype(np.bool_)
        instructions = piece.steps[piece.accesses]
        for number in np.unique(instructions):
            chosen = instructions == number
            _count_accesses(counts.rows[number], table[number], piece.addresses[chosen], active[chosen])


def _count_steps(counts: KernelCounts, piece: ExecutedSteps) -> None:
    issues = np.bincount(piece.steps, minlength=len(counts.rows))
    lanes = np.bincount(piece.steps, np.bitwise_count(piece.lanes.astype(np.uint64)), minlength=len(counts.rows))
    for number in np.flatnonzero(issues):
        counts.rows[number].issues += int(issues[number])
        counts.rows[number].lanes += int(lanes[number])
    counts.executed.add(piece.cta)


def _count_accesses(row: InstructionCounts, cells: IntArray, addresses: IntArray, active: BoolArray) -> None:
    kind, size, space = int(cells[core.KIND]), int(cells[core.SIZE]), int(cells[core.SPACE])
    if kind == core.COPY:
        # A copy leaves two rows: what it reads, then what it writes.
        _count_global(row, addresses[::2], active[::2], size)
        _count_shared(row, addresses[1::2], active[1::2], size, loads=False)
    elif kind == core.LOAD_MATRIX:
        row.wavefronts += int(ldmatrix_wavefronts(addresses, size).sum())
        row.ideal_wavefronts += len(addresses) * ldmatrix_ideal(size)
    elif space == core.GLOBAL_SPACE:
        _count_global(row, addresses, active, size)
    elif space == core.GENERIC_SPACE:
        shared, local = addresses >> 32 == core.SHARED_WINDOW, addresses >> 32 == core.LOCAL_WINDOW
        _count_global(row, addresses, active & ~shared & ~local, size)
        _count_shared(row, addresses & core.ALL, active & shared, size, loads=kind == core.LOAD)
    elif space == core.SHARED_SPACE and kind != core.ATOMIC:
        _count_shared(row, addresses, active, size, loads=kind == core.LOAD)


def _count_shared(row: InstructionCounts, addresses: IntArray, active: BoolArray, size: int, *, loads: bool) -> None:
    width = max(size, WORD_BYTES)  # lanes of one word share it, whichever of its bytes they access
    words = np.where(active, addresses // width * width, 0)
    row.wavefronts += int(access_wavefronts(words, width, active, loads=loads).sum())
    row.ideal_wavefronts += int(access_ideal(width, active, loaded=words if loads else None).sum())


def _count_global(row: InstructionCounts, addresses: IntArray, active: BoolArray, size: int) -> None:
    row.sectors += int(_distinct(addresses // SECTOR_BYTES, active).sum())
    bytes_accessed = _distinct(addresses, active) * size
    row.ideal_sectors += int((-(-bytes_accessed // SECTOR_BYTES)).sum())


def _distinct(values: IntArray, active: BoolArray) -> IntArray:
    """Return how many distinct values the active lanes of each access have."""
    ordered = np.sort(np.where(active, values, -1), axis=-1)
    first = ordered >= 0
    first[:, 1:] &= ordered[:, 1:] != ordered[:, :-1]
    distinct: IntArray = first.sum(axis=-1, dtype=np.int64)
    return distinct
