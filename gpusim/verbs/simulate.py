"""Simulates a scenario in time: lowers its schedule, simulates the launches, counts, and finds the bound."""

import time
from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias, get_args

from gpusim.errors import BadInput, CannotRun
from gpusim.families.registry import family_of
from gpusim.lower.compiled import CompilableKernel
from gpusim.lower.estimated import tensor_core
from gpusim.lower.stream import Stream
from gpusim.lower.user_kernel import UserKernel
from gpusim.machine.load import load_machine
from gpusim.machine.occupancy import ctas_per_sm, require_room
from gpusim.results.bound import bound_table
from gpusim.results.provenance import provenance
from gpusim.results.resources import Resource, RunSpans, Work, resources
from gpusim.results.result import (
    ELAPSED,
    NOT_COMPILED,
    NOT_IN_CUTLASS,
    RUN_TIME_EXTENTS,
    Cycles,
    ReductionLaunch,
    Result,
    Simulated,
    StreamOrigin,
)
from gpusim.results.timeline import Timeline
from gpusim.results.trust import trust_of
from gpusim.scenario.models import Scenario
from gpusim.schedule.counts import Counts, count_all
from gpusim.sim.core.engine import engine
from gpusim.sim.executed import executed
from gpusim.sim.launch import Launch, Outcome, simulate_launch
from gpusim.sim.pace import Progress
from gpusim.sim.stall_reasons import shares
from gpusim.sim.timed_kernel import AnyKernel
from gpusim.units import SECTOR_BYTES

STREAM_CHOICES = ("auto", *get_args(StreamOrigin))
"""
Origins of instruction streams to choose from.

"auto" is "compiled" if all streams come with gpusim or an installed compiler makes them, otherwise "estimated". A
result states which one was used, and why streams are estimated although a compiler is installed.
"""


def simulate(
    scenario: Scenario,
    *,
    exact: bool | None = None,
    stream: str = "estimated",
    user: UserKernel | None = None,
    own_build: bool = False,
    progress: Callable[[str], None] | None = None,
) -> tuple[Result, Timeline]:
    """
    Simulate a scenario's kernels in time.

    The result's pipeline and the timeline are those of one CTA of the first kernel: the first CTA with most work.

    Args:
        scenario: Problem, kernel and machine.
        exact: True simulates every CTA on every SM, False samples: some CTAs on some SMs. By default a launch is exact
            up to ``EXACT_AT_MOST`` warp instructions.
        stream: Origin of the instruction streams: "estimated" by stated rules, "compiled" from the kernel's own
            machine code, or "auto".
        user: Kernel whose machine code is simulated. Addresses still come from the schedule.
        own_build: Compile the extents into a kernel that is not shipped, as in a measured one. By default one build
            with run-time extents serves all problems of a GEMM's configuration, and the result's provenance says so.
        progress: Called with a line about each phase.

    Returns:
        The result, and the timeline of the watched CTA.

    Raises:
        BadInput: The machine cannot run this kernel: no CTA fits on an SM, or it lacks cp.async or the mma.sync. Or
            the user's kernel is not one for this machine and scenario.
        CannotRun: Streams must be compiled, but one is not shipped, and no compiler is installed.
        CheckFailed: The user's kernel does not execute its schedule.
    """
    family = family_of(scenario)
    if family.has("simulated"):
        _require_estimate(scenario, exact=exact, stream=stream, user=user)
        return family.simulations.simulate(scenario, load_machine(scenario.machine), progress or (lambda _: None))
    result, launches = simulate_launches(
        scenario, exact=exact, stream=stream, user=user, own_build=own_build, progress=progress
    )
    return result, launches[0].outcome.timeline


def _require_estimate(scenario: Scenario, *, exact: bool | None, stream: str, user: UserKernel | None) -> None:
    """
    Check that a family whose warps have roles is asked for what it knows: every CTA, from estimated streams.

    Raises:
        BadInput: It is asked for something else.
    """
    if stream not in STREAM_CHOICES:
        raise BadInput(f"stream must be one of {', '.join(STREAM_CHOICES)}, got {stream!r}")
    if user is not None:
        raise BadInput(f"{scenario.kind}: a cubin's machine code cannot be aligned with the roles of this kind")
    if stream == "compiled":
        raise BadInput(f'{scenario.kind}: stream must be "auto" or "estimated": the roles have no compiled streams')
    if exact is False:
        raise BadInput(f"{scenario.kind}: every CTA is simulated; a sample is not known for this kind")


def simulate_launches(
    scenario: Scenario,
    *,
    exact: bool | None = None,
    stream: str = "estimated",
    user: UserKernel | None = None,
    own_build: bool = False,
    progress: Callable[[str], None] | None = None,
) -> tuple[Result, tuple["SimulatedLaunch", ...]]:
    """Simulate as ``simulate`` does, and return the result with its launches in order."""
    started = time.perf_counter()
    say = progress or (lambda _: None)
    if stream not in STREAM_CHOICES:
        raise BadInput(f"stream must be one of {', '.join(STREAM_CHOICES)}, got {stream!r}")
    family = family_of(scenario)
    kernels = family.timing.timed_kernels(scenario, load_machine(scenario.machine))
    for kernel in kernels:
        kernel.require()
    if user is not None:
        _take(user, kernels)
    say("lowering the schedule")
    for kernel in kernels:
        if isinstance(kernel, CompilableKernel):
            kernel.own_build = own_build
    streams, refusal = _streams(kernels, "compiled" if user is not None else stream, user)
    if refusal:
        say(f"no compiled stream: {refusal}")
    (first, own), *others = zip(kernels, streams, strict=True)
    launches = [simulated(_launch(first, own), exact=exact, say=say)]
    for kernel, own in others:
        say("simulating the reduction")
        launches.append(simulated(_launch(kernel, own), exact=exact))
    say("counting what the grid executes")
    counts = count_all(kernels)
    result = _result(scenario, launches, counts, time.perf_counter() - started)
    trust = trust_of(result.scenario, result.machine, result.stream, result.waves, own_code=user is not None)
    said = {
        NOT_IN_CUTLASS: scenario.lacking_in_cutlass,
        "cubin": None if user is None else user.provenance,
        NOT_COMPILED: refusal,
    }
    known = {key: value for key, value in said.items() if value}
    return replace(result, trust=trust, provenance={**result.provenance, **known}), tuple(launches)


def _take(user: UserKernel, kernels: Sequence[AnyKernel]) -> None:
    """
    Replace the machine code of the scenario's kernel by a user's machine code.

    Raises:
        BadInput: The code is for another architecture, or the scenario has no such kernel, or several.
    """
    first, *others = kernels
    if not isinstance(first, CompilableKernel):
        raise BadInput("--cubin: this scenario has no kernel whose machine code can be aligned with its schedule")
    if others:
        raise BadInput('--cubin holds one kernel, and problem.split_k = "parallel" launches two')
    user.require(first.machine)
    first.user = user


_Streams: TypeAlias = Mapping[Hashable, Stream]
"""The streams of a kernel's CTAs, by behaviour."""


def _streams(kernels: Sequence[AnyKernel], stream: str, user: UserKernel | None) -> tuple[Sequence[_Streams], str]:
    """
    Return the streams of each kernel, all of one origin, and the reason if compiling them failed.

    Raises:
        BadInput: A kernel has no stream of the requested origin.
        CannotRun: A stream must be compiled, and cannot be. The message says what works without it.
        CheckFailed: The user's kernel does not execute the schedule.
    """
    refusal = ""
    try:
        if stream == "compiled" or (stream == "auto" and all(kernel.can_be_compiled() for kernel in kernels)):
            return [streams_of(kernel, "compiled") for kernel in kernels], ""
    except BadInput as error:
        if stream == "compiled":
            raise
        refusal = str(error)
    except CannotRun as error:
        if user is not None:
            raise
        refusal = str(error).rstrip(".")
        if stream == "compiled":
            raise CannotRun(f"{refusal}; --stream auto and --stream estimated answer without it") from error
    return [streams_of(kernel, "estimated") for kernel in kernels], refusal


@dataclass(frozen=True, slots=True)
class SimulatedLaunch:
    """
    A launch and its outcome.

    Attributes:
        launch: The launch.
        outcome: The outcome of its simulation.
    """

    launch: Launch
    outcome: Outcome

    @property
    def elapsed(self) -> int:
        """Cycles of the launch, overhead included."""
        return self.elapsed_of(self.outcome.longest)

    def elapsed_of(self, longest: int) -> int:
        """Return the cycles of the launch if the longest span of an SM were ``longest`` cycles."""
        launch = self.launch
        busy = launch.kernel.mma is not None
        return launch.machine.launch.elapsed(longest, ctas=launch.ctas, working=launch.working, busy=busy)

    @property
    def active(self) -> float:
        """Mean active span over all SMs, idle ones included, cycles."""
        return self.outcome.active * self.launch.working / self.launch.machine.sms

    @property
    def own_reads(self) -> int:
        """Sectors that the launch reads from the L2 besides data: the machine code, which is fetched several times."""
        reads = self.launch.machine.launch.reads
        if reads is None:
            return 0
        distinct = {id(stream): stream for stream in self.launch.streams.values()}
        code = max(stream.code_bytes for stream in distinct.values())
        return reads.sectors + reads.of_code * code // SECTOR_BYTES

    @property
    def registers(self) -> int:
        """Largest number of registers of a thread."""
        return max(stream.registers_per_thread for stream in self.launch.streams.values())


def launch_of(kernel: AnyKernel, origin: StreamOrigin) -> Launch:
    """
    Return the launch of a kernel with the streams of its CTAs and as many CTAs on an SM as fit.

    Raises:
        BadInput: No CTA fits on an SM, or the kernel has no stream of this origin.
        CannotRun: A stream must be compiled, but is not shipped, and no compiler is installed.
    """
    return _launch(kernel, streams_of(kernel, origin))


def streams_of(kernel: AnyKernel, origin: StreamOrigin) -> dict[Hashable, Stream]:
    """
    Return the streams of a kernel's CTAs, by behaviour.

    Raises:
        BadInput: The kernel has no stream of this origin.
        CannotRun: A stream must be compiled, and cannot be.
    """
    streams: dict[Hashable, Stream] = {}
    for cta in range(len(kernel.launched)):
        behaviour = kernel.behaviour(cta)
        if behaviour not in streams:
            streams[behaviour] = kernel.stream(behaviour, origin)
    return streams


def _launch(kernel: AnyKernel, streams: _Streams) -> Launch:
    registers = max(one.registers_per_thread for one in streams.values())
    threads = kernel.lanes().warps * 32
    occupancy = ctas_per_sm(kernel.machine, threads, registers, kernel.shared_bytes)
    require_room(kernel.machine, occupancy, threads, registers, kernel.shared_bytes)
    return Launch(kernel, dict(streams), occupancy.ctas)


def simulated(launch: Launch, *, exact: bool | None = None, say: Progress = lambda _: None) -> SimulatedLaunch:
    """Simulate a launch; arguments are those of ``simulate_launch``."""
    return SimulatedLaunch(launch, simulate_launch(launch, exact=exact, progress=say))


def _result(scenario: Scenario, launches: Sequence[SimulatedLaunch], counts: Counts, seconds: float) -> Result:
    first, *others = launches
    launch, outcome, kernel = first.launch, first.outcome, first.launch.kernel
    machine, stream = launch.machine, next(iter(launch.streams.values()))
    elapsed = sum(one.elapsed for one in launches)
    time_us = elapsed / machine.clock_mhz  # (D25)
    instructions = sum(one.launch.instructions for one in launches)
    stalls = Counter(outcome.stalls)
    for one in others:
        stalls.update(one.outcome.stalls)
    counters: dict[str, float] = dict(counts.counters())
    counters |= {metric: counts.instructions.get(opcode, 0) for metric, opcode in kernel.counters.items()}
    counters["smsp__inst_executed.sum"] = instructions
    counters[ELAPSED] = elapsed
    counters["sm__cycles_active.avg"] = round(sum(one.active for one in launches), 2)
    read = sum(one.outcome.dram_bytes for one in launches)
    written = sum(one.outcome.dram_written for one in launches)
    counters |= _memory_counters(counters, launches, dram_bytes=read, written=written)
    used, mean_stalls = _used(launches, counters, counts), shares(stalls)
    return Result(
        scenario=scenario.resolved(),
        machine={"name": machine.name, "digest": machine.digest(), "figures": machine.figure_counts()},
        stream=stream.origin,
        grid=kernel.grid,
        ctas=launch.ctas,
        ctas_per_sm=launch.ctas_per_sm,
        registers_per_thread=first.registers,
        shared_bytes=kernel.shared_bytes,
        waves=round(launch.ctas / (launch.ctas_per_sm * machine.sms), 3),
        cycles=Cycles(elapsed=elapsed, active=sum(one.outcome.active for one in launches)),
        clock_mhz=machine.clock_mhz,
        time_us=round(time_us, 3),
        tflops=round(kernel.flops / time_us / 1e6, 3),
        simulated=Simulated(
            ctas=sum(one.outcome.ctas for one in launches),
            k_tiles=outcome.k_tiles,
            instructions=sum(one.outcome.instructions for one in launches),
            seconds=sum(one.outcome.seconds for one in launches),
            sampled=outcome.sampled,
            engine=engine().name,
            total_seconds=seconds,
            sampling_error_percent=outcome.elapsed_error_percent,
            dram_error_percent=outcome.dram_error_percent,
        ),
        counters=counters,
        bank_conflicts=counts.bank_conflicts,
        stalls=mean_stalls,
        pipeline=outcome.pipeline,
        hazards=(),
        bound=bound_table(used, mean_stalls, elapsed),
        provenance=provenance(scenario.resolved(), machine.digest())
        | ({"stream_build": RUN_TIME_EXTENTS} if stream.run_time_extents else {}),
        reduction=_reduction(others[0]) if others else None,
    )


def _used(launches: Sequence[SimulatedLaunch], counters: Mapping[str, float], counts: Counts) -> tuple[Resource, ...]:
    """Return the use of the machine's resources by all launches together. Only the first has cp.async or MMAs."""
    kernel, machine = launches[0].launch.kernel, launches[0].launch.machine
    done = [executed(one.launch) for one in launches]
    pipes = Counter[str]()
    for one in done:
        pipes.update(one.pipes)
    work = Work(
        counters=counters,
        bank_conflicts=counts.bank_conflicts,
        mma_interval=0 if kernel.mma is None else tensor_core(kernel.mma, machine).interval,
        mmas=sum(one.mmas for one in done),
        pipes=pipes,
        zero_filling=sum(one.zero_filling for one in done),
    )
    spans = RunSpans(
        elapsed=sum(one.elapsed for one in launches),
        active=sum(one.outcome.active * one.launch.working for one in launches),
        longest=sum(one.outcome.longest for one in launches),
    )
    return resources(machine, work, spans)


def _reduction(second: SimulatedLaunch) -> ReductionLaunch:
    launch = second.launch
    cycles = Cycles(elapsed=second.elapsed, active=second.outcome.active)
    return ReductionLaunch(launch.kernel.grid, launch.ctas, launch.ctas_per_sm, second.registers, cycles)


def _memory_counters(
    exact: dict[str, float], launches: Sequence[SimulatedLaunch], *, dram_bytes: int, written: int
) -> dict[str, float]:
    """
    Return the approximate counters of L2 and DRAM.

    L2 reads are the sectors that the CTAs look up in the L2: L1 misses that were not merged, and requests to the other
    partition; and the sectors that launches read besides data, such as code. Reads of the epilogue's source never hit
    the L1 (D10). In an L2 of two partitions every other stored sector has its home in the other partition, and is
    written in both (measured: 1.5 writes a sector on all records).
    """
    partitions = launches[0].launch.machine.l2.partitions
    reads = sum(one.outcome.l2_sectors + one.own_reads for one in launches)
    stored = exact["l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum"]
    return {
        "lts__t_sectors_op_read.sum": reads,
        "lts__t_sectors_op_read_lookup_hit.sum": max(0, reads - dram_bytes // SECTOR_BYTES),
        "lts__t_sectors_op_write.sum": stored + (stored // 2 if partitions > 1 else 0),
        "dram__bytes_read.sum": dram_bytes,
        "dram__bytes_write.sum": written,
    }
