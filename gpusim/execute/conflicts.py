"""Keeps shared-memory accesses of a launch, and shows the lanes that collide in the worst access of an instruction."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Final

import numpy as np

from gpusim.arrays import IntArray
from gpusim.execute.checks.instructions import NO_ACCESS, SharedInstructions
from gpusim.execute.core import constants as core
from gpusim.execute.counts import KernelCounts
from gpusim.execute.lane_masks import active_lanes
from gpusim.execute.launch import Dim
from gpusim.execute.remedies import ConflictRemedy, WarpAccess, remedy_of
from gpusim.execute.run import ExecutedSteps, KernelExecution
from gpusim.layout.banks import BANK_BYTES, MATRIX_ROWS, conflict_groups
from gpusim.lower.stream import INSTRUCTION_BYTES
from gpusim.schedule.warp_events import Effect
from gpusim.units import WARP_SIZE

KEPT_ACCESSES: Final = 64
"""Accesses of each instruction that are kept of a CTA."""

SHORT_RUN: Final = 2
"""Lanes of the longest run that is listed lane by lane."""

MOST_EXAMPLES: Final = 4
"""Source lines whose examples are shown."""

MOST_SHOWN: Final = 8
"""Lanes that a message lists one by one."""


@dataclass(frozen=True, slots=True)
class ConflictExample:
    """
    The worst access of an instruction that has bank conflicts.

    Attributes:
        address: Byte address of the instruction in the kernel's text.
        text: The instruction, as a disassembler writes it.
        place: Its source line and the calls that it is inlined at: "k.cu:3". Empty if unknown.
        conflicts: Wavefronts beyond the ideal ones, over all accesses of the instruction in the launch.
        cta, warp: blockIdx of its CTA, and its warp.
        wavefronts, ideal_wavefronts: Wavefronts of the access, and of an access without conflicts.
        bank: The bank that takes the most wavefronts.
        lanes_of_word: Lanes that access the bank, by the byte address of the word.
        access: The access.
    """

    address: int
    text: str
    place: str
    conflicts: int
    cta: Dim
    warp: int
    wavefronts: int
    ideal_wavefronts: int
    bank: int
    lanes_of_word: dict[int, tuple[int, ...]]
    access: WarpAccess = field(repr=False, compare=False)

    @property
    def remedy(self) -> ConflictRemedy | None:
        """What would free the access; None if its lanes have no stride."""
        return remedy_of(self.access)

    @property
    def lanes(self) -> tuple[int, ...]:
        """Lanes that collide, ascending."""
        return tuple(sorted({lane for lanes in self.lanes_of_word.values() for lane in lanes}))

    def __str__(self) -> str:
        where = f" ({self.place})" if self.place else ""
        words = sorted(self.lanes_of_word)
        shown = [f"{word:#x}" for word in words]
        listed = ", ".join(shown if len(shown) <= MOST_SHOWN else [*shown[: MOST_SHOWN - 2], "...", shown[-1]])
        remedy = self.remedy or "the lanes have no stride"
        return (
            f"{self.address:#06x} {self.text}{where}: {self.wavefronts} wavefronts instead of {self.ideal_wavefronts}"
            f" in CTA {self.cta}, warp {self.warp}: lanes {_ranges(self.lanes)} access {len(words)} words of bank"
            f" {self.bank} ({listed}); {remedy}"
        )


def _ranges(numbers: tuple[int, ...]) -> str:
    """Return ascending numbers as runs: "0 to 3, 7, 8"."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    texts = [text for run in runs for text in ([f"{run[0]} to {run[-1]}"] if len(run) > SHORT_RUN else map(str, run))]
    return ", ".join(texts if len(texts) <= MOST_SHOWN else [*texts[: MOST_SHOWN - 2], "...", texts[-1]])


def conflict_lines(examples: Sequence[ConflictExample]) -> list[str]:
    """Return a line for the first example of each of the first few source lines, and the number of the others."""
    first: dict[str, ConflictExample] = {}
    for one in examples:
        first.setdefault(one.place or f"{one.address}", one)
    lines = [f"bank conflicts: {one}" for one in list(first.values())[:MOST_EXAMPLES]]
    return [
        *lines,
        *([f"bank conflicts in {len(first) - MOST_EXAMPLES} more lines"] if len(first) > MOST_EXAMPLES else []),
    ]


@dataclass(frozen=True, slots=True)
class _Kept:
    """Accesses of one instruction by one CTA: lanes that execute them, warps and addresses."""

    cta: int
    lanes: IntArray
    warps: IntArray
    addresses: IntArray


class KeptAccesses:
    """Some accesses of shared memory of each instruction of a launch."""

    def __init__(self, execution: KernelExecution, instructions: SharedInstructions) -> None:
        """
        Prepare to keep accesses.

        Args:
            execution: The launch.
            instructions: What its instructions do with shared memory.
        """
        self.execution, self.instructions = execution, instructions
        self._counted = (instructions.effect != NO_ACCESS) & (instructions.effect != Effect.ATOMIC)
        self._kept: dict[int, list[_Kept]] = {}

    def take(self, piece: ExecutedSteps) -> None:
        """Keep some accesses of a piece of the trace. The pieces of a CTA follow one another."""
        made = piece.steps[piece.accesses]
        known, chosen = self.instructions, self._counted[made]
        copies = known.copies[made]
        if copies.any():
            chosen = chosen & (np.append(False, piece.accesses[1:] == piece.accesses[:-1]) | ~copies)
        for instruction in np.unique(made[chosen]).tolist():
            kept = self._kept.setdefault(instruction, [])
            if not kept or kept[-1].cta != piece.cta:
                rows = np.flatnonzero(chosen & (made == instruction))[:KEPT_ACCESSES]
                steps = piece.accesses[rows]
                kept.append(_Kept(piece.cta, piece.lanes[steps], piece.warps[steps], piece.addresses[rows]))

    def examples(self, counts: KernelCounts) -> tuple[ConflictExample, ...]:
        """
        Return the worst access of each instruction with conflicts, the instruction with the most conflicts first.

        Args:
            counts: Counts of the launch. An instruction of which no kept access has a conflict has no example.
        """
        found = []
        for number, row in enumerate(counts.rows):
            worst = self._worst(number) if row.conflicts else None
            if worst is not None:
                cta, warp, access = worst
                found.append(self._example(number, row.conflicts, self.execution.launch.ctaid(cta), warp, access))
        return tuple(sorted(found, key=lambda one: (-one.conflicts, one.address)))

    def _worst(self, number: int) -> tuple[int, int, WarpAccess] | None:
        """Return CTA, warp and access of the kept access with the most conflicts, the first of several."""
        most, found = 0, None
        for kept in self._kept.get(number, ()):
            together = self._access(number, kept.lanes, kept.addresses)
            conflicts = together.wavefronts - together.ideal_wavefronts
            place = int(np.argmax(conflicts))
            if conflicts[place] > most:
                most = int(conflicts[place])
                one = replace(together, addresses=together.addresses[place], active=together.active[place])
                found = kept.cta, int(kept.warps[place]), one
        return found

    def _access(self, number: int, lanes: IntArray, addresses: IntArray) -> WarpAccess:
        known = self.instructions
        matrix = bool(known.matrix[number])
        mask = np.full_like(lanes, known.lanes[number]) if matrix else lanes
        active = active_lanes(mask)
        if known.generic[number]:
            active &= addresses >> 32 == core.SHARED_WINDOW
            addresses = addresses & core.ALL
        phase = MATRIX_ROWS if matrix else WARP_SIZE
        loads = known.effect[number] == Effect.READ and not matrix
        return WarpAccess(addresses, active, int(known.size[number]), phase, loads)

    def _example(self, number: int, conflicts: int, cta: Dim, warp: int, access: WarpAccess) -> ConflictExample:
        groups = conflict_groups(
            access.words(access.addresses),
            access.word,
            access.active,
            phase_lanes=access.phase_lanes,
            loads=access.loads,
        )
        worst = max(groups, key=lambda one: (one.wavefronts, -one.phase, -one.bank))
        address = number * INSTRUCTION_BYTES
        sass = self.execution.code[number]
        return ConflictExample(
            address,
            "" if sass is None else sass.text,
            self.execution.source.trail(address),
            conflicts,
            cta,
            warp,
            int(access.wavefronts),
            int(access.ideal_wavefronts),
            worst.bank,
            {word * BANK_BYTES: lanes for word, lanes in worst.lanes_of_word.items()},
            access,
        )
