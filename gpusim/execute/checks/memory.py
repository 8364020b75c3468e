"""Checks the shared-memory accesses of CTAs, and names each finding's threads, instructions and source lines."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from gpusim.arrays import IntArray
from gpusim.execute.checks.accesses import CtaAccesses, SharedRows
from gpusim.execute.checks.instructions import SharedInstructions
from gpusim.execute.checks.order import UnknownOrder, WarpOrder, warp_order
from gpusim.execute.checks.pairs import (
    AccessColumns,
    entries_to_keep,
    find_pairs,
    granules_of,
    lanes_of,
    rows_of_entries,
)
from gpusim.execute.launch import Dim
from gpusim.execute.run import ExecutedSteps, KernelExecution
from gpusim.lower.stream import INSTRUCTION_BYTES
from gpusim.schedule.happens_before import NEVER_COMPLETE
from gpusim.schedule.warp_events import Effect
from gpusim.units import WARP_SIZE

ROWS_AT_ONCE: Final = 1 << 17
"""Accesses of warps after which those of a CTA are examined, and most are forgotten."""

MOST_LISTED: Final = 4
"""Races, and unwritten reads, that are printed. Of each pair of source lines one race is."""

VERBS: Final = {
    Effect.READ: "reads",
    Effect.WRITE: "writes",
    Effect.ASYNC_WRITE: "copies to",
    Effect.ATOMIC: "updates",
}


@dataclass(frozen=True, slots=True)
class CheckedAccess:
    """
    An access of memory by one thread.

    Attributes:
        effect: Its effect on the byte.
        warp, thread: The warp, and the thread's number in the CTA.
        address: Byte address of the instruction in the kernel's text.
        text: The instruction, as a disassembler writes it.
        place: Its source line and the calls that it is inlined at: "k.cu:3". Empty if unknown.
    """

    effect: Effect
    warp: int
    thread: int
    address: int
    text: str
    place: str

    def __str__(self) -> str:
        who = f"warp {self.warp}, thread {self.thread} {VERBS[self.effect]} it"
        return f"{who} in text {self.address:#06x} {self.text}{f' ({self.place})' if self.place else ''}"


@dataclass(frozen=True, slots=True)
class SharedRace:
    """
    Two instructions whose accesses of one byte of shared memory are unordered.

    Attributes:
        kernel: Name of the kernel.
        cta: blockIdx of the first CTA in which they race.
        byte: Byte address in shared memory of an example.
        first, second: The two accesses of the example, in the order in which gpusim executed them.
        ctas: CTAs in which they race.
    """

    kernel: str
    cta: Dim
    byte: int
    first: CheckedAccess
    second: CheckedAccess
    ctas: int

    def __str__(self) -> str:
        missing = "no barrier lies"
        if self.first.effect is Effect.ASYNC_WRITE:
            alone = self.first.warp == self.second.warp
            missing = "no wait for the copy lies" if alone else "no wait for the copy with a barrier behind it lies"
        return (
            f"{self.kernel}: CTA {self.cta}: race at shared address {self.byte:#x}: {self.first}, {self.second}, and"
            f" {missing} between"
        )


@dataclass(frozen=True, slots=True)
class UnwrittenRead:
    """
    An instruction that reads a byte that no thread has written.

    Attributes:
        kernel: Name of the kernel.
        cta: blockIdx of the first CTA in which it does.
        byte: Byte address of an example, in shared memory or in an array.
        access: The access of the example.
        ctas: CTAs in which it does.
        array: Name of the array, None for shared memory.
    """

    kernel: str
    cta: Dim
    byte: int
    access: CheckedAccess
    ctas: int
    array: str | None = None

    def __str__(self) -> str:
        where = f"shared address {self.byte:#x}" if self.array is None else f"byte {self.byte} of {self.array}"
        return f"{self.kernel}: CTA {self.cta}: nobody wrote {where}: {self.access}"


@dataclass(frozen=True, slots=True)
class MemoryFindings:
    """
    What a launch did wrong with memory.

    Attributes:
        races: Pairs of instructions that race, by their addresses.
        unwritten_reads: Instructions that read bytes that no thread wrote, by their addresses. Those that race are left
            out: another order may write the bytes first.
        ctas: CTAs whose shared memory was examined.
        unchecked: The first CTA that was not examined to its end, and the reason; None if there is none.
    """

    races: tuple[SharedRace, ...] = ()
    unwritten_reads: tuple[UnwrittenRead, ...] = ()
    ctas: int = 0
    unchecked: str | None = None

    def __str__(self) -> str:
        races = {
            (one.first.place or one.first.address, one.second.place or one.second.address): one for one in self.races
        }
        reads = {(one.access.place or one.access.address, one.array): one for one in self.unwritten_reads}
        given_up = [f"races were not looked for in {self.unchecked}"] if self.unchecked else []
        return "\n".join(
            [*_listed("races", [*races.values()]), *_listed("unwritten reads", [*reads.values()]), *given_up]
        )


def _listed(what: str, findings: Sequence[object]) -> list[str]:
    """Return a line for each of the first few findings, and the number of the others."""
    more = len(findings) - MOST_LISTED
    return [*map(str, findings[:MOST_LISTED]), *([f"{more} more {what}"] if more > 0 else [])]


@dataclass(slots=True)
class _Example:
    """An example of a finding: CTA, byte, and instruction, warp and lane of each access; and the number of CTAs."""

    cta: int
    byte: int
    accesses: tuple[tuple[int, int, int], ...]
    ctas: int = 0
    last: int = -1


class MemoryCheck:
    """Checks the shared-memory accesses of CTAs. It takes their traces piece by piece."""

    def __init__(self, execution: KernelExecution, instructions: SharedInstructions) -> None:
        """
        Prepare the check.

        Args:
            execution: The launch.
            instructions: What its instructions do with shared memory.
        """
        self.execution, self.instructions = execution, instructions
        self._cta, self._ctas = -1, 0
        self._accesses = self._new()
        self._orders: dict[bytes, WarpOrder] = {}
        self._twins: dict[bytes, list[_Example]] = {}
        self._races: dict[tuple[int, ...], _Example] = {}
        self._unwritten: dict[tuple[int, ...], _Example] = {}
        self._unchecked: str | None = None

    def take(self, piece: ExecutedSteps) -> None:
        """Take a piece of a trace. The pieces of a CTA must follow one another."""
        if piece.cta != self._cta:
            self._examine()
            self._cta, self._accesses = piece.cta, self._new()
            self._ctas += 1
        self._accesses.take(piece)
        if self._accesses.row_count - self._accesses.examined > ROWS_AT_ONCE:
            self._examine(goes_on=True)

    def findings(self) -> MemoryFindings:
        """Return the findings, after the last piece."""
        self._examine()
        self._accesses = self._new()
        kernel, ctaid = self.execution.cubin.kernel, self.execution.launch.ctaid
        races = [
            SharedRace(
                kernel, ctaid(one.cta), one.byte, self._access(one.accesses[0]), self._access(one.accesses[1]), one.ctas
            )
            for _, one in sorted(self._races.items())
        ]
        racing = {instruction for pair in self._races for instruction in pair}
        reads = [
            UnwrittenRead(kernel, ctaid(one.cta), one.byte, self._access(one.accesses[0]), one.ctas)
            for key, one in sorted(self._unwritten.items())
            if key[0] not in racing
        ]
        return MemoryFindings(tuple(races), tuple(reads), self._ctas, self._unchecked)

    def _new(self) -> CtaAccesses:
        return CtaAccesses(self.instructions, self.execution.launch.warps)

    def _examine(self, *, goes_on: bool = False) -> None:
        """Examine the CTA's accesses so far. If it goes on, keep those that later accesses must be compared with."""
        held = self._accesses
        if not held.row_count:
            return
        whole = not goes_on and not held.examined
        fingerprint = held.fingerprint() if whole else b""
        if fingerprint in self._twins:
            for example in self._twins[fingerprint]:
                example.ctas += 1
            return
        rows, found = held.rows(), list[_Example]()
        try:
            columns = self._columns(held, rows)
        except UnknownOrder as error:
            self._unchecked = self._unchecked or f"CTA {self.execution.launch.ctaid(self._cta)}: {error}"
            held.keep(np.zeros(0, np.int64))
        else:
            entries = held.entries()
            pairs = find_pairs(entries, columns)
            new = rows_of_entries(pairs.unwritten) >= held.examined
            found += self._note(self._races, rows, pairs.first, pairs.second)
            found += self._note(self._unwritten, rows, pairs.unwritten[new])
            if goes_on:
                held.keep(entries_to_keep(entries, columns))
        if whole:
            self._twins[fingerprint] = found

    def _columns(self, held: CtaAccesses, rows: SharedRows) -> AccessColumns:
        key, events = held.barriers()
        if key not in self._orders:
            self._orders[key] = warp_order(events)
        order = self._orders[key]
        end = held.ends(rows)
        segment = held.segments(rows.warp, rows.step)
        end_segment = np.where(end == NEVER_COMPLETE, end, held.segments(rows.warp, end))
        return AccessColumns(
            self.instructions.effect[rows.instruction],
            rows.warp,
            rows.step,
            end,
            end_segment,
            order.rows(rows.warp, segment),
            order.clocks,
        )

    def _note(self, known: dict[tuple[int, ...], _Example], rows: SharedRows, *entries: IntArray) -> list[_Example]:
        """Keep an example of each new combination of instructions; return the examples of all combinations."""
        made = np.sort(np.stack([rows.instruction[rows_of_entries(one)] for one in entries]), axis=0)
        codes = made[0] * len(self.execution.code) + made[-1]
        found = []
        for place in np.unique(codes, return_index=True)[1].tolist():
            key = tuple(made[:, place].tolist())
            if key not in known:
                byte = int(granules_of(entries[0])[place]) * self.instructions.granule
                known[key] = _Example(self._cta, byte, tuple(self._told(rows, int(one[place])) for one in entries))
            known[key].ctas += known[key].last != self._cta
            known[key].last = self._cta
            found.append(known[key])
        return found

    @staticmethod
    def _told(rows: SharedRows, entry: int) -> tuple[int, int, int]:
        one = np.array(entry)
        row = int(rows_of_entries(one))
        return int(rows.instruction[row]), int(rows.warp[row]), int(lanes_of(one))

    def _access(self, told: Sequence[int]) -> CheckedAccess:
        instruction, warp, lane = told
        return checked_access(
            self.execution, Effect(int(self.instructions.effect[instruction])), instruction, warp, lane
        )


def checked_access(execution: KernelExecution, effect: Effect, instruction: int, warp: int, lane: int) -> CheckedAccess:
    """Return a lane's access, with the text and the source line of its instruction."""
    sass, address = execution.code[instruction], instruction * INSTRUCTION_BYTES
    text = "" if sass is None else sass.text
    return CheckedAccess(effect, warp, warp * WARP_SIZE + lane, address, text, execution.source.trail(address))
