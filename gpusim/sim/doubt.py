"""Says what of a sampled launch is in doubt, and how far it may be off."""

from dataclasses import dataclass
from typing import Final

from gpusim.machine.spec import Machine
from gpusim.sim.l2_walk import L2Walk
from gpusim.sim.run import Ran
from gpusim.sim.sampling import DRAM_ERROR_PERCENT, ELAPSED_ERROR_PERCENT, WAITING_ERROR_PERCENT
from gpusim.sim.timed_walk import bytes_missed, progress_of_chip

WAITING_PERCENT: Final = 60
"""Part of the time from which DRAM is so busy that CTAs wait for each other's reads, and in bursts."""

LESS_ROOM_PERCENT: Final = 90
"""Size of the L2, of its own, with which the bytes are counted again to see whether they hang on it."""

HANGING_PERCENT: Final = 0.5
"""Change of the bytes from which they do."""

_HANGING_FACTOR: Final = 3
"""The bytes that hang on the L2's size may be off by so many times the change."""


@dataclass(frozen=True, slots=True)
class Doubt:
    """
    What a launch reads from DRAM as its sample's CTAs come along, and what is in doubt.

    Attributes:
        dram_bytes: Bytes that it reads.
        waits: Whether DRAM is so busy that its time is in doubt: a sample's SMs wait for DRAM as those in step do.
        hangs: Whether the bytes hang on how far CTAs drift apart: with a little less room they change.
        elapsed_percent, dram_percent: How far elapsed cycles, and those bytes, may be from an exact run's.
    """

    dram_bytes: int
    waits: bool
    hangs: bool
    elapsed_percent: float
    dram_percent: float


def doubt_of(walk: L2Walk, ran: Ran, *, working: int, elapsed: int) -> Doubt:
    """
    Return what is in doubt of a sampled launch.

    Args:
        walk: The walk of the launch in which CTAs keep step.
        ran: The sample.
        working: SMs of the chip that have a CTA.
        elapsed: Longest span of an SM of the sample, cycles.
    """
    kernel = walk.kernel
    progress = progress_of_chip(ran.lives, working, len(kernel.launched))
    missed, more = bytes_missed(walk, progress, (100, LESS_ROOM_PERCENT))
    change = abs(more - missed) * 100 / missed if missed else 0.0
    read = missed + kernel.other_dram_bytes
    waits = _dram_percent(kernel.machine, read, elapsed, busy=kernel.mma is not None) >= WAITING_PERCENT
    hangs = change > HANGING_PERCENT
    return Doubt(
        dram_bytes=read,
        waits=waits,
        hangs=hangs,
        elapsed_percent=WAITING_ERROR_PERCENT if waits else ELAPSED_ERROR_PERCENT,
        dram_percent=DRAM_ERROR_PERCENT + (round(_HANGING_FACTOR * change, 1) if hangs else 0.0),
    )


def _dram_percent(machine: Machine, read: int, elapsed: int, *, busy: bool) -> float:
    """Return the part of the time for which DRAM transfers what is read."""
    return read * 100_000 / (machine.dram_bytes_per_kilocycle(busy=busy) * elapsed)
