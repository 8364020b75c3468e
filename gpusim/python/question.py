"""Answers a scenario of a kernel of the user's own: makes its arguments, executes it, and simulates its time."""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from gpusim.arrays import BoolArray, IntArray
from gpusim.errors import BadInput
from gpusim.execute.checks.memory import MemoryFindings
from gpusim.execute.conflicts import ConflictExample
from gpusim.execute.core import constants as core
from gpusim.execute.counts import KernelCounts, count, empty_counts
from gpusim.execute.run import ExecutedSteps, KernelExecution
from gpusim.execute.slices import slice_of
from gpusim.execute.watch import LaunchWatch
from gpusim.machine.spec import Machine
from gpusim.own.arguments import OwnArgument, read_argument
from gpusim.own.strides import FirstAccesses
from gpusim.own.timed import OwnTime, TracedExecution
from gpusim.python.kernel import POINTER_BYTES, BoundKernel, kernel, signature_words
from gpusim.results.kernel_result import ConflictNote, ExecutedData, KernelResult, KernelRow, ranked, validation_of
from gpusim.results.kernel_warps import WarpLog
from gpusim.results.provenance import provenance
from gpusim.results.result import Cycles
from gpusim.scenario.own_kernel import KernelQuestion
from gpusim.sim.pace import Progress, paced, silent
from gpusim.sim.stall_reasons import REASONS


@dataclass(frozen=True, slots=True)
class KernelAnswer:
    """
    What a launch does.

    Attributes:
        result: Time and counts.
        log: States of the warps of the CTA in the middle.
        arrays: The arrays among the arguments, by name. They have what the kernel wrote if it was executed in full.
    """

    result: KernelResult
    log: WarpLog | None
    arrays: Mapping[str, npt.NDArray[Any]]


def answer(question: KernelQuestion, *, full: bool = False, progress: Progress = silent) -> KernelAnswer:
    """
    Execute a launch and simulate its time.

    Args:
        question: The kernel, its launch and its arguments.
        full: Execute every instruction, so that arrays have what the kernel writes; otherwise only the slice that
            decides path and accesses, which takes the same time on the machine.
        progress: Called with a line every few seconds.

    Raises:
        BadInput: There is no such kernel, or the arguments are not those of its signature.
        CannotRun: The file cannot be compiled.
        CheckFailed: An access is out of bounds or misaligned, or warps wait for ever.
        Unsupported: An instruction that is reached is not executed, or its time is not simulated.
    """
    started = time.perf_counter()
    bound = launch_of(question)
    named = arguments_of(question, bound)
    values = list(named.values())
    execution = bound.execution(values, sliced=not full)
    counts, traced = empty_counts(execution.code), TracedExecution(execution, bound.machine)
    first, watch = FirstAccesses(execution.rows), LaunchWatch(execution)
    say = paced(progress, "CTAs that are executed", bound.launch.ctas)
    count(counts, execution.rows, watch.watch(first.watch(_told(traced.run(), say))))
    ran = _Executed(
        execution,
        counts,
        first.strides(),
        traced.time(progress, bound.launch.ctas // 2),
        watch.examples(counts),
        watch.findings(),
    )
    result = _result(question, bound, ran)
    result = replace(result, data=replace(result.data, seconds=time.perf_counter() - started))
    arrays = {name: value for name, value in named.items() if isinstance(value, np.ndarray)}
    for number, array in enumerate(arrays.values() if full else ()):
        array[...] = execution.image.contents_of(number, array)
    return KernelAnswer(result, ran.timed.log, arrays)


def _told(pieces: Iterable[ExecutedSteps], say: Callable[[int], None]) -> Iterator[ExecutedSteps]:
    """Yield the pieces of a trace, and say at which CTA each is."""
    for piece in pieces:
        say(piece.cta)
        yield piece


def launch_of(question: KernelQuestion) -> BoundKernel:
    """Return the kernel of a question with its grid and block; errors are those of ``answer``."""
    ready = kernel(question.file, question.entry, machine=question.machine, defines=question.defines or None)
    return ready[question.grid, question.block, question.shared_bytes]


def arguments_of(question: KernelQuestion, bound: BoundKernel) -> dict[str, OwnArgument]:
    """
    Return the arguments of a question by name.

    Raises:
        BadInput: One of them is no argument, or they are not as many as the signature has.
    """
    sizes, given = [size for _, size in bound.cubin.parameters], list(question.arguments)
    if len(sizes) != len(given):
        names = f" ({', '.join(given)})" if given else ""
        raise BadInput(
            f"{bound.cubin.kernel} takes {signature_words(sizes)}, got {len(given)}{names}; state each in the order of"
            " the signature"
        )
    found = {
        name: value
        if isinstance(value, float)
        else read_argument(f"argument {name}", str(value), question.folder, place)
        for place, (name, value) in enumerate(question.arguments.items())
    }
    for (name, value), size in zip(found.items(), sizes, strict=True):
        has = (
            POINTER_BYTES if isinstance(value, np.ndarray) else value.nbytes if isinstance(value, np.generic) else size
        )
        if has != size:
            what = "an array takes" if isinstance(value, np.ndarray) else f"{question.arguments[name]} has"
            raise BadInput(f"argument {name} has {size} bytes in the signature of {bound.cubin.kernel}, {what} {has}")
    return found


@dataclass(frozen=True, slots=True)
class _Executed:
    """A launch that was executed and simulated."""

    execution: KernelExecution
    counts: KernelCounts
    strides: Mapping[int, int]
    timed: OwnTime
    conflicts: tuple[ConflictExample, ...]
    findings: MemoryFindings


def _result(question: KernelQuestion, bound: BoundKernel, ran: _Executed) -> KernelResult:
    machine, launch, scenario = bound.machine, bound.launch, question.resolved()
    execution, timed = ran.execution, ran.timed
    sliced = execution.slice if execution.slice is not None else slice_of(execution.rows)
    return KernelResult(
        scenario=scenario,
        kernel=bound.cubin.kernel,
        machine={"name": machine.name, "digest": machine.digest(), "figures": machine.figure_counts()},
        grid=launch.grid,
        block=launch.block,
        ctas=launch.ctas,
        ctas_per_sm=timed.occupancy.ctas,
        limiter=timed.occupancy.limiter,
        sms=timed.sms,
        waves=round(launch.ctas / (timed.occupancy.ctas * machine.sms), 3),
        registers_per_thread=bound.cubin.registers,
        shared_bytes=bound.cubin.shared_bytes + launch.shared_bytes,
        cycles=Cycles(elapsed=timed.cycles, active=timed.active),
        time_us=round(timed.cycles / machine.clock_mhz, 3),
        clock_mhz=machine.clock_mhz,
        validation=validation_of(machine.name, machine.digest()),
        warp_instructions=timed.instructions,
        stalls=ranked(timed.stalls),
        dram_read_bytes=timed.dram_read,
        dram_written_bytes=timed.dram_written,
        l2_sectors=timed.l2_sectors,
        of_peak=_of_peak(machine, ran),
        rows=_rows(ran),
        conflicts=tuple(ConflictNote(one.address, one.conflicts, str(one)) for one in ran.conflicts),
        findings=tuple(str(ran.findings).splitlines()),
        data=ExecutedData(
            executed="all" if execution.slice is None else "slice",
            data_steers=sliced.data_steers,
            order_steers=sliced.order_steers,
            programs=timed.programs,
            streams=timed.streams,
            seconds=0.0,
        ),
        provenance=provenance(scenario, machine.digest()),
    )


def _of_peak(machine: Machine, ran: _Executed) -> dict[str, float]:
    """Return the share of what the machine can do in the launch's cycles, of each resource; the largest first."""
    timed = ran.timed
    seconds = timed.cycles / machine.clock_mhz / 1e6
    used = {
        "issue slots": timed.instructions / (machine.sms * machine.smsps * timed.cycles),
        "shared memory": ran.counts.total("wavefronts") / (machine.sms * timed.cycles),
        "DRAM": (timed.dram_read + timed.dram_written) / (machine.dram.bandwidth_gb_s * 1e9 * seconds),
    }
    return {name: round(share, 4) for name, share in sorted(used.items(), key=lambda one: -one[1])}


def left_out(execution: KernelExecution) -> BoolArray:
    """Return for each instruction of the text whether the slice leaves it out, so that its lanes are not known."""
    rows = execution.rows.reshape(-1, core.ROW)
    if execution.slice is None:
        return np.zeros(len(rows), dtype=np.bool_)
    sliced: IntArray = execution.slice.rows.reshape(-1, core.ROW)
    found: BoolArray = sliced[:, core.KIND] != rows[:, core.KIND]
    return found


def _rows(ran: _Executed) -> tuple[KernelRow, ...]:
    unknown, stalls, source = left_out(ran.execution), ran.timed.by_instruction, ran.execution.source
    return tuple(
        KernelRow(
            address=row.address,
            text=row.text,
            source=source.trail(row.address),
            issues=row.issues,
            lanes=None if unknown[at] else row.lanes,
            wavefronts=row.wavefronts,
            ideal_wavefronts=row.ideal_wavefronts,
            sectors=row.sectors,
            ideal_sectors=row.ideal_sectors,
            stalls=ranked(dict(zip(REASONS, stalls[at].tolist(), strict=True))),
            lane_stride=ran.strides.get(at),
        )
        for at, row in enumerate(ran.counts.rows)
        if row.issues
    )
