"""Counts of each executed instruction: issues, lanes, wavefronts in shared memory, sectors of global memory."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

from gpusim.arrays import IntArray
from gpusim.compiled.choice import engine_of
from gpusim.execute.core import access_counts
from gpusim.execute.core import constants as core
from gpusim.execute.core.source import CTA
from gpusim.execute.run import ExecutedSteps
from gpusim.lower.sass.decode import Sass
from gpusim.lower.stream import INSTRUCTION_BYTES

COUNT_COLUMNS = ("issues", "lanes", "wavefronts", "ideal_wavefronts", "sectors", "ideal_sectors")
"""Counts in the order of the core's columns."""


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
        counts: The counts, which change when the last piece has been counted.
        rows: The rows of the instructions (``KernelExecution.rows``).
        pieces: What ``KernelExecution.run`` yields.
    """
    table = np.zeros((len(counts.rows), core.COUNTS), dtype=np.int64)
    scratch = np.zeros(core.ACCESS_SCRATCH, dtype=np.int64)
    adder = engine_of(CTA, access_counts).module.AccessCounts(rows, table.reshape(-1), scratch)
    for piece in pieces:
        adder.add(piece.steps, piece.lanes, piece.accesses, piece.addresses)
        counts.executed.add(piece.cta)
    for row, added in zip(counts.rows, table.tolist(), strict=True):
        for column, name in enumerate(COUNT_COLUMNS):
            setattr(row, name, getattr(row, name) + added[column])
