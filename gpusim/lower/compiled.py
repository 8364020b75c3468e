"""Makes the instruction stream of a kernel from its machine code: the path of one warp, aligned with the schedule.

The path is found by executing the code (``runner``): constants, parameters and indices decide every branch. Every
memory instruction is identified with an op of the schedule by its lane addresses (``align``). Nothing is estimated; the
one assumption is the unit that each opcode belongs to (``sass.pipes``).
"""

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from gpusim.cuda.compiled_kernel import CompiledKernel, compile_kernel, compiler_at_hand
from gpusim.cuda.specialise import Specialisation
from gpusim.errors import CheckFailed
from gpusim.lower.kept import kept_stream
from gpusim.lower.runner import EmulatedKernel, KernelRunner
from gpusim.lower.sass.repeat import Loop
from gpusim.lower.segments import Segments
from gpusim.lower.shipped import find_stream, shipped_stream
from gpusim.lower.stream import Stream
from gpusim.lower.stream_file import CompiledStream
from gpusim.machine.spec import Machine
from gpusim.schedule.lanes import StepT
from gpusim.schedule.ops import CopyAsync, Ldmatrix, LoadFragment, StoreTile


class CompilableKernel(EmulatedKernel[StepT]):
    """
    A kernel whose streams come from its machine code.

    Attributes:
        machine: The machine that the kernel is compiled for.
        own_build: Whether its streams are those of the build that a GPU runs, whose extents are compiled in.
    """

    machine: Machine
    own_build: bool = False

    @property
    def any_extents(self) -> Specialisation | None:
        """The plain build that serves all extents of the kernel's configuration; None where there is none."""
        return None

    @property
    @abstractmethod
    def slice_blocks(self) -> Sequence[int]:
        """Linear block index of one CTA of each split-K slice. Each slice has a stream of its own."""

    def can_be_compiled(self) -> bool:
        """Return whether the streams of all slices come with gpusim, or a compiler is installed."""
        own, target = self.specialisation, self.machine.compute_capability
        slices = range(len(self.slice_blocks))
        return all(find_stream(own, target, slice_) is not None for slice_ in slices) or compiler_at_hand()

    def compiled(self, slice_: int = 0) -> CompiledStream:
        """
        Return the stream of one split-K slice with its listing: the shipped one, or one that is compiled now or before.

        What is not shipped is compiled with run-time extents where there is such a build, unless ``own_build``.

        Raises:
            CannotRun: There is no shipped stream of this kernel, and no compiler is installed.
            CheckFailed: The kernel does not execute the schedule. The message shows both sides.
        """
        own, target = self.specialisation, self.machine.compute_capability
        shipped = shipped_stream(own, target, slice_)
        if shipped is not None:
            return shipped
        built = own if self.own_build else self.any_extents or own
        binary, block = compile_kernel(built, target), self.slice_blocks[slice_]
        return kept_stream(binary, block, lambda: lower(self, binary, block))


def lower(
    kernel: CompilableKernel[Any], compiled: CompiledKernel, block: int, *, every_trip: bool = False
) -> CompiledStream:
    """
    Return the instruction stream of a compiled kernel.

    Warp 0 of one CTA represents all warps that execute the same program. The kernels predicate instead of branching, so
    paths differ only if a whole warp has nothing to store.

    Trips of the mainloop that repeat are not executed one by one, so the time does not depend on K. If what was
    executed does not align with the schedule that way, every trip is executed.

    Args:
        kernel: Schedule of the kernel.
        compiled: Its machine code.
        block: Linear index of the CTA.
        every_trip: Execute every trip of the mainloop. The stream is the same.

    Raises:
        BadInput: The assembler replaces the mma.sync by other instructions (D27).
        CheckFailed: The kernel does not execute the schedule. The message shows both sides.
    """
    runner = KernelRunner(kernel, compiled)
    loop = None if every_trip else runner.loop(block)
    if loop is not None:
        try:
            return _lowered(runner, compiled, block, loop)
        except CheckFailed:
            pass  # what does not repeat is executed in full, and refused with both sides if that differs, too
    return _lowered(runner, compiled, block, None)


def _lowered(runner: KernelRunner, compiled: CompiledKernel, block: int, loop: Loop | None) -> CompiledStream:
    path = runner.run(block, 0, loop)
    executed = runner.executed(block, path, loop)
    named = runner.align(block, 0, executed)
    parts = list(Segments(runner, block, executed, named))
    return CompiledStream(
        stream=Stream(
            "compiled",
            runner.cubin.registers,
            tuple(segment for segment, _ in parts),
            run_time_extents=bool(compiled.specialisation.extents),
        ),
        listing=tuple(lines for _, lines in parts),
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
