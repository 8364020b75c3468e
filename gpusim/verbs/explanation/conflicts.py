"""
The lanes, addresses and banks that collide in shared memory, and layouts of an operand with fewer conflicts.

A layout is tried on the whole kernel: the wavefronts of all stores to and loads from the operand are counted again.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from gpusim.arrays import BoolArray, IntArray
from gpusim.errors import GpusimError
from gpusim.families.registry import family_of
from gpusim.layout.banks import MATRIX_ROWS, Banks, conflict_groups, ldmatrix_lanes
from gpusim.machine.load import load_machine
from gpusim.results.result import BankConflicts
from gpusim.scenario.models import Scenario
from gpusim.schedule.counts import ConflictRow, CountedKernel, count
from gpusim.schedule.lanes import Shared
from gpusim.units import WARP_SIZE
from gpusim.verbs.explanation.schedules import with_settings

FIXES: Final = 3
"""Largest number of layouts that are proposed for an operand."""

SWIZZLES: Final = tuple(
    f"Swizzle<{bits},{base},{shift}>" for base in (2, 3, 4) for bits in (1, 2, 3) for shift in (2, 3, 4)
)
"""The tried swizzles: all of up to 8 rows, over 16 bytes of 32, 16 and 8-bit elements."""

CANDIDATES: Final = ("crosswise", "congruous", *SWIZZLES, "padded<4>", "padded<8>", "padded<16>", "padded<32>")
"""The tried layouts. Layouts that do not fit an operand are skipped."""

ADDRESS_INSTRUCTIONS: Final = {"Swizzle": 3, "crosswise": 3, "congruous": 3}
"""Integer instructions of an address, by the first part of a layout's name: and, shift, xor. Padding has none."""


@dataclass(frozen=True, slots=True)
class Fix:
    """
    A layout that has fewer conflicts.

    Attributes:
        setting: Key and value of the scenario, as ``--set`` takes them.
        conflicts: Conflicts that remain, over the grid and all accesses of the operand.
        shared_bytes: Bytes of a CTA's shared memory that it adds.
        instructions: Integer instructions that compute an address from scratch.
    """

    setting: str
    conflicts: int
    shared_bytes: int
    instructions: int


@dataclass(frozen=True, slots=True)
class Collision:
    """
    One operation's worst conflict.

    Attributes:
        op, operand: Row of the table of bank conflicts.
        phase: Phase of the instruction, from 0: 8, 16 or 32 lanes, or one 8x8 matrix.
        warp: Warp of the CTA.
        lanes: Lanes that access one bank, those of one word together.
        addresses: Byte addresses from the operand's base, of each lane in ``lanes``.
        banks: Banks in which lanes of this phase collide.
        ways: Wavefronts that the bank takes for this phase; 1 is without a conflict.
        conflicts: Wavefronts beyond the ideal, over the grid.
        fixes: Layouts with fewer conflicts, the cheapest first; empty if the user cannot choose the layout.
    """

    op: str
    operand: str
    phase: int
    warp: int
    lanes: tuple[int, ...]
    addresses: tuple[int, ...]
    banks: tuple[int, ...]
    ways: int
    conflicts: int
    fixes: tuple[Fix, ...]


def collisions(scenario: Scenario, rows: Sequence[BankConflicts]) -> tuple[Collision, ...]:
    """
    Return the worst conflict of every operation that has one.

    Args:
        scenario: The scenario.
        rows: The scenario's table of bank conflicts.
    """
    bad = [row for row in rows if row.conflicts]
    if not bad:
        return ()
    kernel: CountedKernel[Any] = family_of(scenario).schedules.kernels(scenario)[0]
    worst = _worst_accesses(kernel)
    fixes: dict[str, tuple[Fix, ...]] = {}
    found = []
    for row in bad:
        access = worst.get((row.op, row.operand))
        if access is None:
            continue
        if row.operand not in fixes:
            fixes[row.operand] = _fixes(scenario, row.operand, rows)
        found.append(_collision(row, access, fixes[row.operand]))
    return tuple(found)


def _worst_accesses(kernel: CountedKernel[Any]) -> dict[tuple[str, str], Shared]:
    """Return, for each row of the table, the access with the most wavefronts beyond the ideal in one warp."""
    lanes, worst = kernel.lanes(), dict[tuple[str, str], tuple[int, Shared]]()
    for steps, _ in kernel.programs():
        for step in dict.fromkeys(steps):
            row: ConflictRow | None = kernel.row(step, lanes)
            shared = lanes.shared(step)
            if row is None or shared is None:
                continue
            beyond = int((shared.table.wavefronts[shared.place] - shared.table.ideal[shared.place]).max())
            if beyond > worst.get((row.op, row.operand), (0, shared))[0]:
                worst[row.op, row.operand] = beyond, shared
    return {key: shared for key, (_, shared) in worst.items()}


def _collision(row: BankConflicts, shared: Shared, fixes: tuple[Fix, ...]) -> Collision:
    table, place = shared
    warp = int(np.argmax(table.wavefronts[place] - table.ideal[place]))
    addresses = shared.addresses[warp]
    active = None if table.active is None else np.broadcast_to(table.active, table.offsets.shape)[place][warp]
    if table.matrices:
        active = ldmatrix_lanes(table.matrices)
    together = MATRIX_ROWS if table.matrices else WARP_SIZE
    banks, width = table.banks.count, table.banks.width
    groups = conflict_groups(addresses, table.width, active, banks, width, phase_lanes=together, loads=table.loads)
    if not groups:
        return _meeting(row, warp, addresses, active, table.banks)
    group = max(groups, key=lambda one: (one.wavefronts, -one.phase, -one.bank))
    lanes = tuple(lane for of_word in group.lanes_of_word.values() for lane in of_word)
    return Collision(
        op=row.op,
        operand=row.operand,
        phase=group.phase,
        warp=warp,
        lanes=lanes,
        addresses=tuple(int(addresses[lane]) for lane in lanes),
        banks=tuple(one.bank for one in groups if one.phase == group.phase),
        ways=group.wavefronts,
        conflicts=row.conflicts,
        fixes=fixes,
    )


def _meeting(row: BankConflicts, warp: int, addresses: IntArray, active: BoolArray | None, banks: Banks) -> Collision:
    """Return the lanes of an atomic that access one word, one after another: no layout separates them."""
    taking = range(WARP_SIZE) if active is None else np.flatnonzero(active).tolist()
    words = Counter(int(addresses[lane]) // banks.width for lane in taking)
    word = max(words, key=lambda one: (words[one], -one))
    lanes = tuple(lane for lane in taking if int(addresses[lane]) // banks.width == word)
    return Collision(
        op=row.op,
        operand=row.operand,
        phase=0,
        warp=warp,
        lanes=lanes,
        addresses=tuple(int(addresses[lane]) for lane in lanes),
        banks=(word % banks.count,),
        ways=len(lanes),
        conflicts=row.conflicts,
        fixes=(),
    )


def _fixes(scenario: Scenario, operand: str, rows: Sequence[BankConflicts]) -> tuple[Fix, ...]:
    """Return the layouts of an operand with the fewest conflicts, the cheapest first."""
    given = scenario.resolved()["kernel"].get("shared")
    if not isinstance(given, Mapping) or operand not in given:
        return ()
    before = sum(row.conflicts for row in rows if row.operand == operand)
    own = _shared_bytes(scenario)
    found = [one for one in _tried(scenario, operand, own) if one.conflicts < before]
    least = min((one.conflicts for one in found), default=0)
    best = [one for one in found if one.conflicts == least]
    return tuple(sorted(best, key=lambda one: (one.shared_bytes, one.instructions))[:FIXES])


def _tried(scenario: Scenario, operand: str, own_bytes: int) -> Iterator[Fix]:
    for name in CANDIDATES:
        try:
            other = with_settings(scenario, {f"kernel.shared.{operand}": name})
            counts = count(family_of(other).schedules.kernels(other)[0])
            added = _shared_bytes(other) - own_bytes
        except GpusimError:
            continue
        conflicts = sum(row.conflicts for row in counts.bank_conflicts if row.operand == operand)
        instructions = next((cost for word, cost in ADDRESS_INSTRUCTIONS.items() if name.startswith(word)), 0)
        yield Fix(f'kernel.shared.{operand}="{name}"', conflicts, added, instructions)


def _shared_bytes(scenario: Scenario) -> int:
    """Return the shared memory of a CTA, bytes."""
    return family_of(scenario).timing.timed_kernels(scenario, load_machine(scenario.machine))[0].shared_bytes
