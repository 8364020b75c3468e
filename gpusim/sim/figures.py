"""The figures of a machine that the core needs, as plain integers."""

import sys
from typing import NamedTuple

from gpusim.machine.spec import DramSpec, Machine
from gpusim.sim.code import port_count
from gpusim.sim.core.constants import PERCENT
from gpusim.units import PAGE_LINE_BITS, SECTOR_BYTES, SECTORS_PER_LINE


class Figures(NamedTuple):
    """
    Figures of one machine, in cycles and bytes; the machine file has their sources.

    Attributes:
        smsps: SMSPs of an SM.
        ports: Ports of an SMSP (``code.port_count``).
        queue_depth, sm_depth: Entries of an SMSP's MIO queue, and of the queue that the SM's data stage serves.
        store_buffer: Bytes of stores that may wait for an SM's port; further stores wait in their SMSP's queue.
        sm_interval, smsp_interval: Cycles between two instructions that leave the MIO, of an SM and of an SMSP.
        wavefronts_per_cycle: Wavefronts that the data stage takes in a cycle.
        wavefront_latency: Cycles that each wavefront after the first adds to a load, and that each one adds to the wait
            for a store.
        warp_return_bytes: Bytes that a warp's registers take from the MIO in a cycle.
        register_interval, source_release: Cycles in which an SMSP's queue reads one register of an instruction; cycles
            until that register may be overwritten.
        registers_an_mma: Registers that the queue reads during each mma.sync; 0 if the mma.sync does not limit it.
        copy_registers: Number of registers as which a cp.async counts beside mma.sync of another warp.
        copy_release: Cycles from a cp.async's move to the SM's queue until its registers may be overwritten.
        copy_queue: Per cent of an entry of an SMSP's queue that a cp.async takes.
        copy_stage: Cycles of the data stage that a cp.async around the L1 takes.
        look_ups: Copies that may wait for their tag lookup.
        load_look_ups: Loads that may wait for theirs; 0 for any number.
        outstanding: Requests of copies around the L1 that an SM may have in flight; 0 for any number.
        outstanding_through: Missing lines of copies through the L1 that may be in flight; 0 for any number.
        fill_bytes: Bytes that copies around the L1 write to shared memory in a cycle, which no store can use; 0 if
            stores can use it.
        stores_apart: Stores to shared memory that may wait, outside the SM's queue, for stores of their own warps.
        commit_stage: Cycles of the data stage that the end of a commit group takes.
        copy_interval: Cycles from a cp.async that leaves an SMSP to the next instruction that leaves one.
        load_hit, copy_hit: Latency of a load and of a cp.async that hit the L1.
        l1_line_interval: Cycles between two missing lines that return to loads; 0 if they return as copies' lines do.
        l1_store_bytes: Bytes of a store that pass to the SM's port in a cycle, one store at a time; 0 for all at once.
        barrier_base, barrier_per_warp: Cycles from the last arrival to the release; cycles between two arrivals.
        mufu_dispatch: Cycles in which an SMSP issues nothing after a MUFU.
        constant_miss: Cycles that the first CTA of an SM waits for all lines of the kernel's parameters.
        launch_delay: Fewest cycles from the end of a CTA to the first issue of the next one.
        fetch_miss, stream_lines: Latency of a missed instruction line; lines that are prefetched.
        fetch_interval, cache_lines: Cycles between the arrivals of two instruction lines; lines in an SM's instruction
            cache.
        l2_port_bytes, l2_bytes: Bytes per cycle of an SM's port and of the chip.
        l2_near, l2_far, l2_far_percent: Latencies of both partitions, and the share of the far one.
        l2_reach: Differences of SMs' latencies from the mean SM's, cycles; the SMs are spread evenly over the chip.
        l2_write_bytes, l2_store_port_bytes: Bytes of stores per cycle, of the chip and of an SM.
        l2_write_latency: Cycles until a store is acknowledged.
        l2_waiting: Sectors of an SM's stores that may wait for the L2 behind its port.
        l2_read_percent, l2_fill_percent: Time of the L2's write bandwidth that a byte read takes, in per cent of a
            stored byte's; further time of a byte that comes from DRAM.
        semaphore: Cycles from the end of a split-K slice until the next one sees its semaphore.
        most_merged: Requests for the same sectors of a line that one lookup serves.
        l2_crossing: Extra cycles of a line that comes from the other partition for the first time.
        home_bits: Mask of the bits of a line's number whose parity says which partition is its home.
        gpcs, sides: GPC and side of the chip of each group of SMs; empty if groups are unknown.
        placed_sms: SMs of all groups; 0 if groups are unknown.
        small_cpcs, tpcs_beside: TPCs of the smaller CPCs; TPCs of the GPCs that have them. Empty and 0 if unknown.
        cpc_percent: Share of each SM of a smaller CPC in a busy L2's bandwidth, in per cent of the mean of all SMs.
        merge_window: Cycles for which later requests are merged with a request that hits.
        dram_least, dram_latency, dram_late, dram_later, dram_most: Quantiles of a miss's latency: 0, .5, .9, .98, 1. If
            refresh is known, only the first is used.
        dram_on_time: Median latency of a miss that meets no refresh, of a line at home on the SM's side.
        dram_late_cycles, dram_late_period: Cycles of the refresh of a part of DRAM, and cycles from one to the next.
            With a period of 0, latencies come from the quantiles.
        dram_late_lines: Lines of a region that is refreshed together.
        dram_late_masks: Masks of bits of a line's number, whose parities are the number of its part of a region.
        dram_bytes_per_kilocycle, dram_channels: Bandwidth, and the channels that share it.
        dram_banks, dram_bank_busy: Banks of a channel, and thousandths of a cycle that an access takes of its bank.
        dram_write_percent: Time of a channel that a byte written takes, in per cent of a byte read.
        dram_lost, dram_gathered, dram_meanwhile: Bytes that a channel could read in the time lost by turning to writes
            and back; bytes of writes that it gathers before it turns and stores wait; bytes that it could read in the
            longest time for which it gathers.
        l1_lines, l2_lines: Lines that each cache holds.
    """

    smsps: int
    ports: int
    queue_depth: int
    sm_depth: int
    store_buffer: int
    sm_interval: int
    smsp_interval: int
    wavefronts_per_cycle: int
    wavefront_latency: int
    warp_return_bytes: int
    register_interval: int
    registers_an_mma: int
    copy_registers: int
    source_release: int
    copy_release: int
    copy_queue: int
    copy_stage: int
    look_ups: int
    load_look_ups: int
    outstanding: int
    outstanding_through: int
    fill_bytes: int
    stores_apart: int
    commit_stage: int
    copy_interval: int
    load_hit: int
    l1_line_interval: int
    l1_store_bytes: int
    copy_hit: int
    barrier_base: int
    barrier_per_warp: int
    mufu_dispatch: int
    constant_miss: int
    launch_delay: int
    fetch_miss: int
    stream_lines: int
    fetch_interval: int
    cache_lines: int
    l2_port_bytes: int
    l2_bytes: int
    l2_near: int
    l2_far: int
    l2_far_percent: int
    l2_reach: tuple[int, ...]
    l2_write_bytes: int
    l2_store_port_bytes: int
    l2_write_latency: int
    l2_waiting: int
    l2_read_percent: int
    l2_fill_percent: int
    semaphore: int
    most_merged: int
    merge_window: int
    l2_crossing: int
    home_bits: int
    gpcs: tuple[int, ...]
    sides: tuple[int, ...]
    placed_sms: int
    small_cpcs: tuple[int, ...]
    tpcs_beside: int
    cpc_percent: int
    dram_least: int
    dram_latency: int
    dram_late: int
    dram_later: int
    dram_most: int
    dram_on_time: int
    dram_late_cycles: int
    dram_late_period: int
    dram_late_lines: int
    dram_late_masks: tuple[int, ...]
    dram_bytes_per_kilocycle: int
    dram_channels: int
    dram_banks: int
    dram_bank_busy: int
    dram_write_percent: int
    dram_lost: int
    dram_gathered: int
    dram_meanwhile: int
    l1_lines: int
    l2_lines: int


def _home_bits(machine: Machine) -> int:
    """Return the mask of the bits that select a line's home partition: all bits above the page, some within it (D5)."""
    within = (1 << PAGE_LINE_BITS) - 1
    if machine.l2.crossing is None:
        return -1
    return ~within | sum(1 << bit for bit in machine.l2.crossing.home_bits)


def _latency(cycles: int, own: int, clock: int) -> int:
    """Return a latency in SM cycles. Up to ``own`` cycles of it run on a constant clock, ``clock`` per 100 cycles."""
    own = min(cycles, own)
    return cycles - own + own * 100 // clock


def _writes_held(dram: DramSpec) -> int:
    """Return the bytes of writes that a channel holds before stores wait (D37)."""
    if dram.turns is not None:
        return dram.turns.gathered
    channels = 1 if dram.banks is None else dram.banks.channels
    return (dram.write_queue or 0) // channels


def figures_of(machine: Machine, carve_out: int, *, busy: bool, parameter_lines: int = 1) -> Figures:
    """
    Return the figures of a machine.

    Both partitions keep data that SMs of both sides read, so the L2's capacity is that of one partition (D11). The
    instruction cache holds at least the lines that one miss brings.

    Args:
        machine: The machine.
        carve_out: Shared memory of the CTAs resident on an SM, bytes; the L1 has the rest (D12).
        busy: Whether tensor cores slow the SMs' clock down. The clocks of the L2 and DRAM stay the same, so both then
            take fewer SM cycles (D25).
        parameter_lines: Lines of the launch's parameters that the code reads.
    """
    further = machine.constant_cache.lines.further if machine.constant_cache.lines else 0
    copy, banks, turns, late = machine.async_copy, machine.dram.banks, machine.dram.turns, machine.dram.late
    pace = None if copy is None else copy.pace
    clock, rate = machine.clock_percent(busy=busy), machine.l2_clock_percent(busy=busy)
    of_hit, of_miss = 0, sys.maxsize
    if machine.l2.clock is not None:
        of_hit, of_miss = machine.l2.clock.of_hit, machine.l2.clock.of_miss
    lines = machine.instruction_cache.l0_bytes // machine.instruction_cache.line_bytes
    return Figures(
        smsps=machine.smsps,
        ports=port_count(machine),
        queue_depth=machine.mio.queue_depth,
        sm_depth=machine.mio.sm_depth,
        store_buffer=machine.l1.store_buffer_bytes,
        sm_interval=machine.mio.sm_interval,
        smsp_interval=machine.mio.smsp_interval,
        wavefronts_per_cycle=machine.shared.wavefronts_per_cycle,
        wavefront_latency=machine.shared.wavefront_latency,
        warp_return_bytes=machine.shared.warp_return_bytes,
        register_interval=machine.mio.register_interval,
        registers_an_mma=0 if machine.mio.gaps is None else machine.mio.gaps.registers,
        copy_registers=0 if machine.mio.gaps is None else machine.mio.gaps.copy_registers,
        source_release=machine.mio.source_release,
        copy_release=0 if copy is None else copy.source_release,
        copy_queue=0 if copy is None else copy.queue_percent,
        copy_stage=1 if copy is None else copy.stage,
        look_ups=1 if copy is None else copy.look_ups,
        load_look_ups=0 if machine.l1.lines is None else machine.l1.lines.look_ups,
        outstanding=0 if pace is None else pace.outstanding,
        outstanding_through=0 if pace is None else pace.outstanding_through,
        fill_bytes=0 if pace is None else pace.fill_bytes,
        stores_apart=0 if machine.shared.stores is None else machine.shared.stores.apart,
        commit_stage=1 if copy is None else copy.commit_stage,
        copy_interval=machine.mio.sm_interval if pace is None else pace.interval,
        load_hit=machine.l1.hit_latency,
        l1_line_interval=0 if machine.l1.lines is None else machine.l1.lines.interval,
        l1_store_bytes=0 if machine.l1.stores is None else machine.l1.stores.bytes_per_cycle,
        copy_hit=machine.l1.hit_latency if copy is None else copy.l1_latency,
        barrier_base=machine.barrier.base,
        barrier_per_warp=machine.barrier.per_warp,
        mufu_dispatch=machine.dispatch.mufu,
        constant_miss=machine.constant_cache.miss_latency + (parameter_lines - 1) * further,
        launch_delay=machine.launch.cta_interval + machine.launch.cta_setup,
        fetch_miss=machine.instruction_cache.l1_miss_latency,
        stream_lines=machine.instruction_cache.stream_lines,
        fetch_interval=machine.instruction_cache.line_interval,
        cache_lines=max(lines, machine.instruction_cache.stream_lines + 1),
        l2_port_bytes=machine.l2.bytes_per_cycle_per_sm,
        l2_bytes=machine.l2_bytes_per_cycle(busy=busy),
        l2_near=_latency(machine.l2.hit_latency, of_hit, clock),
        l2_far=_latency(machine.l2.far_latency, of_hit, clock),
        l2_far_percent=machine.l2.far_fraction_percent,
        l2_reach=(0,) if machine.l2.reach is None else machine.l2.reach.about_mean,
        l2_write_bytes=machine.l2.write_bytes_per_cycle * rate // 100,
        l2_store_port_bytes=machine.l2.write_bytes_per_cycle_per_sm,
        l2_write_latency=_latency(machine.l2.write_latency, of_hit, clock),
        l2_waiting=machine.l2.write_buffer * machine.l2.write_bytes_per_cycle // machine.sms // SECTOR_BYTES,
        l2_read_percent=0 if machine.l2.mixed is None else machine.l2.mixed.read_percent,
        l2_fill_percent=0 if machine.l2.mixed is None else machine.l2.mixed.fill_percent,
        semaphore=machine.l2.semaphore,
        most_merged=machine.l2.most_merged,
        merge_window=0 if machine.l2.merging is None else machine.l2.merging.window * 100 // rate,
        l2_crossing=0 if machine.l2.crossing is None else machine.l2.crossing.first * 100 // rate,
        home_bits=_home_bits(machine),
        gpcs=() if machine.launch.units is None else machine.launch.units.gpcs,
        sides=() if machine.launch.units is None else machine.launch.units.sides,
        placed_sms=0 if machine.launch.units is None else sum(machine.launch.units.sizes),
        small_cpcs=() if machine.launch.cpcs is None else machine.launch.cpcs.tpcs,
        tpcs_beside=0 if machine.launch.cpcs is None else machine.launch.cpcs.beside,
        cpc_percent=PERCENT if machine.launch.cpcs is None else machine.launch.cpcs.percent,
        dram_least=_latency(machine.dram.latency_least, of_miss, clock),
        dram_latency=_latency(machine.dram.latency or 0, of_miss, clock),
        dram_late=_latency(machine.dram.latency_late or 0, of_miss, clock),
        dram_later=_latency(machine.dram.latency_later or 0, of_miss, clock),
        dram_most=_latency(machine.dram.latency_most or 0, of_miss, clock),
        dram_on_time=0 if late is None else _latency(late.on_time, of_miss, clock),
        dram_late_cycles=0 if late is None else late.cycles * 100 // clock,
        dram_late_period=0 if late is None else late.period * 100 // clock,
        dram_late_lines=0 if late is None else late.region_bytes // machine.l2.line_bytes,
        dram_late_masks=() if late is None else late.part_masks,
        dram_bytes_per_kilocycle=machine.dram_bytes_per_kilocycle(busy=busy),
        dram_channels=1 if banks is None else banks.channels,
        dram_banks=1 if banks is None else banks.per_channel,
        dram_bank_busy=0 if banks is None else banks.busy_ns * machine.clock_mhz * 100 // clock,
        dram_write_percent=PERCENT if turns is None else turns.write_percent,
        dram_lost=0 if turns is None else turns.lost,
        dram_gathered=_writes_held(machine.dram),
        dram_meanwhile=0 if turns is None else turns.meanwhile,
        l1_lines=max(0, machine.l1.bytes - carve_out) // machine.l1.line_bytes,
        l2_lines=machine.l2.bytes // machine.l2.partitions // (SECTORS_PER_LINE * SECTOR_BYTES),
    )
