"""Defines the instruction streams that the simulated SM executes, whether estimated or compiled."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias, TypeVar

from gpusim.results.result import StreamOrigin
from gpusim.schedule.lanes import Lanes
from gpusim.schedule.ops import ALL_WARPS, Op, Role

NO_SCOREBOARD = -1

SEMAPHORE = "STRONG"
"""Modifier of the split-K semaphore's accesses, which are outside the schedule."""

OpT = TypeVar("OpT", bound=Op)

Unit: TypeAlias = Literal["pipe", "tensor", "shared", "ldgsts", "commit", "depbar", "barrier", "global", "exit"]
"""
The unit that executes an instruction.

pipe: A fixed-latency pipe of the SMSP.
tensor: The SMSP's tensor core.
shared, ldgsts, global: The MIO, for shared memory, cp.async and global memory.
commit, depbar: The warp's own bookkeeping of commit groups.
barrier: The CTA's barrier.
exit: None; the warp ends.
"""

INSTRUCTION_BYTES = 16
"""Size of one instruction since sm_70. Source: Jia et al. 2018, section 2.1."""


@dataclass(frozen=True, slots=True)
class Instruction:
    """
    One warp instruction and its control field.

    Attributes:
        opcode: SASS mnemonic, with the modifiers that matter to timing.
        unit: The unit that executes it.
        pipe: Key in the machine's ``pipes`` table (unit "pipe") or ``tensor`` table (unit "tensor"); otherwise "".
        stall: Cycles until this warp may issue its next instruction, at least 1.
        write_scoreboard: Scoreboard held until the result is written, or ``NO_SCOREBOARD``.
        read_scoreboard: Scoreboard held until the sources are read, or ``NO_SCOREBOARD``.
        wait_mask: Scoreboards that must be free before it issues; bit s stands for scoreboard s.
        guard: "" if all lanes execute it; otherwise the reason why lanes may be predicated off.
        op: The op of the schedule (or step, which has an op) that it executes in the segment's first trip; None for the
            arithmetic between ops. Memory instructions take their lane addresses from it. Arithmetic that carries out a
            softmax op has that op.
        part: Number of the mma.sync within its ``WarpMma``; 0 for other ops.
        sources: Number of different general registers that arithmetic reads; 0 if only its opcode is known.
    """

    opcode: str
    unit: Unit
    pipe: str = ""
    stall: int = 1
    write_scoreboard: int = NO_SCOREBOARD
    read_scoreboard: int = NO_SCOREBOARD
    wait_mask: int = 0
    guard: str = ""
    op: Any = None
    part: int = 0
    sources: int = 0


@dataclass(frozen=True, slots=True)
class Segment:
    """
    Instructions executed ``trips`` times in a row.

    The ops of the instructions are those of the first trip. In each further trip, their k tiles, fetches and ring slots
    advance by ``tiles_per_trip``.

    Attributes:
        addresses: Byte address of each instruction in the kernel's text; () if only their order is known.
        role: Role whose warps execute it.
    """

    name: Literal["prologue", "mainloop", "tail", "epilogue"]
    instructions: tuple[Instruction, ...]
    trips: int = 1
    tiles_per_trip: int = 0
    addresses: tuple[int, ...] = ()
    role: str = ALL_WARPS


def shifted(op: OpT, k_tiles: int, stages: int) -> OpT:
    """
    Return an op advanced by ``k_tiles`` k tiles: its k tile or fetch, and its slot in the shared-memory ring.

    These are the fields ``k_tile``, ``fetch`` and ``stage`` of an op. An op without the first two stays as it is.

    Args:
        op: An op of a segment's first trip.
        k_tiles: k tiles to advance by.
        stages: Slots of the shared-memory ring.
    """
    moved = {name: getattr(op, name) + k_tiles for name in ("fetch", "k_tile") if hasattr(op, name)}
    if moved and hasattr(op, "stage"):
        moved["stage"] = (op.stage + k_tiles) % stages
    return replace(op, **moved) if moved else op


@dataclass(frozen=True, slots=True)
class Stream:
    """
    The instructions that the warps of a CTA execute. Warps of one role differ only in their lane addresses.

    Attributes:
        origin: "estimated" (counted by stated rules) or "compiled" (decoded from the kernel's SASS).
        registers_per_thread: Registers allocated for one thread.
        segments: The segments in the order of execution, those of one role after those of another.
        run_time_extents: Whether the machine code reads the problem's extents from the launch's parameters.
        parameter_lines: Lines of the constant cache that hold the launch parameters read by the machine code. Estimated
            streams assume two, as nearly all of gpusim's own kernels have.
    """

    origin: StreamOrigin
    registers_per_thread: int
    segments: tuple[Segment, ...]
    run_time_extents: bool = False
    parameter_lines: int = 2

    def of(self, role: str) -> tuple[Segment, ...]:
        """Return the segments of a role, in the order of execution."""
        return tuple(segment for segment in self.segments if segment.role == role)

    def of_warp(self, warp: int, lanes: Lanes[Any]) -> tuple[Segment, ...]:
        """Return the segments of a warp's role, as the warp executes them."""
        return tuple(of_warp(segment, warp, lanes) for segment in self.of(lanes.role_of(warp).name))

    def instructions_of(self, warp: int, lanes: Lanes[Any]) -> int:
        """Return the number of instructions that a warp executes."""
        return sum(len(segment.instructions) * segment.trips for segment in self.of_warp(warp, lanes))

    def warp_instructions(self, lanes: Lanes[Any]) -> int:
        """Return the number of instructions that all warps of a CTA execute together."""
        return sum(
            segment.trips * sum(len(executed_by(one, role, lanes)) for one in segment.instructions)
            for role in lanes.roles
            for segment in self.of(role.name)
        )

    @property
    def code_bytes(self) -> int:
        """Size of the code in bytes, with each segment once."""
        return sum(len(segment.instructions) for segment in self.segments) * INSTRUCTION_BYTES


def executed_by(instruction: Instruction, role: Role, lanes: Lanes[Any]) -> Sequence[int]:
    """Return the warps of a role that execute an instruction: all of them, or those that execute its op."""
    if instruction.op is None:
        return role.warps
    own = lanes.warps_of(instruction.op)
    return role.warps if len(own) == lanes.warps else [warp for warp in role.warps if warp in own]


def executed_places(segment: Segment, warp: int, lanes: Lanes[Any]) -> list[int]:
    """Return the places in a segment of the instructions that a warp of its role executes."""
    own = enumerate(segment.instructions)
    return [at for at, one in own if one.op is None or warp in lanes.warps_of(one.op)]


def of_warp(segment: Segment, warp: int, lanes: Lanes[Any]) -> Segment:
    """Return a segment as one warp of its role executes it: without the instructions of other warps' ops."""
    places = executed_places(segment, warp, lanes)
    if len(places) == len(segment.instructions):
        return segment
    return replace(
        segment,
        instructions=tuple(segment.instructions[at] for at in places),
        addresses=tuple(segment.addresses[at] for at in places if segment.addresses),
    )
