"""Instruction streams in the machine's own form: what the SM executes, whoever made it."""

from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

from gpusim.results.result import StreamOrigin
from gpusim.schedule.ops import CopyAsync, Ldmatrix, LoadFragment, LoadGlobal, Op, StoreTile, WarpMma

NO_SCOREBOARD = -1

Unit: TypeAlias = Literal["pipe", "tensor", "shared", "ldgsts", "commit", "depbar", "barrier", "global", "exit"]
"""Where an instruction goes: a fixed-latency pipe of the SMSP, its tensor core, the MIO (shared memory, LDGSTS, global
memory), the warp's own copy-group bookkeeping, the CTA's barrier, or nowhere (exit)."""

INSTRUCTION_BYTES = 16
"""Size of one instruction since sm_70. Source: Jia et al. 2018, section 2.1."""


@dataclass(frozen=True, slots=True)
class Instruction:
    """
    One warp instruction and its control field.

    Attributes:
        opcode: SASS mnemonic, with the modifiers that matter to timing.
        unit: Where it goes.
        pipe: For unit "pipe" and "tensor": key in the machine's ``pipes`` or ``tensor`` table. Else "".
        stall: Cycles until this warp may issue its next instruction, at least 1.
        write_scoreboard: Scoreboard held until the result is written, or ``NO_SCOREBOARD``.
        read_scoreboard: Scoreboard held until the sources are read, or ``NO_SCOREBOARD``.
        wait_mask: Bit s set: issue only when scoreboard s is free.
        guard: "" (always), or the reason this instruction may be predicated off for some lanes.
        op: The schedule's op (or step, which has an op) this instruction executes, as it reads in the segment's first
            trip; None for the arithmetic around it. Memory instructions take their lane addresses from it. The
            arithmetic of a softmax op executes that op.
        part: Which mma.sync of a ``WarpMma``; 0 elsewhere.
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


@dataclass(frozen=True, slots=True)
class Segment:
    """
    Instructions executed ``trips`` times in a row.

    Each trip moves the k tiles, fetches and ring slots of its ops on by ``tiles_per_trip``; ops name the first trip's.
    """

    name: Literal["prologue", "mainloop", "tail", "epilogue"]
    instructions: tuple[Instruction, ...]
    trips: int = 1
    tiles_per_trip: int = 0


def shifted(op: Op, k_tiles: int, stages: int) -> Op:
    """
    The op that a segment's op has become after ``k_tiles`` k tiles of trips.

    Args:
        stages: Slots of the shared-memory ring.
    """
    match op:
        case LoadGlobal():
            return replace(op, fetch=op.fetch + k_tiles)
        case CopyAsync() | StoreTile():
            return replace(op, fetch=op.fetch + k_tiles, stage=(op.stage + k_tiles) % stages)
        case Ldmatrix() | LoadFragment():
            return replace(op, k_tile=op.k_tile + k_tiles, stage=(op.stage + k_tiles) % stages)
        case WarpMma():
            return replace(op, k_tile=op.k_tile + k_tiles)
        case _:
            return op


@dataclass(frozen=True, slots=True)
class Stream:
    """
    What one warp of a CTA executes. All warps execute the same; their lane addresses differ.

    Attributes:
        origin: "estimated" (counted by stated rules) or "compiled" (decoded from the kernel's SASS).
        registers_per_thread: As allocated.
        segments: In order.
    """

    origin: StreamOrigin
    registers_per_thread: int
    segments: tuple[Segment, ...]

    @property
    def instructions_per_warp(self) -> int:
        """Warp instructions one warp executes."""
        return sum(len(segment.instructions) * segment.trips for segment in self.segments)

    @property
    def code_bytes(self) -> int:
        """Size of the code, each segment once."""
        return sum(len(segment.instructions) for segment in self.segments) * INSTRUCTION_BYTES
