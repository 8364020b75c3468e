"""How a grid and its CTAs start, ``[launch]`` in a machine file: the CTA scheduler, GPCs and their clocks."""

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from gpusim.machine.figure import FigureUnit


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

    def elapsed(self, longest: int, *, ctas: int, working: int, busy: bool) -> int:
        """
        Return the elapsed cycles of a launch, overhead included (D15).

        Elapsed cycles are cycles of the fastest GPC. A GPC without a CTA keeps its full clock while busy tensor cores
        slow the others. If all GPCs have CTAs, the last SM to end is assumed to be in the slowest GPC, whose lag is
        measured.

        Args:
            longest: Longest active span of an SM, cycles.
            ctas: CTAs of the grid.
            working: SMs that have a CTA.
            busy: Whether tensor cores are busy.
        """
        if ctas < self.ctas_on_every_gpc:
            return longest * (self.idle_clock_percent if busy else 100) // 100 + self.overhead
        if busy and self.gpc_clocks is not None:
            return longest + self.gpc_clocks.more(working, longest)
        return longest + self.overhead
