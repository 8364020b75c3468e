"""The machine of a launch: its specs, and the figures that follow from several of them or from the launch."""

import sys
from typing import NamedTuple

from gpusim.machine.spec import DramSpec, Machine
from gpusim.sim.code import port_count
from gpusim.units import PAGE_LINE_BITS, SECTOR_BYTES, SECTORS_PER_LINE


class Figures(NamedTuple):
    """
    The machine of a launch. A unit reads its own figures in the machine's specs, and here those that are computed.

    Cycles are those of the SMs. The L2 and DRAM have clocks of their own, so a launch that slows the SMs down changes
    their figures.

    Attributes:
        machine: The machine.
        ports: Ports of an SMSP (``code.port_count``).
        constant_miss: Cycles that the first CTA of an SM waits for all lines of the kernel's parameters.
        l1_lines, l2_lines: Lines that each cache holds.
        l2_bytes, l2_write_bytes: Bytes per cycle that the chip's L2 delivers, and that it takes from stores.
        l2_near, l2_far: Hit latencies of both partitions.
        l2_reach: Differences of SMs' latencies from the mean SM's, cycles; the SMs are spread evenly over the chip.
        l2_write_latency: Cycles until a store is acknowledged.
        l2_waiting: Sectors of an SM's stores that may wait for the L2 behind its port.
        l2_crossing: Extra cycles of a line that comes from the other partition for the first time.
        home_bits: Mask of the bits of a line's number whose parity says which partition is its home.
        merge_window: Cycles for which later requests are merged with a request that hits.
        dram_least, dram_latency, dram_late, dram_later, dram_most: Quantiles of a miss's latency: 0, .5, .9, .98, 1. If
            refresh is known, only the first is used.
        dram_on_time: Median latency of a miss that meets no refresh, of a line at home on the SM's side.
        dram_late_cycles, dram_late_period: Cycles of the refresh of a part of DRAM, and cycles from one to the next.
            With a period of 0, latencies come from the quantiles.
        dram_bytes_per_kilocycle: Bandwidth.
        dram_bank_busy: Thousandths of a cycle that an access takes of its bank.
        dram_gathered: Bytes of writes that a channel gathers before it turns and stores wait.
    """

    machine: Machine
    ports: int
    constant_miss: int
    l1_lines: int
    l2_lines: int
    l2_bytes: int
    l2_write_bytes: int
    l2_near: int
    l2_far: int
    l2_reach: tuple[int, ...]
    l2_write_latency: int
    l2_waiting: int
    l2_crossing: int
    home_bits: int
    merge_window: int
    dram_least: int
    dram_latency: int
    dram_late: int
    dram_later: int
    dram_most: int
    dram_on_time: int
    dram_late_cycles: int
    dram_late_period: int
    dram_bytes_per_kilocycle: int
    dram_bank_busy: int
    dram_gathered: int


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

    Both partitions keep data that SMs of both sides read, so the L2's capacity is that of one partition (D11).

    Args:
        machine: The machine.
        carve_out: Shared memory of the CTAs resident on an SM, bytes; the L1 has the rest (D12).
        busy: Whether tensor cores slow the SMs' clock down. The clocks of the L2 and DRAM stay the same, so both then
            take fewer SM cycles (D25).
        parameter_lines: Lines of the launch's parameters that the code reads.
    """
    l1, l2, dram, constants = machine.l1, machine.l2, machine.dram, machine.constant_cache
    clock, rate, late = machine.clock_percent(busy=busy), machine.l2_clock_percent(busy=busy), dram.late
    of_hit, of_miss = (0, sys.maxsize) if l2.clock is None else (l2.clock.of_hit, l2.clock.of_miss)
    return Figures(
        machine=machine,
        ports=port_count(machine),
        constant_miss=constants.miss_latency
        + (0 if constants.lines is None else (parameter_lines - 1) * constants.lines.further),
        l1_lines=max(0, l1.bytes - carve_out) // l1.line_bytes,
        l2_lines=l2.bytes // l2.partitions // (SECTORS_PER_LINE * SECTOR_BYTES),
        l2_bytes=machine.l2_bytes_per_cycle(busy=busy),
        l2_write_bytes=l2.write_bytes_per_cycle * rate // 100,
        l2_near=_latency(l2.hit_latency, of_hit, clock),
        l2_far=_latency(l2.far_latency, of_hit, clock),
        l2_reach=(0,) if l2.reach is None else l2.reach.about_mean,
        l2_write_latency=_latency(l2.write_latency, of_hit, clock),
        l2_waiting=l2.write_buffer * l2.write_bytes_per_cycle // machine.sms // SECTOR_BYTES,
        l2_crossing=0 if l2.crossing is None else l2.crossing.first * 100 // rate,
        home_bits=_home_bits(machine),
        merge_window=0 if l2.merging is None else l2.merging.window * 100 // rate,
        dram_least=_latency(dram.latency_least, of_miss, clock),
        dram_latency=_latency(dram.latency or 0, of_miss, clock),
        dram_late=_latency(dram.latency_late or 0, of_miss, clock),
        dram_later=_latency(dram.latency_later or 0, of_miss, clock),
        dram_most=_latency(dram.latency_most or 0, of_miss, clock),
        dram_on_time=0 if late is None else _latency(late.on_time, of_miss, clock),
        dram_late_cycles=0 if late is None else late.cycles * 100 // clock,
        dram_late_period=0 if late is None else late.period * 100 // clock,
        dram_bytes_per_kilocycle=machine.dram_bytes_per_kilocycle(busy=busy),
        dram_bank_busy=0 if dram.banks is None else dram.banks.busy_ns * machine.clock_mhz * 100 // clock,
        dram_gathered=_writes_held(dram),
    )
