"""The frozen description of one GPU that a machine file loads into: integer figures, each annotated with its unit."""

import hashlib
import json
from collections import Counter
from dataclasses import dataclass
from typing import Annotated

import numpy as np

from gpusim.machine.figure import FIGURE_KINDS, FigureRecord, FigureUnit, Inherited
from gpusim.units import LINE_BYTES, SECTOR_BYTES, WORD_BYTES

PIPES = ("alu", "fma", "fmaheavy", "half", "mufu", "branch", "uniform")
"""Execution pipes of one SMSP, besides the tensor core and the MIO queue."""


@dataclass(frozen=True, slots=True)
class Limits:
    """
    The capacity of one SM, and the units in which it is allocated.

    Attributes:
        max_warps: Resident warps of one SM.
        max_ctas: Resident CTAs of one SM.
        registers: 32-bit registers of one SM.
        registers_per_thread: Most registers a thread may have.
        register_unit: Registers of a warp are rounded up to a multiple of this.
        warp_unit: Warps of a CTA are rounded up to a multiple of this.
        shared_bytes: Shared memory of one SM at its largest carve-out, reserved bytes included.
        shared_bytes_per_cta: Most shared memory a CTA may request.
        shared_reserved_per_cta: Shared memory the system adds for each CTA.
        shared_unit: Shared memory of a CTA is rounded up to a multiple of this.
        threads_per_cta: Most threads of a CTA.
    """

    max_warps: Annotated[int, FigureUnit("warps", lower=4)]
    max_ctas: Annotated[int, FigureUnit("CTAs")]
    registers: Annotated[int, FigureUnit("registers", 1 << 10, 1 << 20)]
    registers_per_thread: Annotated[int, FigureUnit("registers", 16, 1024)]
    register_unit: Annotated[int, FigureUnit("registers", 1, 4096)]
    warp_unit: Annotated[int, FigureUnit("warps")]
    shared_bytes: Annotated[int, FigureUnit("bytes", 1 << 10, 1 << 22)]
    shared_bytes_per_cta: Annotated[int, FigureUnit("bytes", 1 << 10, 1 << 22)]
    shared_reserved_per_cta: Annotated[int, FigureUnit("bytes", upper=1 << 16, zero="the system takes none")]
    shared_unit: Annotated[int, FigureUnit("bytes", 1, 1 << 16)]
    threads_per_cta: Annotated[int, FigureUnit("threads", 32, 4096)]


@dataclass(frozen=True, slots=True)
class Features:
    """
    Instructions that only some machines have.

    Attributes:
        cp_async: Whether it has cp.async: sm_80 and later.
        ldmatrix: Whether it has ldmatrix: sm_75 and later. Without it nothing runs.
    """

    cp_async: Annotated[bool, FigureUnit("bool")]
    ldmatrix: Annotated[bool, FigureUnit("bool", only=True)]


@dataclass(frozen=True, slots=True)
class PipeSpec:
    """
    An execution pipe of one SMSP.

    Attributes:
        interval: Cycles that one warp instruction occupies the pipe.
        latency: Cycles from issue until a dependent instruction may issue, for estimated streams; compiled streams have
            stall counts of their own. None for the pipe "half", whose results no estimated instruction needs soon.
    """

    interval: Annotated[int, FigureUnit("cycles")]
    latency: Annotated[int | None, FigureUnit("cycles")]


@dataclass(frozen=True, slots=True)
class BeyondSpec:
    """
    The time of an mma.sync beyond whole cycles.

    Attributes:
        percent: Hundredths of a cycle for which each mma.sync occupies the tensor core beyond its interval.
    """

    percent: Annotated[int, FigureUnit("percent", upper=99, zero="whole cycles")]


@dataclass(frozen=True, slots=True)
class TensorSpec(PipeSpec):
    """
    The tensor core of one SMSP, for one mma.sync.

    Attributes:
        latency: Cycles from issue until an mma.sync that needs the result may issue.
        beyond: Time beyond the interval in a warp tile; None if unknown, and then none is simulated.
    """

    latency: Annotated[int, FigureUnit("cycles")]
    beyond: BeyondSpec | None


@dataclass(frozen=True, slots=True)
class MioGapsSpec:
    """
    How an SMSP reads the registers of memory instructions while one of its warps issues mma.sync (D8).

    Attributes:
        registers: Registers that are read during each mma.sync.
        copy_registers: Number of registers as which a cp.async counts beside mma.sync of another warp.
    """

    registers: Annotated[int, FigureUnit("registers", 1, 64)]
    copy_registers: Annotated[int, FigureUnit("registers", 1, 64)]


@dataclass(frozen=True, slots=True)
class MioSpec:
    """
    The queue from the issue port of an SMSP to the memory units of the SM.

    Attributes:
        queue_depth: Instructions that can wait in one SMSP, besides the one in its address unit.
        smsp_interval: Cycles between two instructions leaving one SMSP.
        register_interval: Cycles in which one register of an instruction is read as it leaves its SMSP.
        source_release: Cycles from the time an instruction leaves its SMSP until the last of its registers may be
            overwritten.
        sm_interval: Cycles between two instructions leaving any SMSP of the SM.
        sm_depth: Instructions that have left the SMSPs and can wait for the data stage of the SM.
        gaps: How registers are read beside mma.sync; None if unknown, and then mma.sync has no effect on it.
    """

    queue_depth: Annotated[int, FigureUnit("instructions")]
    smsp_interval: Annotated[int, FigureUnit("cycles")]
    register_interval: Annotated[int, FigureUnit("cycles")]
    source_release: Annotated[int, FigureUnit("cycles", zero="free once it is read")]
    sm_interval: Annotated[int, FigureUnit("cycles")]
    sm_depth: Annotated[int, FigureUnit("instructions")]
    gaps: MioGapsSpec | None


@dataclass(frozen=True, slots=True)
class SharedStoresSpec:
    """
    How stores to shared memory wait for earlier stores of their warps.

    Attributes:
        apart: Stores that may wait outside the SM's queue. A further store waits in the queue and blocks the memory
            instructions behind it.
    """

    apart: Annotated[int, FigureUnit("stores")]


@dataclass(frozen=True, slots=True)
class SharedWideSpec:
    """
    How loads of more than four bytes a lane differ from loads of four.

    Attributes:
        register_latency: Cycles that each further register of a lane adds to an LDS, besides those of its wavefronts.
    """

    register_latency: Annotated[int, FigureUnit("cycles", zero="wavefronts alone count")]


@dataclass(frozen=True, slots=True)
class SharedMemorySpec:
    """
    The banked data array of one SM.

    Attributes:
        banks: Number of banks of the data array.
        bank_bytes: Width of one bank.
        load_latency: Cycles of an LDS of one wavefront, from issue to dependent issue. LDC is assumed to take as long.
        wavefront_latency: Cycles that each further wavefront of one access adds, for a lone warp. A store waits as many
            cycles for each wavefront of its warp's previous store.
        ldmatrix_latency_x1: Cycles of an ldmatrix of one matrix, from issue to dependent issue. Each further matrix is
            a wavefront.
        shuffle_latency: Cycles of a SHFL, from issue to dependent issue. It occupies the data stage like a load of one
            wavefront. S2R is assumed to do the same, and so is S2UR, plus the latency of a uniform instruction.
        atomic_wavefronts: Wavefronts that an atomic (ATOMS) takes for each lane that accesses the same word.
        warp_return_bytes: Bytes per cycle that the registers of one warp take from the data array.
        wavefronts_per_cycle: Wavefronts that the data stage serves in a cycle.
        stores: How stores wait; None if unknown, and then a waiting store blocks everything behind it.
        wide: How wide loads differ; None if unknown, and then only their wavefronts count.
    """

    banks: Annotated[int, FigureUnit("banks", 1, 1024, power_of_two=True)]
    bank_bytes: Annotated[int, FigureUnit("bytes", 1, 64, power_of_two=True)]
    load_latency: Annotated[int, FigureUnit("cycles", lower=4)]
    wavefront_latency: Annotated[int, FigureUnit("cycles")]
    ldmatrix_latency_x1: Annotated[int, FigureUnit("cycles", lower=4)]
    shuffle_latency: Annotated[int, FigureUnit("cycles", lower=4)]
    atomic_wavefronts: Annotated[int, FigureUnit("wavefronts")]
    warp_return_bytes: Annotated[int, FigureUnit("bytes/cycle")]
    wavefronts_per_cycle: Annotated[int, FigureUnit("wavefronts/cycle")]
    stores: SharedStoresSpec | None
    wide: SharedWideSpec | None

    def lds_latency(self, lane_bytes: int) -> int:
        """Return the cycles of an LDS of one wavefront with ``lane_bytes`` a lane, from issue to dependent issue."""
        further = max(0, lane_bytes // WORD_BYTES - 1)
        return self.load_latency + (0 if self.wide is None else further * self.wide.register_latency)


@dataclass(frozen=True, slots=True)
class CopyPaceSpec:
    """
    How fast copies leave the SMSPs of an SM, how many may be in flight, and how fast their data is written.

    Attributes:
        interval: Cycles from a copy that leaves any SMSP to the next memory instruction that leaves one.
        outstanding: Requests of copies around the L1 that an SM may have in flight; those of a copy that asks for one
            sector of each line count twice.
        outstanding_through: Missing lines of copies through the L1 that an SM may have in flight.
        fill_bytes: Bytes of a line that a copy around the L1 writes to shared memory in a cycle, in which no store can
            be written.
    """

    interval: Annotated[int, FigureUnit("cycles")]
    outstanding: Annotated[int, FigureUnit("requests")]
    outstanding_through: Annotated[int, FigureUnit("requests")]
    fill_bytes: Annotated[int, FigureUnit("bytes/cycle", power_of_two=True)]


@dataclass(frozen=True, slots=True)
class AsyncCopySpec:
    """
    cp.async (LDGSTS).

    Attributes:
        queue_percent: Per cent of an entry of an SMSP's MIO queue that a copy takes.
        look_ups: Copies that may wait for their tag lookup. A further copy blocks the memory instructions behind it.
        apart: Extra cycles of the tag lookup of a copy that fills lines of one class only, and of the end of a group
            behind it.
        stage: Cycles of the SM's data stage that a copy around the L1 takes.
        commit_stage: Cycles of the data stage that a commit_group takes.
        source_release: Cycles from a copy's move to the SM's queue until its address registers are free.
        pace: How fast copies leave, how many may be in flight, and how fast their data is written; None if unknown:
            then they leave as other memory instructions do, any number may be in flight, and no store waits for them.
        l1_latency: Cycles from issue until the data is in shared memory, on an L1 hit.
        commit_latency: Cycles from a commit_group's issue to the issue of a commit_group right behind it.
        wait_latency: Cycles from the issue of a wait_group with nothing pending to the issue of a wait_group right
            behind it.
    """

    queue_percent: Annotated[int, FigureUnit("percent")]
    look_ups: Annotated[int, FigureUnit("copies")]
    apart: Annotated[int, FigureUnit("cycles", zero="no longer than others")]
    stage: Annotated[int, FigureUnit("cycles")]
    commit_stage: Annotated[int, FigureUnit("cycles")]
    source_release: Annotated[int, FigureUnit("cycles", zero="free once it has left")]
    pace: CopyPaceSpec | None
    l1_latency: Annotated[int, FigureUnit("cycles", lower=4)]
    commit_latency: Annotated[int, FigureUnit("cycles")]
    wait_latency: Annotated[int, FigureUnit("cycles")]


@dataclass(frozen=True, slots=True)
class L1LinesSpec:
    """
    How loads pass the L1 of an SM, and how fast missing lines return.

    Attributes:
        interval: Cycles between two missing lines that return, of one sector or several.
        look_ups: Loads that may wait for their tag lookup. A further load blocks the memory instructions behind it.
    """

    interval: Annotated[int, FigureUnit("cycles")]
    look_ups: Annotated[int, FigureUnit("loads")]


@dataclass(frozen=True, slots=True)
class L1StoresSpec:
    """
    How stores to global memory pass the L1 of an SM.

    Attributes:
        bytes_per_cycle: Bytes of a store that go to the SM's port in a cycle. Meanwhile no other store proceeds, not
            even to shared memory, and a waiting store blocks the instructions behind it.
    """

    bytes_per_cycle: Annotated[int, FigureUnit("bytes/cycle")]


@dataclass(frozen=True, slots=True)
class L1Spec:
    """
    The L1 data cache of one SM.

    Attributes:
        bytes: L1 and shared memory together. The cache has the bytes outside the shared-memory carve-out.
        line_bytes: Bytes of a cache line.
        sector_bytes: Bytes of a sector.
        hit_latency: Cycles of a load that hits, from issue to dependent issue.
        store_buffer_bytes: Bytes of stores that can wait for the SM's port to the L2 before stores block other
            accesses.
        lines: How missing lines of loads return; None if unknown, and then they return as those of copies do.
        stores: How stores pass; None if unknown, and then no store holds another.
    """

    bytes: Annotated[int, FigureUnit("bytes", 1 << 10, 1 << 22)]
    line_bytes: Annotated[int, FigureUnit("bytes", only=LINE_BYTES)]
    sector_bytes: Annotated[int, FigureUnit("bytes", only=SECTOR_BYTES)]
    hit_latency: Annotated[int, FigureUnit("cycles", lower=4)]
    store_buffer_bytes: Annotated[int, FigureUnit("bytes", upper=1 << 22, zero="no store waits there")]
    lines: L1LinesSpec | None
    stores: L1StoresSpec | None


@dataclass(frozen=True, slots=True)
class L2ReachSpec:
    """
    The distance of the L2 from the SMs.

    Attributes:
        cycles: Extra latency of SMs spread evenly over the chip, relative to the nearest of them, as a mean over all
            lines.
    """

    cycles: Annotated[tuple[int, ...], FigureUnit("cycles", zero="the nearest SM")]

    @property
    def about_mean(self) -> tuple[int, ...]:
        """Differences from the mean SM's latency, cycles."""
        mean = sum(self.cycles) // len(self.cycles)
        return tuple(one - mean for one in self.cycles)


@dataclass(frozen=True, slots=True)
class L2MixedSpec:
    """
    The write bandwidth of the L2 that reads take. Otherwise reads and stores have paths of their own.

    Attributes:
        read_percent: Time of the write bandwidth that a byte read takes, in per cent of a stored byte's.
        fill_percent: Further time that a byte from DRAM takes, in per cent of a stored byte's.
    """

    read_percent: Annotated[int, FigureUnit("percent")]
    fill_percent: Annotated[int, FigureUnit("percent", zero="DRAM's bytes take nothing more")]


@dataclass(frozen=True, slots=True)
class L2MergingSpec:
    """
    How requests of several SMs for the same sectors are merged before the L2 (D24).

    Attributes:
        most: Requests that one lookup serves.
        window: Cycles from the acceptance of a request that hits during which later requests are merged with it. A
            request that misses merges others until its data has come from DRAM.
    """

    most: Annotated[int, FigureUnit("requests")]
    window: Annotated[int, FigureUnit("cycles", zero="merged with requests on their way alone")]


@dataclass(frozen=True, slots=True)
class L2CrossingSpec:
    """
    The cost of moving a line from one partition of the L2 to the other.

    Attributes:
        first: Extra cycles of the first load of a line from the other partition's side. Later loads hit the line on
            their own side.
        home_bits: Bits of a line's number whose parity selects its home partition. Bits above the page, which no
            benchmark can see, all count.
    """

    first: Annotated[int, FigureUnit("cycles", zero="no longer than on its own side")]
    home_bits: Annotated[tuple[int, ...], FigureUnit("bits")]


@dataclass(frozen=True, slots=True)
class L2ClockSpec:
    """
    The part of the latencies that runs on clocks of the L2 and DRAM. These stay constant while tensor cores slow the
    SMs' clock down (D25).

    Attributes:
        of_hit: Cycles of a hit's latency that run on the L2's clock.
        of_miss: Cycles of a miss's latency that run on the clocks of the L2 and of DRAM.
    """

    of_hit: Annotated[int, FigureUnit("cycles")]
    of_miss: Annotated[int, FigureUnit("cycles")]


@dataclass(frozen=True, slots=True)
class L2Spec:
    """
    The L2 of the chip.

    Attributes:
        bytes: Capacity of the whole chip.
        partitions: Number of partitions. Each keeps the data that the SMs next to it read, so data that all SMs read is
            in every partition.
        line_bytes: Bytes of a cache line.
        hit_latency: Cycles of a load that hits the partition next to the SM, from issue to dependent issue.
        far_latency: Cycles of a load that hits the other partition; equal to ``hit_latency`` with one partition.
        far_fraction_percent: Share of the lines whose home is the other partition.
        bytes_per_cycle: Bytes per SM cycle of the whole chip.
        bytes_per_cycle_per_sm: Bytes per SM cycle of one SM's port.
        write_bytes_per_cycle: Bytes per SM cycle that the whole chip takes from stores.
        write_bytes_per_cycle_per_sm: Bytes per SM cycle that one SM stores.
        write_latency: Cycles until a store is acknowledged.
        write_buffer: Size of the buffers behind the SMs' ports, as cycles in which the L2 empties all of them.
        semaphore: Cycles from the last store of a split-K slice until the next slice sees its semaphore.
        mixed: Write bandwidth that reads take; None if unknown, and then they take none.
        merging: How requests are merged before the L2; None if each takes a lookup.
        crossing: Cost of crossing to the other partition; None if unknown, and then crossing takes no longer.
        reach: Distance from the SMs; None if unknown, and then it is equal for all.
        clock: Latency on clocks of the L2 and DRAM; None if unknown, and then the L2 runs on the SMs' clock and DRAM on
            its own.
    """

    bytes: Annotated[int, FigureUnit("bytes", 1 << 16, 1 << 29)]
    partitions: Annotated[int, FigureUnit("partitions", 1, 16)]
    line_bytes: Annotated[int, FigureUnit("bytes", only=LINE_BYTES)]
    hit_latency: Annotated[int, FigureUnit("cycles", lower=10)]
    far_latency: Annotated[int, FigureUnit("cycles", lower=10)]
    far_fraction_percent: Annotated[int, FigureUnit("percent", upper=100, zero="one partition")]
    bytes_per_cycle: Annotated[int, FigureUnit("bytes/cycle")]
    bytes_per_cycle_per_sm: Annotated[int, FigureUnit("bytes/cycle")]
    write_bytes_per_cycle: Annotated[int, FigureUnit("bytes/cycle")]
    write_bytes_per_cycle_per_sm: Annotated[int, FigureUnit("bytes/cycle")]
    write_latency: Annotated[int, FigureUnit("cycles", lower=10)]
    write_buffer: Annotated[int, FigureUnit("cycles", zero="no buffer")]
    semaphore: Annotated[int, FigureUnit("cycles")]
    mixed: L2MixedSpec | None
    merging: L2MergingSpec | None
    crossing: L2CrossingSpec | None
    reach: L2ReachSpec | None
    clock: L2ClockSpec | None

    @property
    def most_merged(self) -> int:
        """Requests that one lookup serves."""
        return 1 if self.merging is None else self.merging.most


@dataclass(frozen=True, slots=True)
class DramBanksSpec:
    """
    The channels and banks that serve DRAM's accesses in parallel.

    Attributes:
        channels: Channels that share the bandwidth; each transfers one access after the other.
        per_channel: Banks of a channel; each serves one access after the other.
        busy_ns: Time for which an access occupies its bank.
    """

    channels: Annotated[int, FigureUnit("channels")]
    per_channel: Annotated[int, FigureUnit("banks", 1, 1024)]
    busy_ns: Annotated[int, FigureUnit("ns")]


@dataclass(frozen=True, slots=True)
class DramTurnsSpec:
    """
    The time that a channel loses by turning from reads to writes and back.

    Attributes:
        write_percent: Time of the channel that a byte written takes, in per cent of a byte read.
        lost: Bytes that the channel could read in the time that both turns lose.
        gathered: Bytes of writes that the channel gathers before it turns and writes them together.
        meanwhile: Bytes that the channel could read in the longest time for which fewer writes wait while it is read.
    """

    write_percent: Annotated[int, FigureUnit("percent")]
    lost: Annotated[int, FigureUnit("bytes", 1, 1 << 24)]
    gathered: Annotated[int, FigureUnit("bytes", 1, 1 << 24)]
    meanwhile: Annotated[int, FigureUnit("bytes", 1, 1 << 24)]


@dataclass(frozen=True, slots=True)
class DramLateSpec:
    """
    Loads that miss the L2 and return late, because a part of DRAM does not answer for a time, as during a refresh.

    Attributes:
        on_time: Median cycles of a load that is not late, of a line whose home is the partition next to the SM, from
            issue to dependent issue. The distribution is symmetric and begins at the fastest load.
        cycles: Cycles for which a part does not answer.
        period: Cycles from the beginning of one refresh of a part to the beginning of the next.
        region_bytes: Bytes of a region, whose parts are late independently of other regions.
        part_masks: Masks of bits of a line's number in its region. The parities of all masks together are the number of
            the line's part.
    """

    on_time: Annotated[int, FigureUnit("cycles", lower=10)]
    cycles: Annotated[int, FigureUnit("cycles")]
    period: Annotated[int, FigureUnit("cycles")]
    region_bytes: Annotated[int, FigureUnit("bytes", 64, 1 << 28, power_of_two=True)]
    part_masks: Annotated[tuple[int, ...], FigureUnit("masks")]


@dataclass(frozen=True, slots=True)
class DramSpec:
    """
    The memory behind the L2.

    Attributes:
        latency_least: Cycles of the fastest load that misses the L2, from issue to dependent issue, the L2's own time
            included.
        latency: Cycles that half of all misses take at most. This quantile and the later ones are None if ``late`` is
            given, which replaces them.
        latency_late: Cycles that nine misses in ten take at most.
        latency_later: Cycles that 98 misses in a hundred take at most.
        latency_most: Cycles that all misses take at most.
        bandwidth_gb_s: Peak bandwidth, in 10^9 bytes a second.
        achievable_percent: Share of the peak that a stream reaches.
        write_queue: Bytes of writes that all channels queue together; further stores wait. None if ``turns`` states
            what a channel gathers.
        banks: Channels and banks; None if unknown, and then DRAM is one channel without banks.
        turns: Time lost by turning to writes and back; None if unknown, and then none is lost.
        late: Refresh, which makes loads late together; None if unknown, and then each load is late by itself.
        clock_mhz: SM clock of the machine.
    """

    latency: Annotated[int | None, FigureUnit("cycles", lower=10)]
    latency_least: Annotated[int, FigureUnit("cycles", lower=10)]
    latency_late: Annotated[int | None, FigureUnit("cycles", lower=10)]
    latency_later: Annotated[int | None, FigureUnit("cycles", lower=10)]
    latency_most: Annotated[int | None, FigureUnit("cycles", lower=10)]
    bandwidth_gb_s: Annotated[int, FigureUnit("GB/s")]
    achievable_percent: Annotated[int, FigureUnit("percent", 1, 100)]
    write_queue: Annotated[int | None, FigureUnit("bytes", 64, 1 << 26)]
    banks: DramBanksSpec | None
    turns: DramTurnsSpec | None
    late: DramLateSpec | None
    clock_mhz: Annotated[int, Inherited("clock_mhz")]

    @property
    def latencies(self) -> tuple[int, ...]:
        """The quantiles of a miss's latency, the least one first; only the least one if ``late`` is given."""
        others = (self.latency, self.latency_late, self.latency_later, self.latency_most)
        return (self.latency_least, *(one for one in others if one is not None))

    @property
    def bytes_per_kilocycle(self) -> int:
        """Bytes that a stream reads in 1000 SM cycles at the machine's clock, rounded down, but at least 1."""
        return max(1, self.bandwidth_gb_s * self.achievable_percent * 10_000 // self.clock_mhz)


@dataclass(frozen=True, slots=True)
class BarrierSpec:
    """
    Cost of bar.sync: over W warps it takes ``base + per_warp * W`` cycles from the last arrival's issue.

    Attributes:
        base: Cycles for any number of warps.
        per_warp: Additional cycles for each warp.
    """

    base: Annotated[int, FigureUnit("cycles")]
    per_warp: Annotated[int, FigureUnit("cycles", zero="as long for any number of warps")]


@dataclass(frozen=True, slots=True)
class DispatchMemorySpec:
    """
    Delay of an mma.sync by the SMSP's memory instructions, which use the same register file.

    Attributes:
        shared_load_percent: Per cent of a cycle that a load from shared memory takes, including ldmatrix.
        shared_store_percent: Per cent of a cycle that a store to shared memory takes.
        copy_percent: Per cent of a cycle that a cp.async takes.
        load_percent: Per cent of a cycle that a load from global memory takes.
        store_percent: Per cent of a cycle that a store to global memory takes.
    """

    shared_load_percent: Annotated[int, FigureUnit("percent", zero="takes nothing")]
    shared_store_percent: Annotated[int, FigureUnit("percent", zero="takes nothing")]
    copy_percent: Annotated[int, FigureUnit("percent", zero="takes nothing")]
    load_percent: Annotated[int, FigureUnit("percent", zero="takes nothing")]
    store_percent: Annotated[int, FigureUnit("percent", zero="takes nothing")]


@dataclass(frozen=True, slots=True)
class DispatchSpec:
    """
    The dispatch of an SMSP, from which its pipes take their operands.

    Attributes:
        mufu: Cycles after the issue cycle of an instruction of the pipe "mufu" in which its SMSP issues nothing.
        tensor_percent: Per cent of a cycle by which register arithmetic delays an mma.sync whose operands are being
            read.
        memory: Delay of an mma.sync by memory instructions; None if unknown, and then they cause none.
    """

    mufu: Annotated[int, FigureUnit("cycles", zero="holds nothing")]
    tensor_percent: Annotated[int, FigureUnit("percent", zero="takes nothing")]
    memory: DispatchMemorySpec | None


@dataclass(frozen=True, slots=True)
class LaunchUnitsSpec:
    """
    Groups of SMs (GPCs, or parts of one) to which the chip's CTA scheduler hands CTAs, group by group.

    Attributes:
        ahead: SMs of the group that always comes first.
        others: SMs of each other group, in the order of their turns.
        between: Other groups that get their CTAs between two turns of the first group, in hundredths of a group.
        gpcs: Number of the GPC of each group, beginning with the first group.
        sides: Side of the chip, 0 or 1, of each group in the same order: the partition of the L2 next to it.
        other_sm: Cycles from the first CTA of a TPC's first SM to the first CTA of its second SM, at the launch.
        next_cta: Cycles from one CTA to the next on the same SM, at the launch.
    """

    ahead: Annotated[int, FigureUnit("SMs")]
    others: Annotated[tuple[int, ...], FigureUnit("SMs")]
    between: Annotated[int, FigureUnit("percent")]
    gpcs: Annotated[tuple[int, ...], FigureUnit("GPCs")]
    sides: Annotated[tuple[int, ...], FigureUnit("sides")]
    other_sm: Annotated[int, FigureUnit("cycles", zero="both SMs begin together")]
    next_cta: Annotated[int, FigureUnit("cycles", zero="CTAs of an SM begin together")]

    @property
    def sizes(self) -> tuple[int, ...]:
        """SMs of each group, beginning with the first group."""
        return (self.ahead, *self.others)


@dataclass(frozen=True, slots=True)
class LaunchCpcsSpec:
    """
    CPCs with fewer TPCs than others. While the L2 is saturated, each of their SMs gets more of its bandwidth.

    Attributes:
        tpcs: Positions of their TPCs in a GPC of ``beside`` TPCs, group by group as in ``launch.units``; other GPCs
            have none.
        beside: TPCs of a GPC that has such CPCs.
        percent: Bandwidth of each of their SMs, in per cent of the mean of all SMs.
    """

    tpcs: Annotated[tuple[int, ...], FigureUnit("TPCs")]
    beside: Annotated[int, FigureUnit("TPCs", lower=1)]
    percent: Annotated[int, FigureUnit("percent", lower=100)]


@dataclass(frozen=True, slots=True)
class GpcClocksSpec:
    """
    The GPCs' clocks while tensor cores slow them down, and the elapsed cycles beyond the work of the SMs (D15).

    Attributes:
        sms: Numbers of working SMs; ``besides``, ``apart`` and ``far_apart`` have an entry for each.
        besides: Elapsed cycles minus active cycles, without the difference of the clocks.
        cycles: Two numbers of active cycles.
        apart: Cycles of the fastest GPC minus those of the slowest, after the first number of ``cycles``.
        far_apart: Cycles of the fastest GPC minus those of the slowest, after the second number of ``cycles``.
    """

    sms: Annotated[tuple[int, ...], FigureUnit("SMs")]
    besides: Annotated[tuple[int, ...], FigureUnit("cycles")]
    cycles: Annotated[tuple[int, ...], FigureUnit("cycles", upper=10_000_000)]
    apart: Annotated[tuple[int, ...], FigureUnit("cycles", zero="one clock")]
    far_apart: Annotated[tuple[int, ...], FigureUnit("cycles", zero="one clock")]

    def more(self, working: int, active: int) -> int:
        """
        Return elapsed cycles minus active cycles, interpolated between the measured points.

        Args:
            working: Number of working SMs.
            active: Cycles of the SM that works longest.
        """
        besides, near, far = (
            float(np.interp(working, self.sms, column)) for column in (self.besides, self.apart, self.far_apart)
        )
        first, last = self.cycles
        beyond = max(0, active - first) * (far - near) / (last - first)
        return round(besides + near * min(active, first) / first + beyond)


@dataclass(frozen=True, slots=True)
class LaunchReadsSpec:
    """
    Reads of a launch from the L2 besides its kernel's data, which do not depend on the number of CTAs.

    Attributes:
        sectors: Sectors that every launch reads.
        of_code: Number of reads of each sector of the kernel's code.
    """

    sectors: Annotated[int, FigureUnit("sectors", zero="none")]
    of_code: Annotated[int, FigureUnit("reads", zero="not counted")]


@dataclass(frozen=True, slots=True)
class LaunchSpec:
    """
    The time a grid and its CTAs take to start.

    Attributes:
        overhead: Elapsed cycles of a launch during which no SM is active.
        cta_interval: Cycles between two CTAs that the chip's CTA scheduler launches.
        cta_setup: Cycles from the launch of a CTA to its first issue.
        ctas_on_every_gpc: Smallest grid, in CTAs, that leaves no GPC idle.
        idle_clock_percent: Cycles of an idle GPC per 100 cycles of a GPC whose tensor cores are busy.
        units: Groups of SMs that CTAs go to; None if unknown, and then all SMs form one group.
        cpcs: CPCs of fewer TPCs; None if unknown, and then all SMs share the L2 equally.
        gpc_clocks: How far the clocks of the GPCs differ; None if unknown, and then all GPCs have one clock.
        reads: Reads from the L2 besides data; None if unknown, and then none are counted.
    """

    overhead: Annotated[int, FigureUnit("cycles")]
    cta_interval: Annotated[int, FigureUnit("cycles", zero="launched together")]
    cta_setup: Annotated[int, FigureUnit("cycles")]
    ctas_on_every_gpc: Annotated[int, FigureUnit("CTAs")]
    idle_clock_percent: Annotated[int, FigureUnit("percent", 100, 200)]
    units: LaunchUnitsSpec | None
    cpcs: LaunchCpcsSpec | None
    gpc_clocks: GpcClocksSpec | None
    reads: LaunchReadsSpec | None


@dataclass(frozen=True, slots=True)
class InstructionCacheSpec:
    """
    The instruction cache of an SM, whose misses go to the L2 (D7).

    Attributes:
        line_bytes: Bytes of a line.
        l0_bytes: Capacity, which is that of an SMSP's L0.
        stream_lines: Lines by which the stream prefetcher runs ahead of execution.
        line_interval: Cycles between two lines that arrive from the next level.
        l1_miss_latency: Cycles a miss waits for the L2.
    """

    line_bytes: Annotated[int, FigureUnit("bytes", 16, 1024, power_of_two=True)]
    l0_bytes: Annotated[int, FigureUnit("bytes", 1 << 10, 1 << 22)]
    stream_lines: Annotated[int, FigureUnit("lines", zero="no prefetcher")]
    line_interval: Annotated[int, FigureUnit("cycles")]
    l1_miss_latency: Annotated[int, FigureUnit("cycles")]


@dataclass(frozen=True, slots=True)
class ConstantLinesSpec:
    """
    Lines of the launch's parameters after the first.

    Attributes:
        further: Cycles that the first read of a line adds to its instruction if another line was read before.
    """

    further: Annotated[int, FigureUnit("cycles", zero="no longer than the first")]


@dataclass(frozen=True, slots=True)
class ConstantCacheSpec:
    """
    The constant cache that feeds constant operands of fixed-latency instructions.

    Attributes:
        miss_latency: Cycles that a miss adds to a fixed-latency instruction with a constant operand.
        lines: Time of further lines; None if unknown, and then they take none.
    """

    miss_latency: Annotated[int, FigureUnit("cycles")]
    lines: ConstantLinesSpec | None


@dataclass(frozen=True, slots=True)
class Machine:
    """
    The description of one GPU.

    Attributes:
        name: Stem of the machine file, and the figures that a user has set: "h200 with sms = 66".
        title: Name of the GPU for a reader.
        compute_capability: 10 * major + minor.
        sms: Streaming multiprocessors.
        smsps: Sub-partitions of one SM.
        clock_mhz: SM clock at which cycles are converted to time.
        pipes: Execution pipes by their names in ``PIPES``.
        tensor: mma.sync on the tensor core of one SMSP, by shape.input.accumulator, as "m16n8k16.f16.f32".
        async_copy: cp.async figures; None for a machine without cp.async.
        figures: Provenance of each figure, in the order of this class.
        sources: Title of each source, by its key.
    """

    name: str
    title: str
    compute_capability: Annotated[int, FigureUnit("10*major+minor")]
    sms: Annotated[int, FigureUnit("SMs")]
    smsps: Annotated[int, FigureUnit("SMSPs")]
    clock_mhz: Annotated[int, FigureUnit("MHz")]
    limits: Limits
    features: Features
    pipes: dict[str, PipeSpec]
    tensor: dict[str, TensorSpec]
    mio: MioSpec
    shared: SharedMemorySpec
    async_copy: AsyncCopySpec | None
    l1: L1Spec
    l2: L2Spec
    dram: DramSpec
    barrier: BarrierSpec
    dispatch: DispatchSpec
    launch: LaunchSpec
    instruction_cache: InstructionCacheSpec
    constant_cache: ConstantCacheSpec
    figures: tuple[FigureRecord, ...]
    sources: dict[str, str]

    def __hash__(self) -> int:
        """Return the hash of the name, because a table of figures has none."""
        return hash(self.name)

    def clock_percent(self, *, busy: bool) -> int:
        """
        Return the cycles of a constant clock in 100 cycles of the SMs (D25).

        Args:
            busy: Whether tensor cores slow the SMs' clock down.
        """
        return self.launch.idle_clock_percent if busy else 100

    def l2_clock_percent(self, *, busy: bool) -> int:
        """Return the cycles of the L2's clock in 100 cycles of the SMs: 100 unless it is known to be its own."""
        return 100 if self.l2.clock is None else self.clock_percent(busy=busy)

    def l2_bytes_per_cycle(self, *, busy: bool) -> int:
        """Return the bytes that the L2 delivers in a cycle of the SMs."""
        return self.l2.bytes_per_cycle * self.l2_clock_percent(busy=busy) // 100

    def dram_bytes_per_kilocycle(self, *, busy: bool) -> int:
        """Return the bytes that DRAM delivers in a thousand cycles of the SMs."""
        return self.dram.bytes_per_kilocycle * self.clock_percent(busy=busy) // 100

    def figure_counts(self) -> dict[str, int]:
        """
        Return the number of figures of each kind that a file may state, and of the user's figures if there are any.
        """
        counts = Counter[str](record.kind for record in self.figures)
        return {kind: counts[kind] for kind in FIGURE_KINDS} | ({"user": counts["user"]} if counts["user"] else {})

    def digest(self) -> str:
        """
        Return a SHA-256 over the name and every figure's key, value and kind; machines that simulate alike share it.
        """
        rows = [[record.key, record.value, record.kind] for record in self.figures]
        canonical = json.dumps([self.name, rows], separators=(",", ":"))
        return hashlib.sha256(canonical.encode()).hexdigest()
