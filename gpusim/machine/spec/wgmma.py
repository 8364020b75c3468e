"""wgmma, ``[wgmma]`` in a machine file."""

from dataclasses import dataclass
from typing import Annotated

from gpusim.machine.figure import FigureUnit


@dataclass(frozen=True, slots=True)
class WgmmaClockSpec:
    """
    How the SMs' clock falls when the tensor cores execute wgmma: cycles of a constant clock in 100 cycles of the SMs.

    In short launches only the tensor cores count, in long ones also what the L2 and DRAM deliver: the power of all of
    them is limited.

    Attributes:
        idle: With hardly any wgmma.
        short_busy: Further ones of a short launch whose tensor cores are always busy.
        long_busy: Those of a long launch.
        l2: Further ones of a long launch for each 100 bytes that the L2 looks up for an SM in a cycle.
        dram: Further ones of a long launch for each 100 bytes that an SM gets from DRAM in a cycle.
        short: Cycles of a short launch. Between short and long the percentage changes evenly.
        long: Cycles of a long launch.
    """

    idle: Annotated[int, FigureUnit("percent", 100)]
    short_busy: Annotated[int, FigureUnit("percent")]
    long_busy: Annotated[int, FigureUnit("percent")]
    l2: Annotated[int, FigureUnit("percent")]
    dram: Annotated[int, FigureUnit("percent")]
    short: Annotated[int, FigureUnit("cycles", 1, 1_000_000)]
    long: Annotated[int, FigureUnit("cycles", 1, 10_000_000)]

    def percent(self, *, busy: float, l2_bytes: float, dram_bytes: float, cycles: int) -> int:
        """
        Return the cycles of a constant clock in 100 cycles of the SMs.

        Args:
            busy: Part of the cycles in which tensor cores are busy, mean of all SMs.
            l2_bytes: Bytes that the L2 looks up in a cycle, for each SM.
            dram_bytes: Bytes that DRAM delivers in a cycle, for each SM.
            cycles: Cycles of the launch.
        """
        short = self.idle + self.short_busy * busy
        long = self.idle + self.long_busy * busy + (self.l2 * l2_bytes + self.dram * dram_bytes) / 100
        part = min(1.0, max(0.0, (cycles - self.short) / max(1, self.long - self.short)))
        return round(short + (long - short) * part)


@dataclass(frozen=True, slots=True)
class WgmmaSpec:
    """
    wgmma on the tensor core of one SMSP, which takes N/2 cycles for m64nNk(32 bytes).

    Attributes:
        issue: Cycles from one to the next of a warp, while its queue has room.
        start: Cycles from the issue to the begin on an idle tensor core.
        finish: Cycles from its end on the tensor core until a wait for it is over.
        queue: wgmma of a warp that may be issued and not have begun, the next one included.
        clock: How the SMs' clock falls; None if unknown, and then it is that of launches with mma.sync.
    """

    issue: Annotated[int, FigureUnit("cycles")]
    start: Annotated[int, FigureUnit("cycles")]
    finish: Annotated[int, FigureUnit("cycles")]
    queue: Annotated[int, FigureUnit("instructions", 1, 16)]
    clock: WgmmaClockSpec | None
