"""The result of an sm_90 GEMM in time: cycles, counters, the use of resources, and what each role waits for."""

import time
from dataclasses import replace
from typing import Final

from gpusim.families.hopper.collective import Collective, collective_of
from gpusim.families.hopper.counts import HopperCounts, grid_counts
from gpusim.families.hopper.problem import HopperScenario
from gpusim.families.hopper.simulation.launch import HopperTime, time_of
from gpusim.families.hopper.work import work_of
from gpusim.machine.occupancy import ctas_per_sm, require_room
from gpusim.machine.spec import Machine
from gpusim.results.bound import bound_table
from gpusim.results.provenance import provenance
from gpusim.results.resources import RunSpans, Work, resources
from gpusim.results.result import ELAPSED, Cycles, Result, Simulated
from gpusim.results.timeline import Timeline
from gpusim.sim.core.engine import engine
from gpusim.sim.pace import Progress
from gpusim.sim.stall_reasons import shares
from gpusim.units import SECTOR_BYTES, WARP_SIZE

_REGISTERS: Final = 168
"""Registers of a thread at the launch of a kernel of three warpgroups, whose CTA takes a whole SM."""


def simulate(scenario: HopperScenario, machine: Machine, progress: Progress) -> tuple[Result, Timeline]:
    """
    Simulate a scenario in time.

    Every CTA is simulated, on the whole chip.

    Args:
        scenario: The scenario.
        machine: The machine, which must have TMA, mbarriers and wgmma.
        progress: Called with a line about each phase.

    Raises:
        BadInput: The machine lacks these units, or a CTA does not fit on an SM.
    """
    started = time.perf_counter()
    collective = collective_of(scenario)
    occupancy = ctas_per_sm(machine, collective.threads, _REGISTERS, collective.shared_bytes)
    require_room(machine, occupancy, collective.threads, _REGISTERS, collective.shared_bytes)
    progress("simulating every CTA, until the clock of the SMs agrees with their load")
    found = time_of(scenario, machine, progress)
    result = _result(scenario, machine, collective, found, time.perf_counter() - started)
    return result, found.timeline


def warps(scenario: HopperScenario) -> int:
    """Return the warps of a CTA."""
    return collective_of(scenario).threads // WARP_SIZE


def counters_of(counts: HopperCounts, found: HopperTime, active: float) -> dict[str, float]:
    """Return the counters of a launch under ncu's names."""
    stored = counts.store_sectors
    prefix = "l1tex__m_xbar2l1tex_read_sectors_mem_global_op_tma_ld"
    return {
        "sm__sass_inst_executed_op_shared_gmma.sum": counts.wgmma,
        "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_gmma.sum": counts.wgmma_wavefronts,
        "sm__sass_inst_executed_op_tma_ld.sum": counts.tma_loads,
        "sm__sass_inst_executed_op_tma_st.sum": counts.tma_stores,
        f"{prefix}.sum": counts.load_sectors,
        f"{prefix}_dest_multicast.sum": counts.multicast_sectors,
        "l1tex__m_l1tex2xbar_write_sectors_mem_global_op_tma_st.sum": stored,
        "sm__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_stsm.sum": counts.stmatrix_wavefronts,
        "smsp__inst_executed.sum": found.instructions,
        ELAPSED: found.elapsed,
        "sm__cycles_active.avg": round(active, 2),
        "lts__t_sectors_op_read.sum": found.l2_sectors,
        "lts__t_sectors_op_read_lookup_hit.sum": max(0, found.l2_sectors - found.dram_read // SECTOR_BYTES),
        "lts__t_sectors_op_write.sum": stored + stored // 2,
        "dram__bytes_read.sum": found.dram_read,
        "dram__bytes_write.sum": found.dram_written,
    }


def _result(
    scenario: HopperScenario, machine: Machine, collective: Collective, found: HopperTime, seconds: float
) -> Result:
    counts, work = grid_counts(scenario, machine.sms), work_of(scenario, machine.sms)
    ctas = len(work.first) - 1
    working = min(ctas, machine.sms)
    counters = counters_of(counts, found, found.active * working / machine.sms)
    executed = Work(
        counters=counters,
        bank_conflicts=(),
        mma_interval=scenario.kernel.tile[1] // 2,
        mmas=counts.wgmma,
        pipes={},
        zero_filling=0,
        other_wavefronts=counts.wgmma_wavefronts + counts.stmatrix_wavefronts,
    )
    spans = RunSpans(elapsed=found.elapsed, active=found.active * working, longest=found.longest)
    at_clock = replace(machine, launch=replace(machine.launch, idle_clock_percent=found.clock_percent))
    used, stalls = resources(at_clock, executed, spans), shares(found.stalls)
    time_us = found.elapsed / machine.clock_mhz
    resolved = scenario.resolved()
    return Result(
        scenario=resolved,
        machine={"name": machine.name, "digest": machine.digest(), "figures": machine.figure_counts()},
        stream="estimated",
        grid=work.grid,
        ctas=ctas,
        ctas_per_sm=1,
        registers_per_thread=_REGISTERS,
        shared_bytes=collective.shared_bytes,
        waves=round(ctas / machine.sms, 3),
        cycles=Cycles(elapsed=found.elapsed, active=found.active),
        clock_mhz=machine.clock_mhz,
        time_us=round(time_us, 3),
        tflops=round(scenario.problem.flops / time_us / 1e6, 3),
        simulated=Simulated(
            ctas=ctas,
            k_tiles=int(work.rows[:, 4].sum()),
            instructions=found.instructions,
            seconds=found.seconds,
            sampled=False,
            engine=engine().name,
            total_seconds=seconds,
        ),
        counters=counters,
        bank_conflicts=(),
        stalls=stalls,
        pipeline=(),
        hazards=(),
        bound=bound_table(used, stalls, found.elapsed),
        provenance=provenance(resolved, machine.digest()) | {"clock_percent": found.clock_percent},
        roles=found.roles,
    )
