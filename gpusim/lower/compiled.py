"""Makes the instruction stream of a kernel from its machine code: the path of one warp, aligned with the schedule.

The path is found by executing the code: constants, parameters and indices decide every branch (``sass.emulate``). Every
memory instruction is identified with an op of the schedule by its lane addresses (``align``). Nothing is estimated; the
one assumption is the unit that each opcode belongs to (``sass.pipes``).
"""

from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from gpusim.cuda.compiled_kernel import CompiledKernel, compile_kernel, compiler_at_hand
from gpusim.cuda.specialise import SHARED_ALIGNMENT, Specialisation
from gpusim.element_types import Mma, is_emulated, walks_vertically
from gpusim.errors import BadInput, CheckFailed
from gpusim.lower.align import MMA_OPCODES, OpPart, Placement, align
from gpusim.lower.estimated import tensor_pipe
from gpusim.lower.sass.cubin import Cubin, read_cubin
from gpusim.lower.sass.decode import NO_BARRIER, Sass, decode
from gpusim.lower.sass.emulate import EmulatedWarp, ExecutedInstruction, Load, run_warp
from gpusim.lower.sass.operands import PT, CodeAddress
from gpusim.lower.sass.pipes import unit_of
from gpusim.lower.shipped import find_stream, shipped_stream
from gpusim.lower.stream import NO_SCOREBOARD, Instruction, Segment, Stream, shifted
from gpusim.lower.stream_file import CompiledStream, Line
from gpusim.lower.user_kernel import UserKernel
from gpusim.machine.spec import Machine
from gpusim.schedule.counts import CountedKernel
from gpusim.schedule.lanes import StepT
from gpusim.schedule.ops import Barrier, CopyAsync, Ldmatrix, LoadFragment, StoreTile, WarpMma
from gpusim.units import WARP_SIZE

LONGEST_NAME = 80
"""Characters of a kernel's name in a message. CUTLASS's mangled names have thousands."""


class CompilableKernel(CountedKernel[StepT]):
    """
    A kernel whose machine code can be aligned with its schedule.

    Attributes:
        parameters: dtype of the parameter structure that the kernel is launched with.
        machine: The machine that the kernel is compiled for.
        user: Machine code to take instead of that of ``kernels_cuda``.
    """

    parameters: ClassVar[np.dtype[np.void]]
    machine: Machine
    user: UserKernel | None = None

    @property
    @abstractmethod
    def specialisation(self) -> Specialisation:
        """The kernel's plain build."""

    @property
    @abstractmethod
    def slice_blocks(self) -> Sequence[int]:
        """Linear block index of one CTA of each split-K slice. Each slice has a stream of its own."""

    @property
    @abstractmethod
    def mma(self) -> Mma | None:
        """The mma.sync that the kernel uses; None for a kernel without MMAs."""

    @property
    @abstractmethod
    def pointers(self) -> Mapping[str, int]:
        """Assumed global byte address of each tensor, by ``Reached.tensor``. Their address ranges do not overlap."""

    @abstractmethod
    def values(self, k_iterations: int) -> Mapping[str, Any]:
        """Return the parameters of a launch, pointers included. ``k_iterations`` is ``Specialisation.k_iterations``."""

    def typical_blocks(self, slice_: int) -> Sequence[int]:
        """Return linear block indices of CTAs of a split-K slice, among which one like most others is looked for."""
        return (self.slice_blocks[slice_],)

    def packed(self, kernel: str, size: int, k_iterations: int) -> bytes:
        """
        Return the parameter structure that a kernel is launched with.

        Args:
            kernel: Name of the kernel in the cubin.
            size: Bytes of parameters that it takes.
            k_iterations: ``Specialisation.k_iterations``.

        Raises:
            BadInput: It takes a structure of another size.
        """
        if size != self.parameters.itemsize:
            name = kernel if len(kernel) <= LONGEST_NAME else f"{kernel[:LONGEST_NAME]}..."
            raise BadInput(f"{name} takes {size} bytes of parameters, its launch has {self.parameters.itemsize}")
        values: npt.NDArray[np.void] = np.zeros((), dtype=self.parameters)
        for name, value in self.values(k_iterations).items():
            values[name] = value
        return values.tobytes()

    def memory(self, block: int) -> Load:  # noqa: ARG002 - data steers few kernels
        """Return the function that reads global memory for a CTA. It matters only if that data steers the path."""
        return np.zeros_like

    def can_be_compiled(self) -> bool:
        """Return whether the streams of all slices come with gpusim, or a compiler is installed."""
        if self.user is not None:
            return True
        own, target = self.specialisation, self.machine.compute_capability
        slices = range(len(self.slice_blocks))
        return all(find_stream(own, target, slice_) is not None for slice_ in slices) or compiler_at_hand()

    def compiled(self, slice_: int = 0) -> CompiledStream:
        """
        Return the stream of one split-K slice with its listing: the user's, the shipped one, or one compiled now.

        Raises:
            BadInput: The user's kernel takes other parameters, or executes an instruction that is not known.
            CannotRun: There is no shipped stream of this kernel, and no compiler is installed.
            CheckFailed: The kernel does not execute the schedule. The message shows both sides.
        """
        own, target = self.specialisation, self.machine.compute_capability
        if self.user is not None:
            compiled = self.user.compiled(own)
            return lower(self, compiled, *typical_warp(KernelRunner(self, compiled), self.typical_blocks(slice_)))
        shipped = shipped_stream(own, target, slice_)
        return shipped or lower(self, compile_kernel(own, target), self.slice_blocks[slice_])


class KernelRunner:
    """
    Emulates any warp of a compiled kernel's grid.

    Attributes:
        kernel: Schedule of the kernel.
        cubin: Its machine code and resources.
        code: Its decoded instructions.
    """

    def __init__(self, kernel: CompilableKernel[Any], compiled: CompiledKernel) -> None:
        """
        Decode the kernel.

        Raises:
            BadInput: The assembler replaces the mma.sync by other instructions (4-bit integers from sm_90 on, D27).
        """
        self.kernel, self.specialisation = kernel, compiled.specialisation
        self.cubin: Cubin = read_cubin(compiled.cubin, self.specialisation.entry, "the compiled kernel")
        mma = kernel.mma
        if mma is not None and is_emulated(mma.ab, self.cubin.architecture):
            raise BadInput(
                f"problem.dtype.ab must be a type that sm_{self.cubin.architecture} multiplies, got {mma.ab!r}: its"
                " mma.sync is emulated, and the kernel holds no instruction that stands for it (D27)"
            )
        self.code = decode(self.cubin.code, self.cubin.architecture)
        self._constants = self._parameter_bank()

    @property
    def warps(self) -> int:
        """Warps of a CTA."""
        return self.specialisation.block_threads // WARP_SIZE

    def _parameter_bank(self) -> bytes:
        """
        Return constant bank 0 of a launch, parameters included.

        Raises:
            BadInput: The kernel takes a structure of another size.
        """
        cubin, k_iterations = self.cubin, self.specialisation.k_iterations
        packed = self.kernel.packed(cubin.kernel, cubin.parameter_bytes, k_iterations)
        bank = bytearray(cubin.constants)
        bank[cubin.parameters_at : cubin.parameters_at + cubin.parameter_bytes] = packed
        return bytes(bank)

    def run(self, block: int, warp: int) -> list[ExecutedInstruction]:
        """Execute one warp of the CTA with linear block index ``block``, and return the instructions it executed."""
        x, y, _ = self.specialisation.grid
        return run_warp(
            self.code,
            EmulatedWarp(
                ctaid=(block % x, block // x % y, block // (x * y)),
                grid=self.specialisation.grid,
                threads=self.specialisation.block_threads,
                index=warp,
                constants=self._constants,
                local_bytes=self.cubin.local_bytes,
                load=self.kernel.memory(block),
            ),
        )

    def align(self, block: int, warp: int, steps: Sequence[ExecutedInstruction]) -> list[OpPart | None]:
        """
        Return the op that each instruction of one warp executes, or None for the arithmetic between ops.

        Raises:
            CheckFailed: The warp did not execute the schedule. The message shows both sides.
        """
        base = -(-self.cubin.shared_bytes // SHARED_ALIGNMENT) * SHARED_ALIGNMENT
        placement = Placement(block, warp, base, self.kernel.pointers)
        vertical = walks_vertically(self.cubin.architecture)
        return align(self.code, steps, self.kernel, placement, vertical=vertical)


def typical_warp(runner: KernelRunner, blocks: Sequence[int]) -> tuple[int, int]:
    """
    Return block and warp of the path that represents all others: the one of median length.

    CUTLASS's analytic iterators branch around the address of what lies in the padding, so warps at the border of an
    image execute less. If the first warp and the last one of the middle CTA execute equally much, no other is tried.

    Args:
        runner: The compiled kernel.
        blocks: Linear block indices of the CTAs to try.
    """
    first, middle = (blocks[0], 0), (blocks[len(blocks) // 2], runner.warps - 1)
    if len(runner.run(*first)) == len(runner.run(*middle)):
        return first
    lengths = sorted((len(runner.run(block, warp)), block, warp) for block in blocks for warp in range(runner.warps))
    _, block, warp = lengths[len(lengths) // 2]
    return block, warp


def lower(kernel: CompilableKernel[Any], compiled: CompiledKernel, block: int, warp: int = 0) -> CompiledStream:
    """
    Return the instruction stream of a compiled kernel.

    One warp of one CTA represents all warps that execute the same program. The kernels predicate instead of branching,
    so paths differ only if a whole warp has nothing to store.

    Args:
        kernel: Schedule of the kernel.
        compiled: Its machine code.
        block: Linear index of the CTA.
        warp: Index of the warp in it.

    Raises:
        BadInput: The assembler replaces the mma.sync by other instructions (D27).
        CheckFailed: The kernel does not execute the schedule. The message shows both sides.
    """
    runner = KernelRunner(kernel, compiled)
    steps = runner.run(block, warp)
    named = runner.align(block, warp, steps)
    executed = [
        _Executed(runner.code[step.at], step, name, step is steps[-1]) for step, name in zip(steps, named, strict=True)
    ]
    parts = list(_Segments(runner, block, executed))
    return CompiledStream(
        stream=Stream("compiled", runner.cubin.registers, tuple(segment for segment, _ in parts)),
        listing=tuple(lines for _, lines in parts),
        compiler=compiled.compiler,
        architecture=runner.cubin.architecture,
        local_bytes=runner.cubin.local_bytes,
        code_bytes=runner.cubin.code_bytes,
    )


# --- segments ---


@dataclass(frozen=True, slots=True)
class _Executed:
    """One executed instruction, the op that it executes, and whether it is the warp's last one."""

    sass: Sass
    step: ExecutedInstruction
    named: OpPart | None
    last: bool


class _Segments:
    """
    Cuts a warp's path into segments: prologue, mainloop, tail, epilogue.

    If trips of the loop differ, each run of equal trips is a mainloop segment. A kernel without MMAs is one segment.
    """

    def __init__(self, runner: KernelRunner, block: int, executed: list[_Executed]) -> None:
        self._runner, self._block, self._executed = runner, block, executed
        mma = runner.kernel.mma
        self._tensor_pipe = "" if mma is None else tensor_pipe(mma)

    def __iter__(self) -> Iterator[tuple[Segment, tuple[Line, ...]]]:
        executed, kernel = self._executed, self._runner.kernel
        if kernel.mma is None:
            yield self._segment("epilogue", executed)
            return
        starts = self._loop_trips()
        barriers = [
            at for at, one in enumerate(executed) if one.named is not None and isinstance(one.named.op, Barrier)
        ]
        before = sum(isinstance(op, Barrier) for op in kernel.steps_before_epilogue(self._block))
        yield self._segment("prologue", executed[: starts[0]])
        trips = [executed[begin:end] for begin, end in pairwise(starts)]
        while trips:
            alike = self._alike(trips)
            yield self._segment("mainloop", trips[0], alike, self._tiles(trips[0]))
            trips = trips[alike:]
        # A pipelined mainloop has no tail: its last barrier lies in the last k tile.
        epilogue = max(barriers[before - 1] + 1, starts[-1])
        yield self._segment("tail", executed[starts[-1] : epilogue])
        yield self._segment("epilogue", executed[epilogue:])

    def _loop_trips(self) -> list[int]:
        """
        Return the positions in the path at which trips of the mainloop begin, followed by the end of the last trip.

        The mainloop is the smallest loop (backward branch) that contains MMAs. A path that executes no MMA has no trip:
        the one position returned, after its last copy or fragment load, separates prologue and tail.

        Raises:
            CheckFailed: MMAs were executed, but no executed loop contains them.
        """
        code, executed = self._runner.code, self._executed
        mmas = [at for at, sass in enumerate(code) if sass.name in MMA_OPCODES]
        spans = []
        for at, sass in enumerate(code):
            target = sass.operands.get("t")
            if sass.name == "BRA" and isinstance(target, CodeAddress) and target.address < sass.address:
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
            entry = self._runner.specialisation.entry
            raise CheckFailed(f"{entry}: no backward branch holds the MMAs, so the mainloop cannot be identified")
        copies = [at + 1 for at, one in enumerate(executed) if one.sass.name in ("LDGSTS", "LDSM")]
        return [copies[-1] if copies else 0]

    def _tiles(self, trip: list[_Executed]) -> int:
        """Return the number of k tiles that one trip consumes."""
        tiling = self._runner.kernel.lanes().operands["a"].tiling
        per_tile = tiling.k_groups * tiling.mmas
        mmas = sum(one.named is not None and isinstance(one.named.op, WarpMma) for one in trip)
        if mmas % per_tile:
            entry = self._runner.specialisation.entry
            raise CheckFailed(f"{entry}: a trip of the mainloop has {mmas} MMAs, a k tile {per_tile}")
        return mmas // per_tile

    def _alike(self, trips: list[list[_Executed]]) -> int:
        """Return how many leading trips execute the same instructions on ops that advance by the trip's k tiles."""
        first, stages = trips[0], self._runner.kernel.lanes().operands["a"].tiling.stages
        tiles = self._tiles(first)
        for number, trip in enumerate(trips):
            same = len(trip) == len(first) and all(
                one.step.at == other.step.at and _moved(other.named, number * tiles, stages) == one.named
                for one, other in zip(trip, first, strict=True)
            )
            if not same:
                return number
        return len(trips)

    def _segment(
        self, name: str, executed: list[_Executed], trips: int = 1, tiles: int = 0
    ) -> tuple[Segment, tuple[Line, ...]]:
        """Return a segment of executed instructions with its lines of the listing."""
        code = tuple(map(self._instruction, executed))
        lines = tuple(Line(one.sass.address, one.sass.text) for one in executed)
        return Segment(name, code, trips, tiles), lines  # type: ignore[arg-type]

    def _instruction(self, executed: _Executed) -> Instruction:
        sass, control = executed.sass, executed.sass.control
        unit, pipe = unit_of(sass, scheduled=executed.named is not None)
        if sass.name in MMA_OPCODES:
            pipe = self._tensor_pipe
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


def _moved(named: OpPart | None, k_tiles: int, stages: int) -> OpPart | None:
    return None if named is None else OpPart(shifted(named.op, k_tiles, stages), named.part)


def _guard(executed: _Executed) -> str:
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
        text: Guard, mnemonic and operands, as a disassembler writes them.
        stall: Cycles to the warp's next instruction.
        write: Scoreboard held until the result is written, or ``NO_SCOREBOARD``.
        read: Scoreboard held until the sources are read, or ``NO_SCOREBOARD``.
        waits: Scoreboards that must be free before it issues.
        unit: The unit, followed by the pipe for fixed-latency and tensor pipes.
        op: The schedule's op in the segment's first trip; "" for the arithmetic between ops.
        stage: Slot of the shared-memory ring that it accesses in the first trip, or None.
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
    """Return the rows of ``gpusim sass`` in the order of execution, with each segment once."""
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
