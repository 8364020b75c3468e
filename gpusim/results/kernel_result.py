"""The answer about a launch of a kernel of the user's own: the fields of its JSON, and how it is written and read."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias

from pydantic import TypeAdapter, ValidationError

from gpusim.errors import BadInput
from gpusim.machine.load import load_machine, machine_names
from gpusim.results.plain import plain
from gpusim.results.result import Cycles, damage
from gpusim.results.trust import VALIDATED

KERNEL_SCHEMA: Final = "gpusim.kernel/1"

SELECTED_REASON: Final = "selected"
"""The reason of warp cycles in which an instruction issues: no stall."""

ExecutedPart: TypeAlias = Literal["slice", "all"]
"""The slice that decides path and accesses, or everything."""


@dataclass(frozen=True, slots=True)
class KernelRow:
    """
    What all warps did with one instruction.

    Attributes:
        address: Byte address in the kernel's text.
        text: The instruction as a disassembler writes it.
        source: File and line of the source, as ``file:line``; empty if that is not known.
        issues: Warps that issued it, those without an active lane among them.
        lanes: Active lanes, over all issues; None if they are not known, because the instruction was not executed.
        wavefronts, ideal_wavefronts: Wavefronts in shared memory, and those without bank conflicts.
        sectors, ideal_sectors: Sectors of global memory, and those that hold as many bytes as are accessed.
        stalls: Warp cycles by stall reason; a warp stalls before it issues the instruction.
        lane_stride: Usual distance of neighbouring lanes' addresses in bytes; None if there is none.
    """

    address: int
    text: str
    source: str
    issues: int
    lanes: int | None
    wavefronts: int
    ideal_wavefronts: int
    sectors: int
    ideal_sectors: int
    stalls: dict[str, int]
    lane_stride: int | None = None

    @property
    def conflicts(self) -> int:
        """Wavefronts beyond the ideal ones."""
        return self.wavefronts - self.ideal_wavefronts

    @property
    def stalled(self) -> int:
        """Warp cycles in which warps are stalled before this instruction."""
        return sum(cycles for reason, cycles in self.stalls.items() if reason != SELECTED_REASON)


@dataclass(frozen=True, slots=True)
class ConflictNote:
    """
    The worst access of an instruction that has bank conflicts.

    Attributes:
        address: Byte address of the instruction in the kernel's text.
        conflicts: Wavefronts beyond the ideal ones, over all its accesses in the launch.
        words: The lanes that collide, and the padding or swizzle that would free them.
    """

    address: int
    conflicts: int
    words: str


@dataclass(frozen=True, slots=True)
class ExecutedData:
    """
    How much of the kernel was executed, and whether the answer depends on the contents of arrays.

    Attributes:
        executed: The slice that decides path and accesses, or everything.
        data_steers: Whether the contents of global memory reach an address, a predicate or a branch. If they do, the
            answer holds for these data; if not, for any.
        order_steers: Whether an old value that an atomic on global memory returns does. Then the answer is that of CTAs
            that execute one after the other.
        programs, streams: Distinct paths of CTAs' warps, and distinct lists of CTAs' accesses.
        seconds: Wall time of the execution and of the simulation.
    """

    executed: ExecutedPart
    data_steers: bool
    order_steers: bool
    programs: int
    streams: int
    seconds: float = field(compare=False)


@dataclass(frozen=True, slots=True)
class KernelResult:
    """
    The answer about one launch. Totals are over the grid unless a field says otherwise.

    Attributes:
        scenario: The resolved scenario, as plain data.
        kernel: Name of the kernel.
        machine: Name of the machine, its hash, and the count of figures by kind.
        grid, block: Three extents each.
        ctas, ctas_per_sm: CTAs of the grid, and those that an SM holds at once.
        limiter: Resource that allows no more CTAs on an SM.
        sms: SMs that have CTAs.
        waves: Times that all SMs of the machine are filled.
        registers_per_thread: Registers of a thread.
        shared_bytes: Shared memory of a CTA, static and dynamic.
        cycles, time_us: Duration of the launch.
        clock_mhz: Clock of the SMs.
        validation: The error of ``cycles`` that was measured on silicon, in words.
        warp_instructions: Warp instructions issued.
        stalls: Warp cycles by stall reason, the largest first; "selected" is no stall.
        dram_read_bytes, dram_written_bytes: Bytes that DRAM reads and writes.
        l2_sectors: Sectors looked up in the L2.
        of_peak: Use of issue slots, shared memory and DRAM over the launch, as shares of what the whole machine can do.
        rows: The instructions that were issued, by address.
        conflicts: The worst access of each instruction with bank conflicts, the most conflicts first.
        findings: Races and unwritten reads of shared memory, in words; empty if there are none.
        data: What was executed, and whether the answer depends on data.
        provenance: Version, commit, hashes, time.
    """

    scenario: dict[str, Any]
    kernel: str
    machine: dict[str, Any]
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    ctas: int
    ctas_per_sm: int
    limiter: str
    sms: int
    waves: float
    registers_per_thread: int
    shared_bytes: int
    cycles: Cycles
    time_us: float
    clock_mhz: int
    validation: str
    warp_instructions: int
    stalls: dict[str, int]
    dram_read_bytes: int
    dram_written_bytes: int
    l2_sectors: int
    of_peak: dict[str, float]
    rows: tuple[KernelRow, ...]
    conflicts: tuple[ConflictNote, ...]
    findings: tuple[str, ...]
    data: ExecutedData
    provenance: dict[str, Any]
    schema: str = field(default=KERNEL_SCHEMA)

    def __hash__(self) -> int:
        """Return a hash; equal results have equal hashes."""
        return hash((self.kernel, self.grid, self.cycles, self.time_us))

    def total(self, name: str) -> int:
        """Return the sum of a count over all instructions, by its name in ``KernelRow``."""
        return sum(getattr(row, name) for row in self.rows)

    @property
    def warp_cycles(self) -> int:
        """Cycles of all warps, stalled or not."""
        return sum(self.stalls.values())

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as plain data, as ``gpusim run --json`` prints them."""
        return {each.name: plain(getattr(self, each.name)) for each in fields(KernelResult)}


@dataclass(frozen=True, slots=True)
class OwnErrors:
    """
    Errors of own kernels' elapsed cycles on a machine, as ``python -m gpusim.lab.own.cycles`` found them.

    Attributes:
        kernels: Kernels of the held-out half.
        mean_percent: Mean absolute error.
        p90_percent: Its 90th percentile.
    """

    kernels: int
    mean_percent: float
    p90_percent: float

    @property
    def words(self) -> str:
        """The errors in a few words."""
        errors = f"mean error {self.mean_percent} %, 90th percentile {self.p90_percent} %"
        return f"{errors} on {self.kernels} held-out kernels"


_OWN_ERRORS = TypeAdapter(OwnErrors)

UNVALIDATED: Final = "unvalidated"
"""Validation of a machine on which no cycle of an own kernel was compared with silicon."""


def validation_of(machine: str, digest: str) -> str:
    """
    Return in a few words how far cycles of own kernels are off on a machine, as measured on silicon.

    Args:
        machine: Name of the machine.
        digest: Hash of its figures. Figures that are not those of the shipped file are not validated.

    Raises:
        BadInput: The shipped file is damaged.
    """
    file = VALIDATED / f"{machine}_own.json"
    if machine not in machine_names() or not file.is_file() or load_machine(machine).digest() != digest:
        return UNVALIDATED
    try:
        found = _OWN_ERRORS.validate_python(json.loads(file.read_text(encoding="utf-8")), extra="forbid")
    except (ValueError, ValidationError) as error:
        raise BadInput(f"{file}: not readable as errors of validation ({error})") from error
    return found.words


def trust_in_words(validation: str) -> str:
    """Return what a validation means, in a sentence."""
    if validation == UNVALIDATED:
        return f"{UNVALIDATED}: no time of an own kernel on this machine is compared with silicon"
    return validation


def ranked(stalls: Mapping[str, int]) -> dict[str, int]:
    """Return warp cycles by stall reason, the largest first; equal ones are sorted by name."""
    return dict(
        sorted(((reason, cycles) for reason, cycles in stalls.items() if cycles), key=lambda one: (-one[1], one[0]))
    )


_KERNEL_RESULT = TypeAdapter(KernelResult)


def is_kernel_result(path: Path) -> bool:
    """Return whether a file is the answer about a kernel of the user's own."""
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return False
    return isinstance(data, dict) and data.get("schema") == KERNEL_SCHEMA


def load_kernel_result(path: Path) -> KernelResult:
    """
    Read the answer about a kernel of the user's own.

    Raises:
        BadInput: The file is no such answer, or a field is missing, unknown or of another type.
    """
    if not is_kernel_result(path):
        raise BadInput(f"{path}: not a readable answer about a kernel of your own (schema {KERNEL_SCHEMA!r})")
    try:
        return _KERNEL_RESULT.validate_json(path.read_bytes(), strict=True, extra="forbid")
    except ValidationError as error:
        raise BadInput(f"{path}: {damage(error)}") from error
