"""
Resolves a stream against a scenario and a machine into what the issue loop reads: integers, no look-ups left.

Each instruction becomes a ``Decoded`` record; lane addresses become wavefronts where they do not depend on the CTA.
"""

from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

import numpy as np

from gpusim.arrays import IntArray
from gpusim.element_types import element_bits
from gpusim.errors import BadInput
from gpusim.layout.banks import access_ideal, access_wavefronts, ldmatrix_wavefronts
from gpusim.lower.stream import INSTRUCTION_BYTES, NO_SCOREBOARD, Executed, Instruction, Stream
from gpusim.machine.spec import Machine
from gpusim.scenario.gemm import GemmScenario
from gpusim.schedule.ops import (
    Barrier,
    CopyAsync,
    FragmentLoad,
    Ldmatrix,
    LoadBias,
    LoadFragment,
    LoadGlobal,
    LoadShared,
    LoadSource,
    StoreGlobal,
    StoreShared,
    StoreTile,
    WaitGroup,
    WarpMma,
)
from gpusim.sim.stall_reasons import LG_THROTTLE, MATH_PIPE_THROTTLE, MIO_THROTTLE
from gpusim.tile.epilogue import EpilogueTile
from gpusim.tile.ldmatrix import fragment_loads, ldmatrix_offsets
from gpusim.tile.operand import SIDES, Side
from gpusim.tile.shared_store import store_offsets
from gpusim.units import SCOREBOARDS, VECTOR_BITS, WARP_SIZE, WORD_BYTES

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

COPY, FRAGMENT, MMA, WAITING, STORE = range(5)
"""What an observed instruction belongs to."""

FIRST_ACTIVITY = 5
"""The first number after these: what attention's instructions belong to is numbered from here (``sim.attention``)."""

TENSOR_CORE = "tensor core"

Wavefronts: TypeAlias = tuple[tuple[int, ...], ...]
"""[ring slot][warp] of one shared access; one slot where it is the same in all."""

SOURCE_OR_OUTPUT = 2
"""Operand index of the epilogue's global accesses, after a and b. Those of the bias count as a step after the last."""


class Decoded(NamedTuple):
    """
    One instruction, resolved.

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
        wavefronts: Of a shared access; empty elsewhere.
        bytes: Bytes a shared access returns to the register file (0 for stores).
        target: What a global access is: (operand index, fetch, access, vec) or (2, step, access, 0).
        stage: Ring slot in the first trip.
        pending: For a wait on copy groups.
        is_load: A shared or global access that returns data.
        through_l1: A copy with .ca.
        zero_fills: A copy whose invalid lanes write zeros.
        fills: A store or an atomic for whose wavefronts the warp's next barrier waits.
        observed: One of COPY, FRAGMENT, MMA, WAITING, STORE, of attention one from ``FIRST_ACTIVITY`` on, or -1.
        k_tile: Of the observed activity, in the first trip.
        k_group: The same.
    """

    kind: int
    port: int
    throttle: int
    interval: int
    latency: int
    stall: int
    gated: bool
    waits: tuple[int, ...]
    write: int
    read: int
    line: int
    is_branch: bool
    wavefronts: Wavefronts
    bytes: int
    target: tuple[int, int, int, int]
    stage: int
    pending: int
    is_load: bool
    through_l1: bool
    zero_fills: bool
    fills: bool
    observed: int
    k_tile: int
    k_group: int


class Access(NamedTuple):
    """What an instruction's op adds to it; the attributes of ``Decoded`` with the same names."""

    wavefronts: Wavefronts = ()
    bytes: int = 0
    latency: int = 0
    target: tuple[int, int, int, int] = (-1, 0, 0, 0)
    stage: int = 0
    pending: int = 0
    is_load: bool = False
    through_l1: bool = False
    zero_fills: bool = False
    fills: bool = False
    observed: int = -1
    k_tile: int = 0
    k_group: int = 0


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
        stages: Slots of the shared-memory ring.
        k_tiles: K tiles the mainloop consumes.
        fetches: Global fetches, the overrun included.
        instructions_per_warp: Warp instructions of one warp.
    """

    segments: tuple[DecodedSegment, ...]
    warps: int
    stages: int
    k_tiles: int
    fetches: int
    instructions_per_warp: int


def pipe_names(machine: Machine) -> tuple[str, ...]:
    """Pipes of one SMSP in the order of their ports. Every tensor shape runs on the one tensor core, the last."""
    return (*machine.pipes, TENSOR_CORE)


def port_count(machine: Machine) -> int:
    """Ports of one SMSP: its pipes, its MIO queue, and one that is always free."""
    return len(pipe_names(machine)) + 2


def assemble(stream: Stream, scenario: GemmScenario, machine: Machine) -> Assembly:
    """
    Resolve a stream.

    Raises:
        BadInput: The machine file has no figure for a pipe that the stream uses.
    """
    segments = decode_segments(stream, _Resolver(scenario, machine))
    k_tiles = sum(segment.trips * segment.tiles_per_trip for segment in segments)
    return Assembly(
        segments=segments,
        warps=scenario.kernel.threads // WARP_SIZE,
        stages=scenario.kernel.stages,
        k_tiles=k_tiles,
        fetches=k_tiles + scenario.kernel.stages,
        instructions_per_warp=stream.instructions_per_warp,
    )


def decode_segments(stream: Stream, decoder: "Decoder") -> tuple[DecodedSegment, ...]:
    """
    A stream's segments, every instruction decoded, each beginning on an instruction-cache line of its own.

    Several segments of the mainloop (attention's key loop) are trips of one loop and share its lines.

    Raises:
        BadInput: The machine file has no figure for a pipe that the stream uses.
    """
    per_line = decoder.machine.instruction_cache.line_bytes // INSTRUCTION_BYTES
    segments = []
    loop, end = -1, 0
    for segment in stream.segments:
        line = end
        if segment.name == "mainloop":
            loop = line = end if loop < 0 else loop
        code = []
        for position, instruction in enumerate(segment.instructions):
            begins = line + position // per_line if position % per_line == 0 else -1
            code.append(decoder.decode(instruction, begins))
        end = max(end, line - (-len(segment.instructions) // per_line))
        segments.append(DecodedSegment(segment.name, tuple(code), segment.trips, segment.tiles_per_trip))
    return tuple(segments)


class Decoder:
    """What is common to all kernels: which port of the SMSP an instruction takes, how long, and what it waits for."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        copy = machine.async_copy
        self.least_stall = {} if copy is None else {COMMIT: copy.commit_latency, DEPBAR: copy.wait_latency}
        self.pipes = {name: index for index, name in enumerate(pipe_names(machine))}

    def access(self, op: Executed) -> Access:
        """What an op adds to its instruction."""
        raise NotImplementedError

    def decode(self, instruction: Instruction, line: int) -> Decoded:
        """One instruction; ``line`` as in ``Decoded``."""
        kind = KINDS[instruction.unit]
        port, interval, latency = self._port(instruction, kind)
        access = Access() if instruction.op is None else self.access(instruction.op)
        waits = tuple(board for board in range(SCOREBOARDS) if instruction.wait_mask >> board & 1)
        return Decoded(
            kind=kind,
            port=port,
            throttle=THROTTLES.get(kind, MIO_THROTTLE),
            interval=interval,
            latency=latency or access.latency,
            stall=max(1, instruction.stall, self.least_stall.get(kind, 0)),
            gated=bool(waits) or line >= 0 or kind in (DEPBAR, BAR, EXIT),
            waits=waits,
            write=-1 if instruction.write_scoreboard == NO_SCOREBOARD else instruction.write_scoreboard,
            read=-1 if instruction.read_scoreboard == NO_SCOREBOARD else instruction.read_scoreboard,
            line=line,
            is_branch=instruction.pipe == "branch",
            wavefronts=access.wavefronts,
            bytes=access.bytes,
            target=access.target,
            stage=access.stage,
            pending=access.pending,
            is_load=access.is_load,
            through_l1=access.through_l1,
            zero_fills=access.zero_fills,
            fills=access.fills,
            observed=access.observed,
            k_tile=access.k_tile,
            k_group=access.k_group,
        )

    def _port(self, instruction: Instruction, kind: int) -> tuple[int, int, int]:
        """(port, interval, latency): of a pipe as the machine file says, else the MIO queue's or none's."""
        if kind != PIPE:
            return len(self.pipes) + (kind not in THROTTLES), 0, 0
        tensor = instruction.unit == "tensor"
        table = self.machine.tensor if tensor else self.machine.pipes
        if instruction.pipe not in table:
            raise BadInput(
                f"{self.machine.name}: no figure for pipe {instruction.pipe!r} ({instruction.opcode}); "
                f"the machine file has {', '.join(sorted(table))}"
            )
        figures = table[instruction.pipe]
        return self.pipes[TENSOR_CORE if tensor else instruction.pipe], figures.interval, figures.latency


class _Resolver(Decoder):
    """Of a tile kernel: looks things up once, wavefronts of every shared access."""

    def __init__(self, scenario: GemmScenario, machine: Machine) -> None:
        super().__init__(machine)
        self.epilogue = scenario.epilogue
        self.fragments = {operand: _fragment_wavefronts(scenario, machine, operand) for operand in SIDES}
        writes = _tile_store_wavefronts if scenario.kernel.mainloop == "pipelined" else _copy_wavefronts
        self.writes = {operand: writes(scenario, machine, operand) for operand in SIDES}
        self.load_wavefronts = {operand: _load_wavefronts(scenario, machine, operand) for operand in SIDES}
        self.matrices = {operand: fragment_loads(scenario.operand(operand)).matrices for operand in SIDES}
        self.staging = _epilogue_wavefronts(self.epilogue, machine)

    def access(self, op: Executed) -> Access:
        """What an op adds to its instruction."""
        match op:
            case Ldmatrix() | LoadFragment():
                access = self._fragment(op)
            case CopyAsync():
                access = self._copy(op)
            case LoadGlobal() | StoreTile():
                access = self._tile_access(op)
            case WarpMma():
                access = Access(observed=MMA, k_tile=op.k_tile, k_group=op.k_group)
            case StoreShared() | LoadShared():
                access = self._staging(op)
            case LoadSource() | LoadBias() | StoreGlobal():
                access = self._output(op)
            case WaitGroup():
                access = Access(pending=op.pending, observed=WAITING)
            case Barrier():
                access = Access(observed=WAITING)
            case _:
                access = Access()
        return access

    def _output(self, op: LoadSource | LoadBias | StoreGlobal) -> Access:
        step = self.epilogue.steps if isinstance(op, LoadBias) else op.step
        return Access(target=(SOURCE_OR_OUTPUT, step, op.access, 0), is_load=not isinstance(op, StoreGlobal))

    def _fragment(self, op: FragmentLoad) -> Access:
        shared = self.machine.shared
        return Access(
            wavefronts=self.fragments[op.operand][op.k_group][op.instruction],
            bytes=128 * self.matrices[op.operand],
            latency=shared.load_latency if isinstance(op, LoadFragment) else shared.ldmatrix_latency_x1,
            stage=op.stage,
            is_load=True,
            observed=FRAGMENT,
            k_tile=op.k_tile,
            k_group=op.k_group,
        )

    def _copy(self, op: CopyAsync) -> Access:
        return Access(
            wavefronts=self.writes[op.operand][op.access][op.vec],
            target=(SIDES.index(op.operand), op.fetch, op.access, op.vec),
            stage=op.stage,
            through_l1=op.cache == "ca",
            zero_fills=op.zfill,
            observed=COPY,
            k_tile=op.fetch,
        )

    def _tile_access(self, op: LoadGlobal | StoreTile) -> Access:
        if isinstance(op, StoreTile):
            wavefronts = self.writes[op.operand][op.access][0]
            return Access(wavefronts=wavefronts, stage=op.stage, fills=True, observed=STORE, k_tile=op.fetch)
        return Access(
            wavefronts=self.load_wavefronts[op.operand],
            target=(SIDES.index(op.operand), op.fetch, op.access, op.vec),
            is_load=True,
            through_l1=True,
            observed=COPY,
            k_tile=op.fetch,
        )

    def _staging(self, op: StoreShared | LoadShared) -> Access:
        """The same in every step of the epilogue, and for all of its ring slots: there is one."""
        shared = self.machine.shared
        if isinstance(op, StoreShared):
            return Access(wavefronts=(self.staging["store"][op.access],), latency=shared.store_latency)
        return Access(
            wavefronts=(self.staging["load"][op.access],),
            bytes=self.epilogue.load_bytes * WARP_SIZE,
            latency=shared.load_latency,
            is_load=True,
        )


def _fragment_wavefronts(scenario: GemmScenario, machine: Machine, operand: Side) -> list[list[Wavefronts]]:
    """[k group][instruction] -> table [stage][warp]."""
    bits, shared = element_bits(scenario.problem.dtype.ab), machine.shared
    loads = fragment_loads(scenario.operand(operand))
    stages = [ldmatrix_offsets(scenario.operand(operand), stage) for stage in range(scenario.kernel.stages)]
    addresses = np.stack(stages) * bits // 8  # [stage, warp, k group, instruction, lane]
    if loads.words:
        counts = access_wavefronts(addresses, WORD_BYTES, banks=shared.banks, bank_bytes=shared.bank_bytes)
    else:
        counts = ldmatrix_wavefronts(addresses, loads.matrices, banks=shared.banks, bank_bytes=shared.bank_bytes)
    return [[_table(counts[:, :, group, one]) for one in range(counts.shape[3])] for group in range(counts.shape[2])]


def _copy_wavefronts(scenario: GemmScenario, machine: Machine, operand: Side) -> list[list[Wavefronts]]:
    """[access][vec] -> table [stage][warp]."""
    bits = element_bits(scenario.problem.dtype.ab)
    offsets = np.stack([store_offsets(scenario.operand(operand), stage) for stage in range(scenario.kernel.stages)])
    stages, threads, accesses, vecs = offsets.shape
    lanes = (
        offsets.reshape(stages, threads // WARP_SIZE, WARP_SIZE, accesses, vecs).transpose(0, 1, 3, 4, 2) * bits // 8
    )
    width = (scenario.problem.access(operand)) * bits // 8
    counts = access_wavefronts(lanes, width, banks=machine.shared.banks, bank_bytes=machine.shared.bank_bytes)
    return [[_table(counts[:, :, access, vec]) for vec in range(vecs)] for access in range(accesses)]


def _tile_store_wavefronts(scenario: GemmScenario, machine: Machine, operand: Side) -> list[list[Wavefronts]]:
    """[access][0] -> table [stage][warp]: a store writes all vectors of an access."""
    bits = element_bits(scenario.problem.dtype.ab)
    offsets = np.stack(
        [store_offsets(scenario.operand(operand), stage)[..., 0] for stage in range(scenario.kernel.stages)]
    )
    stages, threads, accesses = offsets.shape
    lanes = offsets.reshape(stages, threads // WARP_SIZE, WARP_SIZE, accesses).transpose(0, 1, 3, 2) * bits // 8
    shared = machine.shared
    counts = access_wavefronts(lanes, VECTOR_BITS // 8, banks=shared.banks, bank_bytes=shared.bank_bytes)
    return [[_table(counts[:, :, access])] for access in range(accesses)]


def _load_wavefronts(scenario: GemmScenario, machine: Machine, operand: Side) -> Wavefronts:
    """Of one global load on its way back through the data stage: what its bytes take at least."""
    elements = scenario.problem.access(operand)
    width = elements * element_bits(scenario.problem.dtype.ab) // 8
    each = int(access_ideal(width, banks=machine.shared.banks, bank_bytes=machine.shared.bank_bytes))
    return ((each,) * (scenario.kernel.threads // WARP_SIZE),)


def _epilogue_wavefronts(tile: EpilogueTile, machine: Machine) -> dict[str, list[tuple[int, ...]]]:
    """Per access: wavefronts by warp, of the staging stores and loads."""
    tables = {}
    for name, offsets, width in (
        ("store", tile.store_offsets(), tile.store_bytes),
        ("load", tile.load_offsets(), tile.load_bytes),
    ):
        first = offsets[..., 0] * tile.accumulator_bits // 8
        lanes = first.reshape(-1, WARP_SIZE, first.shape[1]).transpose(0, 2, 1)
        counts = access_wavefronts(lanes, width, banks=machine.shared.banks, bank_bytes=machine.shared.bank_bytes)
        tables[name] = [tuple(int(one) for one in counts[:, access]) for access in range(counts.shape[1])]
    return tables


def _table(counts: IntArray) -> Wavefronts:
    return tuple(tuple(int(one) for one in row) for row in counts)
