"""The L2 of the chip, ``[l2]`` in a machine file."""

from dataclasses import dataclass
from typing import Annotated

from gpusim.machine.figure import FigureUnit
from gpusim.units import LINE_BYTES


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
class L2PartsSpec:
    """
    The bandwidth that accesses to parts of a line take.

    Attributes:
        read_bytes: Bytes in whole multiples of which a line is read.
        store_bytes: Bytes of write bandwidth that a line takes at least.
        mask_bytes: Further bytes that a line takes, of the SM's port too, if a sector of it is stored in part.
    """

    read_bytes: Annotated[int, FigureUnit("bytes", 32, LINE_BYTES, power_of_two=True)]
    store_bytes: Annotated[int, FigureUnit("bytes", 0, LINE_BYTES, zero="no more than its sectors")]
    mask_bytes: Annotated[int, FigureUnit("bytes", 0, LINE_BYTES, zero="whole sectors alike")]


@dataclass(frozen=True, slots=True)
class L2AtomicsSpec:
    """
    Atomics on global memory, which the L2 executes: lanes of a sector together, lanes of a word one after another.

    Attributes:
        bytes: Bytes of write bandwidth that a pass takes.
        sector_percent: Cycles for which a pass keeps its slice from other atomics, per cent.
        lane_percent: The same for each of several lanes that update a word.
        float_percent: The same for each of several lanes that add floats to a word.
        slices: Slices of the L2, each of which executes one pass at a time. They come in pairs.
        further: Cycles that an atomic takes longer than a load that hits the L2.
    """

    bytes: Annotated[int, FigureUnit("bytes", 1, 4096)]
    sector_percent: Annotated[int, FigureUnit("percent")]
    lane_percent: Annotated[int, FigureUnit("percent")]
    float_percent: Annotated[int, FigureUnit("percent")]
    slices: Annotated[int, FigureUnit("slices")]
    further: Annotated[int, FigureUnit("cycles", zero="no longer than a load")]


@dataclass(frozen=True, slots=True)
class L2Spec:
    """
    The L2 of the chip.

    Attributes:
        bytes: Capacity of the whole chip.
        partitions: Number of partitions. Each keeps the data that the SMs next to it read, so data that all SMs read is
            in every partition.
        line_bytes: Bytes of a cache line.
        fetch_bytes: Bytes that a miss of one sector brings from DRAM, unless the instruction asks for more.
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
        parts: Cost of parts of lines; None if unknown, and then sectors alone count.
        atomics: Cost of atomics; None if unknown, and then they take as long as stores.
    """

    bytes: Annotated[int, FigureUnit("bytes", 1 << 16, 1 << 29)]
    partitions: Annotated[int, FigureUnit("partitions", 1, 16)]
    line_bytes: Annotated[int, FigureUnit("bytes", only=LINE_BYTES)]
    fetch_bytes: Annotated[int, FigureUnit("bytes", 32, LINE_BYTES, power_of_two=True)]
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
    parts: L2PartsSpec | None
    atomics: L2AtomicsSpec | None

    @property
    def most_merged(self) -> int:
        """Requests that one lookup serves."""
        return 1 if self.merging is None else self.merging.most
