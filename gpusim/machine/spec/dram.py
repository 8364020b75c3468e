"""The memory behind the L2, ``[dram]`` in a machine file."""

from dataclasses import dataclass
from typing import Annotated

from gpusim.machine.figure import FigureUnit, Inherited


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
