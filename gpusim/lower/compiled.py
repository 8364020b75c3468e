"""Makes the instruction stream of a scenario from its compiled kernel: one warp's path, aligned with the schedule.

The path is executed, not guessed: constants, parameters and indices decide every branch (``emulate``), and every memory
instruction is the schedule's by its addresses (``align``). What is estimated here is nothing; what is assumed is which
unit an opcode belongs to (``sass_pipes``).
"""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from math import prod

import numpy as np

from gpusim.arrays import IntArray
from gpusim.cuda.compiled_kernel import CompiledKernel, compile_kernel
from gpusim.cuda.specialise import ENTRY, PARAMS, SHARED_ALIGNMENT, Specialisation, kernels, specialise
from gpusim.element_types import is_emulated, walks_vertically
from gpusim.errors import BadInput, CheckFailed
from gpusim.lower.align import MMA_OPCODES, Named, Placement, Pointers, align
from gpusim.lower.estimated import tensor_pipe
from gpusim.lower.sass.cubin import Cubin, read_cubin
from gpusim.lower.sass.decode import NO_BARRIER, Sass, decode
from gpusim.lower.sass.emulate import Step, Warp, run_warp
from gpusim.lower.sass.operands import PT, Target
from gpusim.lower.sass.pipes import unit_of
from gpusim.lower.stream import NO_SCOREBOARD, Instruction, Segment, Stream, shifted
from gpusim.lower.stream_file import CompiledStream, Line, shipped_path, shipped_stream
from gpusim.machine.spec import Machine
from gpusim.scenario.gemm import GemmScenario
from gpusim.schedule.ops import Barrier, CopyAsync, Ldmatrix, LoadFragment, Program, StoreTile, WarpMma
from gpusim.schedule.program import program
from gpusim.units import WARP_SIZE

POINTERS = Pointers(a=1 << 40, b=2 << 40, source=3 << 40, output=4 << 40, bias=5 << 40, partial=6 << 40)
"""Where the tensors are taken to lie: far apart, so that no address belongs to two of them."""

SEMAPHORE = 7 << 40


def compiled_stream(scenario: GemmScenario, machine: Machine, slice_: int = 0) -> Stream:
    """
    The stream of the CTAs of one split-K slice.

    Raises:
        CannotRun: Neither a shipped stream nor a compiler is at hand.
        CheckFailed: The kernel does not execute the schedule; the message shows both sides.
    """
    return compiled(scenario, machine, slice_).stream


def compiled(scenario: GemmScenario, machine: Machine, slice_: int = 0) -> CompiledStream:
    """The same with its listing: the shipped stream of this very kernel if there is one, else compiled now."""
    shipped = shipped_stream(specialise(scenario, "plain").digest, machine.compute_capability, slice_)
    return shipped or lower_kernel(scenario, compile_kernel(specialise(scenario), machine.compute_capability), slice_)


def is_shipped(scenario: GemmScenario, machine: Machine) -> bool:
    """Whether the streams of all kernels and split-K slices come with gpusim, so that no compiler is needed."""
    first, *others = kernels(scenario)
    keys = [(first, slice_) for slice_ in range(scenario.problem.split_k_slices)] + [(one, 0) for one in others]
    return all(shipped_path(one.digest, machine.compute_capability, slice_).is_file() for one, slice_ in keys)


def lower_kernel(scenario: GemmScenario, kernel: CompiledKernel, slice_: int = 0) -> CompiledStream:
    """
    Lower a kernel that is already compiled.

    Warp 0 of the slice's first CTA stands for all: the kernels predicate instead of branching, so that paths differ
    only where whole warps have nothing to store.

    Raises:
        BadInput: The assembler emulates the mma.sync (4-bit integers from sm_90 on), so no instruction is it (D27).
    """
    runner = KernelRunner(scenario, kernel)
    cta = int(np.flatnonzero(runner.tiles[:, 2] == slice_)[0])
    steps = runner.run(cta, warp=0)
    ops = program(scenario, scenario.k_iterations(slice_), slice_)
    vertical = walks_vertically(runner.cubin.architecture)
    named = align(runner.code, steps, scenario, ops, runner.placement(cta, warp=0), vertical=vertical)
    executed = [
        Executed(runner.code[step.at], step, name, step is steps[-1]) for step, name in zip(steps, named, strict=True)
    ]
    parts = list(_segments(scenario, ops, runner.code, executed))
    return CompiledStream(
        stream=Stream("compiled", runner.cubin.registers, tuple(segment for segment, _ in parts)),
        listing=tuple(lines for _, lines in parts),
        compiler=kernel.compiler,
        architecture=runner.cubin.architecture,
        local_bytes=runner.cubin.local_bytes,
        code_bytes=runner.cubin.code_bytes,
    )


class KernelRunner:
    """
    A scenario's compiled kernel, ready to execute any warp of its grid.

    Attributes:
        cubin: Code and resources.
        code: Decoded.
        tiles: (tile m, tile n, slice) of every CTA in launch order, -1 where a CTA has none.
    """

    def __init__(self, scenario: GemmScenario, kernel: CompiledKernel) -> None:
        """
        Decode the kernel.

        Raises:
            BadInput: The assembler emulates the mma.sync.
        """
        self.specialisation: Specialisation = kernel.specialisation
        self.cubin: Cubin = read_cubin(kernel.cubin, ENTRY, "the compiled kernel")
        ab = scenario.problem.dtype.ab
        if is_emulated(ab, self.cubin.architecture):
            raise BadInput(
                f"problem.dtype.ab must be a type that sm_{self.cubin.architecture} multiplies, got {ab!r}: its"
                " mma.sync is emulated, and the kernel holds no instruction that stands for it (D27)"
            )
        self.code = decode(self.cubin.code, self.cubin.architecture)
        self.tiles: IntArray = scenario.grid.cta_tiles()
        self._constants = parameter_bank(self.cubin, self.specialisation, scenario)

    def run(self, cta: int, warp: int) -> list[Step]:
        """Execute one warp of the CTA with this index in launch order."""
        x, y, _ = self.specialisation.grid
        slice_ = int(self.tiles[cta, 2])
        warps = self.specialisation.block_threads // WARP_SIZE

        def load(address: IntArray) -> IntArray:
            # The slices before this one have finished: each of their warps has counted itself.
            return np.where(address >> 40 == SEMAPHORE >> 40, slice_ * warps, 0)

        return run_warp(
            self.code,
            Warp(
                ctaid=(cta % x, cta // x % y, cta // (x * y)),
                grid=self.specialisation.grid,
                threads=self.specialisation.block_threads,
                index=warp,
                constants=self._constants,
                local_bytes=self.cubin.local_bytes,
                load=load,
            ),
        )

    def placement(self, cta: int, warp: int) -> Placement:
        """Where the warp's tensors and shared memory lie."""
        tile_m, tile_n, slice_ = self.tiles[cta].tolist()
        base = -(-self.cubin.shared_bytes // SHARED_ALIGNMENT) * SHARED_ALIGNMENT
        return Placement((tile_m, tile_n, slice_), warp, base, POINTERS)


def grid_instructions(scenario: GemmScenario, kernel: CompiledKernel) -> int:
    """
    Warp instructions that the whole grid executes, ncu's ``smsp__inst_executed.sum``.

    CTAs that are alike (clipped alike along M and N, of the same slice, or without a tile) are executed once, all warps
    of each. Convolution predicates do not branch, so that position in the image makes no difference.
    """
    runner = KernelRunner(scenario, kernel)
    tiles = runner.tiles
    last = tiles[:, :2].max(axis=0)
    alike = np.column_stack([tiles[:, 2], tiles[:, 0] == last[0], tiles[:, 1] == last[1], tiles[:, 0] < 0])
    _, first, counts = np.unique(alike, axis=0, return_index=True, return_counts=True)
    warps = range(runner.specialisation.block_threads // WARP_SIZE)
    return sum(
        count * sum(len(runner.run(cta, warp)) for warp in warps)
        for cta, count in zip(first.tolist(), counts.tolist(), strict=True)
    )


def parameter_bank(cubin: Cubin, specialisation: Specialisation, scenario: GemmScenario) -> bytes:
    """
    The constant bank of a launch, parameters included.

    Raises:
        BadInput: The kernel takes other parameters than ``specialise.PARAMS``.
    """
    if cubin.parameter_bytes != PARAMS.itemsize:
        raise BadInput(
            f"{specialisation.entry} takes {cubin.parameter_bytes} bytes of parameters, Params has {PARAMS.itemsize}"
        )
    values = np.zeros((), dtype=PARAMS)
    for name, pointer in asdict(POINTERS).items():
        values[name] = pointer
    values["semaphore"] = SEMAPHORE
    values["alpha"], values["beta"] = scenario.problem.alpha, scenario.problem.beta
    values["k_iterations"] = specialisation.k_iterations
    bank = bytearray(cubin.constants)
    bank[cubin.parameters_at : cubin.parameters_at + cubin.parameter_bytes] = values.tobytes()
    return bytes(bank)


# --- segments ---


@dataclass(frozen=True, slots=True)
class Executed:
    """One executed instruction, the op it executes, and whether the warp ends with it."""

    sass: Sass
    step: Step
    named: Named | None
    last: bool


def _segments(
    scenario: GemmScenario, ops: Program, code: Sequence[Sass], executed: list[Executed]
) -> Iterator[tuple[Segment, tuple[Line, ...]]]:
    """Prologue, mainloop, tail, epilogue; where trips of the loop differ, a mainloop segment for each run of equals."""
    starts = _loop_trips(code, executed)
    barriers = [at for at, one in enumerate(executed) if one.named is not None and isinstance(one.named.op, Barrier)]
    last_barrier = barriers[sum(isinstance(op, Barrier) for op in ops.mainloop_ops()) - 1] + 1
    yield segment_of("prologue", executed[: starts[0]], scenario)
    trips = [executed[begin:end] for begin, end in pairwise(starts)]
    while trips:
        alike = _alike(trips, scenario)
        yield segment_of("mainloop", trips[0], scenario, alike, _tiles(trips[0], scenario))
        trips = trips[alike:]
    # A pipelined mainloop has no tail: its last barrier lies in the last k tile.
    epilogue = max(last_barrier, starts[-1])
    yield segment_of("tail", executed[starts[-1] : epilogue], scenario)
    yield segment_of("epilogue", executed[epilogue:], scenario)


def _loop_trips(code: Sequence[Sass], executed: list[Executed]) -> list[int]:
    """
    Where the trips of the mainloop begin, and where the last one ends.

    The mainloop is the smallest backward branch that holds MMAs. Without one (no k tile, or a loop unrolled away)
    there are no trips, and the end of the last MMA separates prologue and tail.
    """
    mmas = [at for at, sass in enumerate(code) if sass.name in MMA_OPCODES]
    spans = []
    for at, sass in enumerate(code):
        target = sass.operands.get("t")
        if sass.name == "BRA" and isinstance(target, Target) and target.address < sass.address:
            head = next(index for index, one in enumerate(code) if one.address == target.address)
            if any(head <= mma <= at for mma in mmas):
                spans.append((at - head, head, at))
    visits: list[int] = []
    if spans:
        _, head, tail = min(spans)
        visits = [at for at, one in enumerate(executed) if one.step.at == head]
        if visits:
            end = visits[-1]
            while end < len(executed) and head <= executed[end].step.at <= tail:
                end += 1
            return [*visits, end]
    after = [at + 1 for at, one in enumerate(executed) if one.sass.name in MMA_OPCODES]
    if after:
        raise CheckFailed(f"{ENTRY}: no backward branch holds the MMAs, so the mainloop cannot be told")
    copies = [at + 1 for at, one in enumerate(executed) if one.sass.name in ("LDGSTS", "LDSM")]
    return [copies[-1] if copies else 0]


def _tiles(trip: list[Executed], scenario: GemmScenario) -> int:
    """k tiles that one trip consumes."""
    kernel = scenario.kernel
    per_tile = kernel.k_groups * prod(w // i for w, i in zip(kernel.warp[:2], kernel.instruction[:2], strict=True))
    mmas = sum(one.named is not None and isinstance(one.named.op, WarpMma) for one in trip)
    if mmas % per_tile:
        raise CheckFailed(f"{ENTRY}: a trip of the mainloop has {mmas} MMAs, a k tile {per_tile}")
    return mmas // per_tile


def _alike(trips: list[list[Executed]], scenario: GemmScenario) -> int:
    """How many of the first trips execute the same instructions, on ops that move on by the trip's k tiles."""
    first, stages = trips[0], scenario.kernel.stages
    tiles = _tiles(first, scenario)
    for number, trip in enumerate(trips):
        same = len(trip) == len(first) and all(
            one.step.at == other.step.at and _moved(other.named, number * tiles, stages) == one.named
            for one, other in zip(trip, first, strict=True)
        )
        if not same:
            return number
    return len(trips)


def _moved(named: Named | None, k_tiles: int, stages: int) -> Named | None:
    return None if named is None else Named(shifted(named.op, k_tiles, stages), named.part)


def segment_of(
    name: str, executed: list[Executed], scenario: GemmScenario, trips: int = 1, tiles: int = 0
) -> tuple[Segment, tuple[Line, ...]]:
    """A segment of executed instructions, and their lines."""
    code = tuple(_instruction(one, scenario) for one in executed)
    lines = tuple(Line(one.sass.address, one.sass.text) for one in executed)
    return Segment(name, code, trips, tiles), lines  # type: ignore[arg-type]


def _instruction(executed: Executed, scenario: GemmScenario) -> Instruction:
    sass, control = executed.sass, executed.sass.control
    unit, pipe = unit_of(sass, scheduled=executed.named is not None)
    if sass.name in MMA_OPCODES:
        pipe = tensor_pipe(scenario)
    elif executed.last:
        unit, pipe = "exit", ""
    return Instruction(
        opcode=sass.mnemonic,
        unit=unit,
        pipe=pipe,
        stall=max(1, control.stall),
        write_scoreboard=NO_SCOREBOARD if control.write == NO_BARRIER else control.write,
        read_scoreboard=NO_SCOREBOARD if control.read == NO_BARRIER else control.read,
        wait_mask=control.wait_mask,
        guard=_guard(executed),
        op=executed.named.op if executed.named else None,
        part=executed.named.part if executed.named else 0,
    )


def _guard(executed: Executed) -> str:
    op = executed.named.op if executed.named else None
    if isinstance(op, CopyAsync):
        return "zero-fill" if op.zfill else "predicate"
    return "" if executed.sass.guard.number == PT else "predicate"


@dataclass(frozen=True, slots=True)
class AnnotatedRow:
    """
    One instruction of a stream as ``gpusim sass`` prints it.

    Attributes:
        segment: "prologue", "mainloop", "tail" or "epilogue".
        trips: How often the segment runs.
        address: Byte address in the kernel's text.
        text: As a disassembler writes it.
        stall: Cycles to the warp's next instruction.
        write: Scoreboard set until the result is written, or ``NO_SCOREBOARD``.
        read: Scoreboard set until the sources are read, or ``NO_SCOREBOARD``.
        waits: Scoreboards waited for.
        unit: Unit, and the pipe where the unit is one.
        op: The schedule's op, as it reads in the first trip; "" for the arithmetic around.
        stage: Slot of the shared-memory ring it touches in the first trip, or None.
    """

    segment: str
    trips: int
    address: int
    text: str
    stall: int
    write: int
    read: int
    waits: tuple[int, ...]
    unit: str
    op: str
    stage: int | None


def annotated(one: CompiledStream) -> list[AnnotatedRow]:
    """The rows of ``gpusim sass``, in the order of execution, each segment once."""
    rows = []
    for segment, lines in zip(one.stream.segments, one.listing, strict=True):
        for instruction, line in zip(segment.instructions, lines, strict=True):
            op = instruction.op
            rows.append(
                AnnotatedRow(
                    segment=segment.name,
                    trips=segment.trips,
                    address=line.address,
                    text=line.text,
                    stall=instruction.stall,
                    write=instruction.write_scoreboard,
                    read=instruction.read_scoreboard,
                    waits=tuple(s for s in range(6) if instruction.wait_mask >> s & 1),
                    unit=f"{instruction.unit} {instruction.pipe}".strip(),
                    op="" if op is None else str(op),
                    stage=op.stage if isinstance(op, CopyAsync | Ldmatrix | LoadFragment | StoreTile) else None,
                )
            )
    return rows
