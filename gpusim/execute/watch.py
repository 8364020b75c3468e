"""Keeps the traces of a few CTAs of a launch, and examines their memory accesses on demand."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

import numpy as np

from gpusim.execute.checks.arrays import ArrayCheck
from gpusim.execute.checks.instructions import NO_ACCESS, shared_instructions
from gpusim.execute.checks.memory import MemoryCheck, MemoryFindings
from gpusim.execute.conflicts import ConflictExample, KeptAccesses
from gpusim.execute.counts import KernelCounts
from gpusim.execute.image import Allocation
from gpusim.execute.run import ExecutedSteps, KernelExecution

WATCHED_CTAS = 8
"""CTAs that are examined unless all are: from the first to the last, evenly spread."""

MOST_KEPT = 1 << 22
"""
Steps and lanes of accesses that are kept, together: 32 MiB.

Each of the watched CTAs has an equal share, and what it executes behind its share is not examined. If every CTA is
examined, what is kept is examined as soon as it is more.
"""


class LaunchWatch:
    """Watches the memory accesses of a launch."""

    def __init__(
        self, execution: KernelExecution, *, every_cta: bool = False, uninitialised: Sequence[Allocation] = ()
    ) -> None:
        """
        Prepare to watch a launch.

        Args:
            execution: The launch.
            every_cta: Look for races and unwritten reads of shared memory in all CTAs, not in ``WATCHED_CTAS`` alone.
            uninitialised: Arrays that are not written before the launch.
        """
        instructions, ctas = shared_instructions(execution.rows, execution.code), execution.launch.ctas
        self._check = MemoryCheck(execution, instructions)
        self._accesses = KeptAccesses(execution, instructions)
        self._arrays = ArrayCheck(execution, uninitialised) if uninitialised else None
        spread = np.linspace(0, ctas - 1, min(ctas, WATCHED_CTAS)).astype(int).tolist()
        accessed = bool((instructions.effect != NO_ACCESS).any())
        self._spread = frozenset(spread if accessed else ())
        self._checked = frozenset(range(ctas) if accessed and every_cta else self._spread)
        self._every_cta, self._launch = every_cta, execution.launch
        self._kept: list[ExecutedSteps] = []
        self._size, self._cta, self._steps = 0, -1, 0
        self._cut = ""

    def watch(self, pieces: Iterable[ExecutedSteps]) -> Iterator[ExecutedSteps]:
        """Yield the pieces of a trace, and keep those that are examined."""
        for piece in pieces:
            if piece.cta in self._checked:
                self._keep(piece)
            if self._arrays is not None:
                self._arrays.take(piece)
            yield piece

    def _keep(self, piece: ExecutedSteps) -> None:
        if self._every_cta:
            if self._size > MOST_KEPT:
                self._examine()
        elif piece.cta != self._cta:
            self._cta, self._size, self._steps = piece.cta, 0, 0
        elif self._size > MOST_KEPT // len(self._checked):
            where = f"CTA {self._launch.ctaid(piece.cta)} behind its first {self._steps} warp instructions"
            self._cut = self._cut or f"{where}; check_every_cta=True looks there too"
            return
        self._kept.append(piece)
        self._size += len(piece.steps) + piece.addresses.size
        self._steps += len(piece.steps)

    def findings(self) -> MemoryFindings:
        """Return races and unwritten reads."""
        self._examine()
        found = self._check.findings()
        reads = self._arrays.findings() if self._arrays else ()
        unchecked = found.unchecked or self._cut or None
        return replace(found, unwritten_reads=found.unwritten_reads + reads, unchecked=unchecked)

    def examples(self, counts: KernelCounts) -> tuple[ConflictExample, ...]:
        """Return the worst access of each instruction with bank conflicts, the instruction with the most first."""
        self._examine()
        return self._accesses.examples(counts)

    def _examine(self) -> None:
        for piece in self._kept:
            self._check.take(piece)
            if piece.cta in self._spread:
                self._accesses.take(piece)
        self._kept.clear()
        self._size = 0
