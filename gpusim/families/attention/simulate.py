"""The timing run of an attention scenario, from schedule to result."""

import time
from collections import Counter
from collections.abc import Mapping

import numpy as np

from gpusim.errors import BadInput
from gpusim.families.attention.blocks import KeyBlock, attention_ctas, attention_grid, block_advance, gemm_view
from gpusim.families.attention.counts import attention_executed, behaviour_of, cta_blocks
from gpusim.families.attention.launch import AttentionLaunch, Runs, simulate_attention_launch
from gpusim.families.attention.lowering import attention_registers, attention_stream
from gpusim.families.attention.problem import AttentionScenario
from gpusim.families.attention.shape import attention_shape
from gpusim.lower.estimated import tensor_core
from gpusim.lower.stream import Stream
from gpusim.machine.load import load_machine
from gpusim.machine.occupancy import ctas_per_sm, require_room
from gpusim.machine.spec import Machine
from gpusim.results.bound import Demand, first_bound
from gpusim.results.provenance import provenance
from gpusim.results.result import Cycles, Result, Simulated
from gpusim.results.timeline import Timeline
from gpusim.schedule.counts import Counts
from gpusim.schedule.program import cta_program
from gpusim.sim.kernel import Outcome, Progress, memory_counters
from gpusim.sim.stall_reasons import shares


def simulate_attention(
    scenario: AttentionScenario, *, exact: bool, stream: str, progress: Progress
) -> tuple[Result, Timeline]:
    """
    Simulate an attention kernel in time; arguments as of ``simulate``, whose "auto" is "estimated" here.

    The result's ``pipeline`` has a row for each key block, in the order walked, of the first CTA of those with most; so
    has the timeline.

    Raises:
        BadInput: The machine cannot run this kernel, or compiled streams are asked for.
    """
    started = time.perf_counter()
    if stream == "compiled":
        raise BadInput("--stream compiled is not for attention yet: its streams are estimated")
    machine, shape = load_machine(scenario.machine), attention_shape(scenario)
    progress("lowering the schedule")
    blocks = cta_blocks(scenario)
    streams = _streams(scenario, machine, blocks)
    registers = attention_registers(scenario, machine)
    occupancy = ctas_per_sm(machine, shape.threads, registers, shape.shared_bytes)
    require_room(machine, occupancy, shape.threads, registers, shape.shared_bytes)
    launch = AttentionLaunch(scenario, machine, blocks, streams, occupancy.ctas, shape.shared_bytes)
    outcome = simulate_attention_launch(launch, exact=exact, progress=progress)
    progress("counting what the grid executes")
    counts = attention_executed(scenario)
    return _result(launch, outcome, counts, time.perf_counter() - started), outcome.timeline


def _streams(
    scenario: AttentionScenario, machine: Machine, blocks: list[tuple[KeyBlock, ...] | None]
) -> dict[Runs, Stream]:
    streams: dict[Runs, Stream] = {}
    for walked in blocks:
        runs = None if walked is None else behaviour_of(walked)
        if runs not in streams:
            program = None if walked is None else cta_program(scenario, walked)
            streams[runs] = attention_stream(scenario, program, machine)
    return streams


def attention_flops(scenario: AttentionScenario) -> int:
    """
    Multiplications and additions of both GEMMs: queries in use by the keys that their CTA walks.

    A causal mask saves the keys beyond a query block's last, not the scores that it masks before.
    """
    problem = scenario.problem
    advance = block_advance(scenario, attention_ctas(scenario))
    rows = np.clip(advance.num_queries, 0, scenario.queries_per_block)
    return 2 * int((rows * advance.num_keys).sum()) * (problem.head_dim + problem.head_dim_v)


def _result(launch: AttentionLaunch, outcome: Outcome, counts: Counts, seconds: float) -> Result:
    scenario, machine = launch.scenario, launch.machine
    elapsed = outcome.longest + machine.launch.overhead  # (D15)
    time_us = elapsed / machine.clock_mhz  # (D25)
    executed = Counter(launch.behaviours)
    instructions = sum(launch.streams[runs].instructions_per_warp * count for runs, count in executed.items())
    instructions *= counts.warps
    counters: dict[str, float] = dict(counts.counters())
    counters["smsp__inst_executed_op_shared_ld.sum"] = counts.instructions["LDS"]
    counters["smsp__inst_executed_op_shared_atom.sum"] = counts.instructions["ATOMS"]
    counters["smsp__inst_executed_pipe_xu.sum"] = counts.instructions["MUFU"]
    counters["smsp__inst_executed.sum"] = instructions
    counters["sm__cycles_elapsed.max"] = elapsed
    counters["sm__cycles_active.avg"] = round(outcome.active * launch.working / machine.sms, 2)
    counters |= memory_counters(counters, outcome, outcome.dram_bytes)
    demand = Demand.of(
        machine,
        counters,
        counts.bank_conflicts,
        instructions=instructions,
        ctas=counts.ctas,
        tensor_interval=tensor_core(gemm_view(scenario, "qk"), machine).interval,
        pipes=_pipe_instructions(launch, executed, counts.warps),
    )
    return Result(
        scenario=scenario.resolved(),
        machine={"name": machine.name, "digest": machine.digest(), "figures": machine.figure_counts()},
        stream="estimated",
        grid=attention_grid(scenario),
        ctas=counts.ctas,
        ctas_per_sm=launch.ctas_per_sm,
        registers_per_thread=max(one.registers_per_thread for one in launch.streams.values()),
        shared_bytes=launch.shared_bytes,
        waves=round(counts.ctas / (launch.ctas_per_sm * machine.sms), 3),
        cycles=Cycles(elapsed=elapsed, active=outcome.active),
        clock_mhz=machine.clock_mhz,
        time_us=round(time_us, 3),
        tflops=round(attention_flops(scenario) / time_us / 1e6, 3),
        simulated=Simulated(outcome.ctas, outcome.k_tiles, outcome.instructions, round(seconds, 3), outcome.sampled),
        counters=counters,
        bank_conflicts=counts.bank_conflicts,
        stalls=shares(outcome.stalls),
        pipeline=outcome.pipeline,
        hazards=(),
        bound=first_bound(demand, outcome.longest, outcome.stalls),
        provenance=provenance(scenario.resolved(), machine.digest()),
    )


def _pipe_instructions(launch: AttentionLaunch, executed: Mapping[Runs, int], warps: int) -> dict[str, int]:
    """Warp instructions of the grid by pipe, of the pipes that the softmax keeps busy."""
    totals: Counter[str] = Counter()
    for runs, count in executed.items():
        for segment in launch.streams[runs].segments:
            found = Counter(one.pipe for one in segment.instructions if one.unit == "pipe")
            for pipe, number in found.items():
                totals[pipe] += number * segment.trips * count * warps
    return {pipe: totals[pipe] for pipe in ("alu", "fma", "mufu")}
