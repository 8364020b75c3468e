"""Finds the results of a sampled launch that are in doubt, and their expected error."""

from dataclasses import dataclass
from typing import Final

from gpusim.machine.spec import Machine
from gpusim.sim.run import Ran
from gpusim.sim.sampling import DOUBTFUL_ERROR_PERCENT, DRAM_ERROR_PERCENT, ELAPSED_ERROR_PERCENT
from gpusim.sim.timed_kernel import KernelData
from gpusim.sim.timed_walk import bytes_missed, progress_of_chip
from gpusim.units import SECTOR_BYTES

DRAM_WAITS_PERCENT: Final = 60
"""
DRAM utilisation from which reads and writes wait for one another.

Banks and channels are loaded unevenly, so some of them have queues long before all are busy.
"""

L2_WAITS_PERCENT: Final = 75
"""L2 utilisation from which requests wait for one another. At 75 % about one and a half requests wait (M/D/1)."""

LESS_ROOM_PERCENT: Final = 90
"""Size of a smaller L2, in per cent, with which bytes are counted again to see whether they depend on the size."""

HANGING_PERCENT: Final = 0.5
"""Bytes that change by this many per cent or more depend on the L2's size."""


@dataclass(frozen=True, slots=True)
class SampleDoubt:
    """
    The DRAM traffic of a launch at the pace of its sample's CTAs, and the results that are in doubt.

    Attributes:
        dram_bytes, dram_written: Bytes that the launch reads from DRAM, and writes.
        time: Reason why the elapsed cycles are in doubt; empty for no doubt.
        bytes: Reason why the bytes are in doubt; empty for no doubt.
    """

    dram_bytes: int
    dram_written: int
    time: str
    bytes: str

    @property
    def time_percent(self) -> float:
        """Expected error of elapsed cycles against an exact run, per cent, either way."""
        return DOUBTFUL_ERROR_PERCENT if self.time else ELAPSED_ERROR_PERCENT

    @property
    def bytes_percent(self) -> float:
        """Expected error of the bytes against an exact run, per cent."""
        return DOUBTFUL_ERROR_PERCENT if self.time or self.bytes else DRAM_ERROR_PERCENT


def doubt_of(
    kernel: KernelData, ran: Ran, *, working: int, elapsed: int, looked_up: int, stored: int, busy: bool, untold: str
) -> SampleDoubt:
    """
    Return the doubts about a sampled launch.

    Args:
        kernel: The kernel's data.
        ran: The sample.
        working: SMs of the chip that have a CTA.
        elapsed: Longest span of an SM of the sample, cycles.
        looked_up: Sectors that the whole launch looks up in the L2.
        stored: Bytes that the whole launch stores.
        busy: Whether the launch keeps tensor cores busy, which slows the SMs' clock down.
        untold: Reason why no sample can predict the elapsed cycles; empty if a sample can.
    """
    progress = progress_of_chip(ran.lives, working, len(kernel.launched))
    missed, more = bytes_missed(kernel, progress, (100, LESS_ROOM_PERCENT))
    change = abs(more - missed) * 100 / missed if missed else 0.0
    read = missed + kernel.other_dram_bytes
    written = written_bytes(kernel.machine, read, stored)
    waits = _waits(kernel.machine, read + written, looked_up, elapsed, busy=busy)
    hangs = "what is still in the L2 when CTAs that drifted apart ask for it" if change > HANGING_PERCENT else ""
    return SampleDoubt(read, written, untold or (f"how long it waits for {waits}" if waits else ""), hangs)


def written_bytes(machine: Machine, read: int, stored: int) -> int:
    """
    Return the bytes that stores make the L2 write to DRAM.

    When the launch ends, the L2 is full of the data read and stored last, in the proportion of all reads and stores.
    The stored bytes that it no longer holds have been written to DRAM.
    """
    held = machine.l2.bytes // machine.l2.partitions
    return max(0, stored - held * stored // (read + stored)) if stored else 0


def _waits(machine: Machine, moved: int, looked_up: int, elapsed: int, *, busy: bool) -> str:
    """Return the memory that is so busy that its requests wait for one another; empty if none is."""
    if moved * 100_000 >= DRAM_WAITS_PERCENT * machine.dram_bytes_per_kilocycle(busy=busy) * elapsed:
        return "DRAM"
    if looked_up * SECTOR_BYTES * 100 >= L2_WAITS_PERCENT * machine.l2_bytes_per_cycle(busy=busy) * elapsed:
        return "the L2"
    return ""
