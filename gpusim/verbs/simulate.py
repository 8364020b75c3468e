"""The timing run of a scenario, from schedule to result: lowers, simulates, counts, and names what bounds it."""

import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import cast

from gpusim.cuda.compiled_kernel import compiler_at_hand
from gpusim.errors import BadInput
from gpusim.families.attention.problem import AttentionScenario
from gpusim.families.attention.simulate import simulate_attention
from gpusim.lower.compiled import compiled_stream, is_shipped
from gpusim.lower.compiled_reduction import compiled_reduction
from gpusim.lower.estimated import estimated_stream, tensor_core
from gpusim.lower.estimated_output import estimated_reduction
from gpusim.lower.stream import Stream
from gpusim.machine.load import load_machine
from gpusim.machine.occupancy import ctas_per_sm, require_room
from gpusim.machine.spec import Machine
from gpusim.results.bound import Demand, first_bound
from gpusim.results.provenance import provenance
from gpusim.results.result import Cycles, ReductionLaunch, Result, Simulated
from gpusim.results.timeline import Timeline
from gpusim.scenario.gemm import GemmScenario
from gpusim.scenario.models import Scenario
from gpusim.schedule.counts import Counts, executed_in_all
from gpusim.schedule.ops import Program
from gpusim.schedule.program import program
from gpusim.sim.kernel import Launch, Outcome, memory_counters, require_cp_async, simulate_launch
from gpusim.sim.reduction import ReductionOutcome, simulate_reduction
from gpusim.sim.stall_reasons import shares

ORIGINS = ("auto", "estimated", "compiled")
"""Where an instruction stream can come from. "auto" is compiled where the stream comes with gpusim or a compiler is
here, else estimated; a result says which it was."""


def shared_bytes(scenario: GemmScenario) -> int:
    """Shared memory of one CTA, bytes: the operands' rings, or the epilogue's staging where that is larger."""
    rings = 0
    for operand in ("a", "b"):
        layout = scenario.operand(operand).shared
        rings += layout.elements * layout.element_bits // 8
    return max(rings, scenario.epilogue.storage_bytes)


def simulate(
    scenario: Scenario,
    *,
    exact: bool = False,
    stream: str = "estimated",
    progress: Callable[[str], None] | None = None,
) -> tuple[Result, Timeline]:
    """
    Simulate a scenario's kernel in time.

    Args:
        exact: Simulate every CTA on every SM, instead of one SM for all that are alike.
        stream: Origin of the instruction streams: "estimated" by stated rules, "compiled" from the kernel's own
            machine code, or "auto".
        progress: Called with a line about what is being done.

    Raises:
        BadInput: The machine cannot run this kernel: no CTA fits on an SM, or it lacks cp.async or the mma.sync.
    """
    started = time.perf_counter()
    say = progress or (lambda _: None)
    if stream not in ORIGINS:
        raise BadInput(f"--stream must be one of {', '.join(ORIGINS)}, got {stream!r}")
    if isinstance(scenario, AttentionScenario):
        return simulate_attention(scenario, exact=exact, stream=stream, progress=say)
    scenario = cast("GemmScenario", scenario)
    machine = load_machine(scenario.machine)
    require_cp_async(scenario, machine)
    tiles = scenario.grid.cta_tiles()
    tiles = tiles[tiles[:, 0] >= 0]
    say("lowering the schedule")
    if stream == "auto":
        compiled = is_shipped(scenario, machine) or compiler_at_hand()
        stream = "compiled" if compiled else "estimated"
    streams = _streams(scenario, machine, stream)
    registers = max(one.registers_per_thread for one in streams)
    needed = shared_bytes(scenario)
    occupancy = ctas_per_sm(machine, scenario.kernel.threads, registers, needed)
    require_room(machine, occupancy, scenario.kernel.threads, registers, needed)
    launch = Launch(scenario, machine, tiles, streams, occupancy.ctas, needed)
    outcome = simulate_launch(launch, exact=exact, progress=say)
    second = _second_launch(launch, stream, say) if scenario.problem.reduces else None
    say("counting what the grid executes")
    counts = executed_in_all(scenario)
    result = _result(launch, outcome, second, counts, time.perf_counter() - started)
    return result, outcome.timeline


@dataclass(frozen=True, slots=True)
class _Second:
    """The reduction of a parallel split-K: its part of the result, what was simulated, and its warp instructions."""

    launch: ReductionLaunch
    outcome: ReductionOutcome
    instructions: int


def _second_launch(first: Launch, origin: str, say: Callable[[str], None]) -> _Second:
    scenario, machine = first.scenario, first.machine
    say("simulating the reduction")
    tile = scenario.reduction
    stream = estimated_reduction(scenario) if origin == "estimated" else compiled_reduction(scenario, machine).stream
    occupancy = ctas_per_sm(machine, tile.threads, stream.registers_per_thread, 0)
    outcome = simulate_reduction(scenario, stream, machine, occupancy.ctas)
    elapsed = outcome.longest + machine.launch.overhead  # (D15)
    cycles = Cycles(elapsed=elapsed, active=outcome.active)
    launch = ReductionLaunch(tile.grid, tile.ctas, occupancy.ctas, stream.registers_per_thread, cycles)
    return _Second(launch, outcome, stream.instructions_per_warp * tile.warps * tile.ctas)


def _streams(scenario: GemmScenario, machine: Machine, origin: str) -> tuple[Stream, ...]:
    """Of every split-K slice; slices that run the same program share one."""
    if origin == "compiled":
        return tuple(compiled_stream(scenario, machine, each) for each in range(scenario.problem.split_k_slices))
    made: dict[Program, Stream] = {}
    streams = []
    for slice_ in range(scenario.problem.split_k_slices):
        runs = program(scenario, scenario.k_iterations(slice_), slice_)
        if runs not in made:
            made[runs] = estimated_stream(scenario, runs, machine, slice_)
        streams.append(made[runs])
    return tuple(streams)


def _result(launch: Launch, outcome: Outcome, second: _Second | None, counts: Counts, seconds: float) -> Result:
    scenario, machine = launch.scenario, launch.machine
    elapsed = outcome.longest + machine.launch.overhead  # (D15)
    active, stalls = outcome.active, Counter(outcome.stalls)
    average = outcome.active * launch.working / machine.sms
    simulated_ctas, simulated_instructions = outcome.ctas, outcome.instructions
    if second is not None:
        elapsed += second.launch.cycles.elapsed
        active += second.outcome.active
        average += second.outcome.active * min(machine.sms, second.launch.ctas) / machine.sms
        stalls.update(second.outcome.stalls)
        simulated_ctas += second.outcome.ctas
        simulated_instructions += second.outcome.instructions
    time_us = elapsed / machine.clock_mhz  # (D25)
    extents = scenario.problem.extents
    flops = 2 * extents.m * extents.n * extents.k
    warps = scenario.kernel.threads // 32
    executed_instructions = sum(
        stream.instructions_per_warp * warps * int((launch.tiles[:, 2] == slice_).sum())
        for slice_, stream in enumerate(launch.streams)
    )
    executed_instructions += 0 if second is None else second.instructions
    counters: dict[str, float] = dict(counts.counters())
    counters["smsp__inst_executed.sum"] = executed_instructions
    counters["sm__cycles_elapsed.max"] = elapsed
    counters["sm__cycles_active.avg"] = round(average, 2)
    dram_bytes = outcome.dram_bytes + (0 if second is None else second.outcome.dram_bytes)
    counters |= memory_counters(counters, outcome, dram_bytes)
    demand = Demand.of(
        machine,
        counters,
        counts.bank_conflicts,
        instructions=executed_instructions,
        ctas=len(launch.tiles),
        tensor_interval=tensor_core(scenario, machine).interval,
    )
    return Result(
        scenario=scenario.resolved(),
        machine={"name": machine.name, "digest": machine.digest(), "figures": machine.figure_counts()},
        stream=launch.streams[0].origin,
        grid=scenario.grid.dim,
        ctas=len(launch.tiles),
        ctas_per_sm=launch.ctas_per_sm,
        registers_per_thread=max(one.registers_per_thread for one in launch.streams),
        shared_bytes=launch.shared_bytes,
        waves=round(len(launch.tiles) / (launch.ctas_per_sm * machine.sms), 3),
        cycles=Cycles(elapsed=elapsed, active=active),
        clock_mhz=machine.clock_mhz,
        time_us=round(time_us, 3),
        tflops=round(flops / time_us / 1e6, 3),
        simulated=Simulated(
            simulated_ctas, outcome.k_tiles, simulated_instructions, round(seconds, 3), outcome.sampled
        ),
        counters=counters,
        bank_conflicts=counts.bank_conflicts,
        stalls=shares(stalls),
        pipeline=outcome.pipeline,
        hazards=(),
        bound=first_bound(demand, outcome.longest, outcome.stalls),
        provenance=provenance(scenario.resolved(), machine.digest()),
        reduction=None if second is None else second.launch,
    )
