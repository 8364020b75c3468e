"""Makes the instruction stream of a kernel from its machine code: the path of one warp, aligned with the schedule.

The path is found by executing the code (``runner``): constants, parameters and indices decide every branch. Every
memory instruction is identified with an op of the schedule by its lane addresses (``align``). Nothing is estimated; the
one assumption is the unit that each opcode belongs to (``sass.pipes``).
"""

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from gpusim.cuda.compiled_kernel import CompiledKernel, compile_kernel, compiler_at_hand, compiler_name
from gpusim.cuda.specialise import Specialisation
from gpusim.errors import CheckFailed, Unsupported
from gpusim.lower.kept import kept_stream
from gpusim.lower.runner import EmulatedKernel, KernelRunner
from gpusim.lower.sass.decode import require_decoded
from gpusim.lower.sass.repeat import Loop
from gpusim.lower.segments import Segments
from gpusim.lower.shipped import find_stream, shipped_stream
from gpusim.lower.stream import Stream
from gpusim.lower.stream_file import OPS, CompiledStream, Kinds, parameter_lines
from gpusim.lower.user_kernel import UserKernel
from gpusim.machine.spec import Machine
from gpusim.schedule.lanes import StepT
from gpusim.schedule.ops import CopyAsync, Ldmatrix, LoadFragment, StoreTile


class CompilableKernel(EmulatedKernel[StepT]):
    """
    A kernel whose streams come from its machine code.

    Attributes:
        machine: The machine that the kernel is compiled for.
        user: Machine code to use instead of that of ``kernels_cuda``.
        own_build: Whether a stream that is not shipped is lowered from the build with compile-time extents, even if
            there is a build that serves all extents.
        step_kinds: Classes of its steps and of their ops, by the names in stream files.
    """

    machine: Machine
    user: UserKernel | None = None
    own_build: bool = False
    step_kinds: ClassVar[Kinds] = OPS

    @property
    def any_extents(self) -> Specialisation | None:
        """The plain build that serves all extents of the kernel's configuration; None if there is none."""
        return None

    @property
    @abstractmethod
    def slice_blocks(self) -> Sequence[int]:
        """Linear block index of one CTA of each split-K slice. Each slice has a stream of its own."""

    def typical_blocks(self, slice_: int) -> Sequence[int]:
        """Return linear block indices of candidate CTAs of a split-K slice, one of which will represent the others."""
        return (self.slice_blocks[slice_],)

    def can_be_compiled(self) -> bool:
        """Return whether the streams of all slices are shipped, or a compiler is installed."""
        if self.user is not None:
            return True
        own, target = self.specialisation, self.machine.compute_capability
        slices = range(len(self.slice_blocks))
        return all(find_stream(own, target, slice_) is not None for slice_ in slices) or compiler_at_hand()

    def compiled(self, slice_: int = 0) -> CompiledStream:
        """
        Return the stream of one split-K slice with its listing: the user's, the shipped one, or a newly compiled one.

        A stream that is not shipped is compiled with run-time extents if there is such a build, unless ``own_build``. A
        stream that was lowered before comes from the cache.

        Raises:
            BadInput: The user's kernel takes other parameters, or the assembler replaces the mma.sync.
            CannotRun: There is no shipped stream of this kernel, and no compiler is installed or it rejects the source.
                Or the compiler's code for gpusim's own kernel cannot be lowered; the message names the compiler.
            CheckFailed: The user's kernel does not execute the schedule. The message shows both sides.
        """
        own, target = self.specialisation, self.machine.compute_capability
        if self.user is not None:
            return self.of_user(self.user.compiled(own), slice_)
        shipped = shipped_stream(own, target, slice_, self.step_kinds)
        if shipped is not None and self.suffices(shipped):
            return shipped
        built = own if self.own_build else self.any_extents or own
        try:
            require_decoded(target)
            return self.kept(compile_kernel(built, target), slice_)
        except (CheckFailed, Unsupported) as error:
            raise Unsupported(
                f"the machine code that {compiler_name()} makes for sm_{target} cannot be followed: {error}"
            ) from error

    def listed(self, behaviour: Any) -> CompiledStream:
        """Return the stream of the CTAs of one behaviour, a split-K slice, with its listing."""
        return self.compiled(behaviour)

    def suffices(self, shipped: CompiledStream) -> bool:  # noqa: ARG002 - one stream serves all extents
        """Return whether a shipped stream serves all CTAs of this launch."""
        return True

    def kept(self, binary: CompiledKernel, slice_: int) -> CompiledStream:
        """Return the stream of one slice of compiled code, from the cache if it was lowered before."""
        constants, steering = KernelRunner(self, binary).constants, self.steering(slice_)
        return kept_stream(binary, constants, steering, lambda: self.lowered(binary, slice_), self.step_kinds)

    def steering(self, slice_: int) -> Sequence[int]:
        """Return the inputs, besides code and launch, that decide the paths of a stream: the CTA of the slice."""
        return (self.slice_blocks[slice_],)

    def lowered(self, binary: CompiledKernel, slice_: int) -> CompiledStream:
        """
        Return the stream of one split-K slice of compiled code.

        Raises:
            BadInput: The assembler replaces the mma.sync.
            Unsupported: An instruction is not known.
            CheckFailed: The kernel does not execute the schedule. The message shows both sides.
        """
        return lower(self, binary, self.slice_blocks[slice_])

    def of_user(self, binary: CompiledKernel, slice_: int) -> CompiledStream:
        """
        Return the stream of a user's kernel. Every trip is executed, because any trip may deviate.

        Raises:
            BadInput: The kernel takes other parameters, or the assembler replaces the mma.sync.
            Unsupported: An instruction is not known or not emulated. The message names kernel, address and instruction.
            CheckFailed: The kernel does not execute the schedule. The message shows both sides.
        """
        runner, blocks = KernelRunner(self, binary), self.typical_blocks(slice_)

        def make() -> CompiledStream:
            block, warp = typical_warp(runner, blocks)
            return lower(self, binary, block, warp, every_trip=True)

        try:
            return kept_stream(binary, runner.constants, blocks, make)
        except Unsupported as error:
            raise Unsupported(f"{runner.name}: {error}") from error


def typical_warp(runner: KernelRunner, blocks: Sequence[int]) -> tuple[int, int]:
    """
    Return block and warp of the path that represents all others: the one of median length.

    CUTLASS's analytic iterators branch around the addresses of padding, so warps at the border of an image execute
    fewer instructions. If the first and the last warp of the middle CTA execute equally many, no other is tried.

    Args:
        runner: The compiled kernel.
        blocks: Linear block indices of the CTAs to try.
    """
    first, middle = (blocks[0], 0), (blocks[len(blocks) // 2], runner.warps - 1)
    if len(runner.run(*first).steps) == len(runner.run(*middle).steps):
        return first
    warps = range(runner.warps)
    lengths = sorted((len(runner.run(block, warp).steps), block, warp) for block in blocks for warp in warps)
    _, block, warp = lengths[len(lengths) // 2]
    return block, warp


def lower(
    kernel: CompilableKernel[Any], compiled: CompiledKernel, block: int, warp: int = 0, *, every_trip: bool = False
) -> CompiledStream:
    """
    Return the instruction stream of a compiled kernel.

    One warp of one CTA represents all warps that execute the same program. The kernels predicate instead of branching,
    so paths differ only if a whole warp has nothing to store.

    Repeating trips of the mainloop are skipped, so the cost does not depend on K. If the result does not align with the
    schedule, every trip is executed.

    Args:
        kernel: Schedule of the kernel.
        compiled: Machine code of the kernel.
        block: Linear index of the CTA.
        warp: Index of the warp in it.
        every_trip: Execute every trip of the mainloop. The stream is the same.

    Raises:
        BadInput: The assembler replaces the mma.sync by other instructions (D27).
        Unsupported: An instruction is not known.
        CheckFailed: The kernel does not execute the schedule. The message shows both sides.
    """
    runner = KernelRunner(kernel, compiled)
    loop = None if every_trip else runner.loop(block)
    if loop is not None:
        try:
            return _lowered(runner, compiled, block, warp, loop)
        except CheckFailed:
            pass  # execute every trip; if that differs, too, the error shows both sides
    return _lowered(runner, compiled, block, warp, None)


def _lowered(
    runner: KernelRunner, compiled: CompiledKernel, block: int, warp: int, loop: Loop | None
) -> CompiledStream:
    path = runner.run(block, warp, loop)
    executed = runner.executed(block, path, loop)
    named = runner.align(block, warp, executed)
    parts = list(Segments(runner, block, executed, named))
    listing = tuple(lines for _, lines in parts)
    return CompiledStream(
        stream=Stream(
            "compiled",
            runner.cubin.registers,
            tuple(segment for segment, _ in parts),
            run_time_extents=bool(compiled.specialisation.extents),
            parameter_lines=parameter_lines(listing),
        ),
        listing=listing,
        compiler=compiled.compiler,
        architecture=runner.cubin.architecture,
        local_bytes=runner.cubin.local_bytes,
        code_bytes=runner.cubin.code_bytes,
    )


@dataclass(frozen=True, slots=True)
class AnnotatedRow:
    """
    One instruction of a stream as ``gpusim sass`` prints it.

    Attributes:
        segment: "prologue", "mainloop", "tail" or "epilogue".
        trips: Trips of the segment.
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
