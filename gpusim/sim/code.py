"""
Defines decoded code: instructions as integers, with every table look-up of the issue loop done in advance.

Each instruction is a ``Decoded`` record. It contains the wavefronts of a shared-memory access, which are the same in
all CTAs.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import NamedTuple, TypeAlias

from gpusim.lower.stream import Instruction
from gpusim.machine.spec import Machine
from gpusim.schedule.ops import ALL_WARPS
from gpusim.sim.core.constants import ARRIVES, BAR, COMMIT, DEPBAR, EXIT, GLOBAL, LDGSTS, PIPE, SHARED, WAITS
from gpusim.sim.stall_reasons import LG_THROTTLE, MATH_PIPE_THROTTLE, MIO_THROTTLE
from gpusim.units import SECTORS_PER_LINE

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
"""Stall reason of an instruction whose pipe or queue is busy, by kind."""

TENSOR_CORE = "tensor core"

Wavefronts: TypeAlias = tuple[tuple[int, ...], ...]
"""Wavefronts of one shared-memory access, indexed [ring slot][warp]; one slot if all slots have equal wavefronts."""

NOT_WATCHED = -1


OUTPUT = -1
"""First entry of the ``Target`` of an epilogue's access, in place of the row of copies."""

Target: TypeAlias = tuple[int, int, int, int]
"""
Indices of a global access in a ``Footprint``.

Either (row of copies, fetch number in the first trip, access, vec) of an operand's fetch, or (``OUTPUT``, row of
outputs, access, 0) of an epilogue's access. A CTA's fetches are numbered in the order of its program.
"""


class Access(NamedTuple):
    """
    The properties that an instruction takes from its op.

    Attributes:
        wavefronts: Wavefronts of a shared-memory access; empty for other instructions.
        bytes: Bytes per warp that a shared-memory access returns to the register file; 0 for stores.
        latency: Cycles to the result of a shared-memory access without contention.
        target: Indices of a global access in the CTA's footprint.
        stage: Ring slot in the first trip.
        pending: Commit groups that a wait may leave pending.
        is_load: True for a shared or global access that returns data.
        through_l1: True for an access with a tag lookup in the L1, such as cp.async.ca.
        zero_fills: True for a copy that writes zeros in lanes that are predicated off.
        fills: True for a store to shared memory or an atomic. The warp's next barrier waits for its wavefronts.
        lookup_penalty: Extra cycles of a copy's tag lookup, caused by the shared-memory lines that it fills.
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
    lookup_penalty: int = 0


class Noted(NamedTuple):
    """
    The activity that an instruction of a watched CTA belongs to.

    Attributes:
        activity: Index into ``Watch.activities``, or ``NOT_WATCHED``.
        k_tile: k tile in the first trip. For attention, the number of the key block in the order it is visited.
        k_group: k group; -1 if the activity has none.
        opens_wait: Whether this instruction begins a wait of the warp.
    """

    activity: int = NOT_WATCHED
    k_tile: int = 0
    k_group: int = -1
    opens_wait: bool = False


class Decoded(NamedTuple):
    """
    One instruction in the form that the issue loop reads.

    Attributes:
        kind: ``PIPE``, ``SHARED``, ``LDGSTS``, ``COMMIT``, ``DEPBAR``, ``BAR``, ``GLOBAL`` or ``EXIT``.
        port: Index of the SMSP's port that must be free: a pipe, the MIO queue, or the port that is always free
            (``port_count``).
        throttle: Stall reason while the port is busy.
        interval: Cycles that the pipe is busy.
        latency: Cycles to the result without contention, for pipes and shared-memory accesses.
        stall: Least number of cycles until the warp's next issue.
        gated: Whether it may have to wait for more than the previous instruction's stall: for scoreboards, commit
            groups, the stores that an EXIT drains, the preceding split-K slice, or an instruction line.
        waits: Scoreboards that must be free.
        write: Scoreboard held until the result is written, or -1.
        read: Scoreboard held until the sources are read, or -1.
        line: Index of the instruction-cache line that begins with this instruction, or -1.
        is_branch: Whether the next instruction waits for this one's latency.
        registers: Registers that a memory instruction reads.
        dispatches: Whether it holds its SMSP's dispatch: an instruction of the pipe "mufu".
        mma_hundredths: Hundredths of a cycle by which its register reads delay a concurrent mma.sync. For an mma.sync:
            hundredths of a cycle that it takes beyond ``interval``.
        joins: Whether it waits for the release of a barrier at which its warp has arrived.
        awaits: Whether the warp waits here for the preceding split-K slice.
        traced: Whether its lanes' addresses are the next entry of its warp's trace (``columns.Traces``).
        atomic: ``ATOMIC`` or ``FLOAT_ATOMIC`` for an atomic on global memory, else 0.
        fetch_sectors: For a traced access, the sectors that a miss in the L2 brings at least: 1, 2 or the whole line.
        barrier: Number of the barrier, from 0.
        arrivals: Arrivals that complete a phase of the barrier; 0 where all warps of the CTA arrive.
        meets: Action at the barrier: ``ARRIVES``, ``WAITS``, or both.
        expects: Bytes that it adds to the bytes that the phase waits for.
        wavefronts, bytes, target, stage, pending, is_load: See ``Access``.
        through_l1, zero_fills, fills, lookup_penalty: See ``Access``.
        activity, k_tile, k_group, opens_wait: See ``Noted``.
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
    registers: int = 0
    dispatches: bool = False
    mma_hundredths: int = 0
    joins: bool = False
    awaits: bool = False
    traced: bool = False
    atomic: int = 0
    fetch_sectors: int = SECTORS_PER_LINE
    barrier: int = 0
    arrivals: int = 0
    meets: int = ARRIVES | WAITS
    expects: int = 0
    wavefronts: Wavefronts = ()
    bytes: int = 0
    target: Target = (OUTPUT, -1, 0, 0)
    stage: int = 0
    pending: int = 0
    is_load: bool = False
    through_l1: bool = False
    zero_fills: bool = False
    fills: bool = False
    lookup_penalty: int = 0
    activity: int = NOT_WATCHED
    k_tile: int = 0
    k_group: int = -1
    opens_wait: bool = False


class DecodedSegment(NamedTuple):
    """
    A segment of decoded code, executed ``trips`` times; each trip advances ``tiles_per_trip`` k tiles.

    Attributes:
        instructions: The instructions that ``code`` was decoded from, one for one; empty for code that has no stream.
    """

    name: str
    code: tuple[Decoded, ...]
    trips: int
    tiles_per_trip: int
    instructions: tuple[Instruction, ...] = ()


class DecodedRole(NamedTuple):
    """
    The decoded code of the warps of one role, or of those of its warps that execute the same ops.

    Its last instruction is an exit.

    Attributes:
        name: Name of the role.
        segments: The code, in the order of execution.
        warps: Number of warps that execute it.
    """

    name: str
    segments: tuple[DecodedSegment, ...]
    warps: int


@dataclass(frozen=True, slots=True)
class Assembly:
    """
    The decoded code of a CTA.

    Attributes:
        roles: The code of each role, in the order of their warps.
        parameter_lines: Lines of the launch's parameters that it reads.
    """

    roles: tuple[DecodedRole, ...]
    parameter_lines: int = 1

    @property
    def warps(self) -> int:
        """Number of warps of a CTA."""
        return sum(role.warps for role in self.roles)

    @property
    def segments(self) -> tuple[DecodedSegment, ...]:
        """The segments of all roles, role by role."""
        return tuple(segment for role in self.roles for segment in role.segments)

    def with_segments(self, segments: Iterable[DecodedSegment]) -> "Assembly":
        """Return this code with its segments replaced by ``segments``, in the same order."""
        following = iter(segments)
        roles = [role._replace(segments=tuple(next(following) for _ in role.segments)) for role in self.roles]
        return replace(self, roles=tuple(roles))


def of_one_role(segments: Iterable[DecodedSegment], warps: int) -> Assembly:
    """Return the code of a CTA whose warps all execute the same segments."""
    return Assembly((DecodedRole(ALL_WARPS, tuple(segments), warps),))


def pipe_names(machine: Machine) -> tuple[str, ...]:
    """Return the pipes of one SMSP in the order of their ports. The last is the tensor core, for any mma.sync shape."""
    return (*machine.pipes, TENSOR_CORE)


def port_count(machine: Machine) -> int:
    """Return the number of ports of one SMSP: its pipes, its MIO queue, and one that is always free."""
    return len(pipe_names(machine)) + 2
