"""
What the issue loop reads of a kernel: instructions as integers, no look-ups left.

Each instruction is a ``Decoded`` record; where a shared access is the same in all CTAs, its wavefronts stand in it.
"""

from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from gpusim.machine.spec import Machine
from gpusim.sim.stall_reasons import LG_THROTTLE, MATH_PIPE_THROTTLE, MIO_THROTTLE

PIPE, SHARED, LDGSTS, COMMIT, DEPBAR, BAR, GLOBAL, EXIT = range(8)
"""Kinds of instruction, as the issue loop switches on them. Those of kind ``PIPE`` touch nothing beyond their SMSP."""

KINDS = {
    "pipe": PIPE,
    "tensor": PIPE,
    "shared": SHARED,
    "ldgsts": LDGSTS,
    "commit": COMMIT,
    "depbar": DEPBAR,
    "barrier": BAR,
    "global": GLOBAL,
    "exit": EXIT,
}

THROTTLES = {PIPE: MATH_PIPE_THROTTLE, SHARED: MIO_THROTTLE, LDGSTS: MIO_THROTTLE, GLOBAL: LG_THROTTLE}
"""Why an instruction waits whose pipe or queue is taken."""

TENSOR_CORE = "tensor core"

Wavefronts: TypeAlias = tuple[tuple[int, ...], ...]
"""[ring slot][warp] of one shared access; one slot where it is the same in all."""

NOT_WATCHED = -1


OUTPUT = -1
"""In place of a target's row of copies: an access of the epilogue's, whose row of outputs follows."""

Target: TypeAlias = tuple[int, int, int, int]
"""
A global access, as a footprint has it: (row of copies, turn in the first trip, access, vec) of an operand's fetch, or
(``OUTPUT``, row of outputs, access, 0).
"""


class Access(NamedTuple):
    """
    What an instruction's op adds to it.

    Attributes:
        wavefronts: Of a shared access; empty elsewhere.
        bytes: What a shared access returns to the register file (0 for stores).
        latency: Cycles to the result of a shared access with nothing in the way.
        target: Of a global access.
        stage: Ring slot in the first trip.
        pending: For a wait on copy groups.
        is_load: A shared or global access that returns data.
        through_l1: A copy with .ca.
        zero_fills: A copy whose invalid lanes write zeros.
        fills: A store or an atomic for whose wavefronts the warp's next barrier waits.
    """

    wavefronts: Wavefronts = ()
    bytes: int = 0
    latency: int = 0
    target: Target = (OUTPUT, -1, 0, 0)
    stage: int = 0
    pending: int = 0
    is_load: bool = False
    through_l1: bool = False
    zero_fills: bool = False
    fills: bool = False


class Noted(NamedTuple):
    """
    What a watched instruction belongs to.

    Attributes:
        activity: Index into the kernel's activities, or ``NOT_WATCHED``.
        k_tile: k tile, or key block by its turn, in the first trip.
        k_group: The same; -1 where the activity has none.
        opens_wait: Whether the warp begins to wait here.
    """

    activity: int = NOT_WATCHED
    k_tile: int = 0
    k_group: int = -1
    opens_wait: bool = False


class Decoded(NamedTuple):
    """
    One instruction, resolved. What is left out is nothing: no wait, no result, no access.

    Attributes:
        kind: One of the kinds above.
        port: Place in the SMSP that must be free: a pipe, the MIO queue, or none (``port_count``).
        throttle: Reason of a wait for that place.
        interval: Cycles the pipe is busy.
        latency: Cycles to the result with nothing in the way; of pipes and of shared accesses.
        stall: Cycles until the warp's next issue at the earliest.
        gated: Whether anything but the stall can hold it back: scoreboards, groups, a store, or a line to fetch.
        waits: Scoreboards that must be free.
        write: Scoreboard set until the result lands, or -1.
        read: Scoreboard set until the sources are read, or -1.
        line: Index of the instruction-cache line this instruction begins, or -1.
        is_branch: The next instruction waits for its latency.
        wavefronts, bytes, target, stage, pending, is_load, through_l1, zero_fills, fills: As of ``Access``.
        activity, k_tile, k_group, opens_wait: As of ``Noted``.
    """

    kind: int
    port: int
    throttle: int = 0
    interval: int = 0
    latency: int = 0
    stall: int = 1
    gated: bool = False
    waits: tuple[int, ...] = ()
    write: int = -1
    read: int = -1
    line: int = -1
    is_branch: bool = False
    wavefronts: Wavefronts = ()
    bytes: int = 0
    target: Target = (OUTPUT, -1, 0, 0)
    stage: int = 0
    pending: int = 0
    is_load: bool = False
    through_l1: bool = False
    zero_fills: bool = False
    fills: bool = False
    activity: int = NOT_WATCHED
    k_tile: int = 0
    k_group: int = -1
    opens_wait: bool = False


class DecodedSegment(NamedTuple):
    """A segment's code with its trip count."""

    name: str
    code: tuple[Decoded, ...]
    trips: int
    tiles_per_trip: int


@dataclass(frozen=True, slots=True)
class Assembly:
    """
    Everything the SMs read while they run.

    Attributes:
        segments: The code.
        warps: Warps of a CTA.
        instructions_per_warp: Warp instructions of one warp.
    """

    segments: tuple[DecodedSegment, ...]
    warps: int
    instructions_per_warp: int


def pipe_names(machine: Machine) -> tuple[str, ...]:
    """Pipes of one SMSP in the order of their ports. Every tensor shape runs on the one tensor core, the last."""
    return (*machine.pipes, TENSOR_CORE)


def port_count(machine: Machine) -> int:
    """Ports of one SMSP: its pipes, its MIO queue, and one that is always free."""
    return len(pipe_names(machine)) + 2
