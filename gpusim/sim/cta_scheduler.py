"""The chip's calendar in SimPy: hands CTAs to SMs in launch order, one after the other, as SMs have room."""

from collections.abc import Generator, Sequence
from typing import NamedTuple

import simpy

from gpusim.machine.spec import LaunchSpec
from gpusim.sim.core.chip import Chip


class CtaLife(NamedTuple):
    """The lifetime of a CTA on its SM: from the first cycle its warps may issue to the cycle after its last exit."""

    cta: int
    sm: int
    launched: int
    finished: int


class CtaScheduler:
    """
    The chip's CTA scheduler, or the part of it that one SM sees.

    First it gives each SM one CTA in turn until all are full. Then each CTA that ends is replaced by the next one. The
    chip runs from the end of one CTA to that of the next, and meets the calendar only there.

    Args:
        env: The SimPy environment.
        spec: How fast CTAs leave.
        chip: The SMs.
        queue: CTA indices in launch order; the chip numbers them from 0.
        watched: CTA whose warps are watched, or None.

    Attributes:
        lives: CTAs that have ended, in order of their end.
    """

    def __init__(
        self, env: simpy.Environment, spec: LaunchSpec, chip: Chip, queue: Sequence[int], watched: int | None
    ) -> None:
        self._env, self._spec, self._chip, self._queue, self._watched = env, spec, chip, queue, watched
        self._next = 0
        self._port_free = 0
        self.lives: list[CtaLife] = []

    def run(self) -> Generator[simpy.Event, None, None]:
        """Run all CTAs of the queue: a SimPy process."""
        for sm in range(self._chip.slots * self._chip.sms):
            if self._next < len(self._queue):
                # A CTA leaves after all before it in the grid, simulated or not.
                self._port_free = self._queue[self._next] * self._spec.cta_interval
                self._hand_out(sm % self._chip.sms)
        while len(self.lives) < self._next:
            cta, chip = self._chip.run(), self._chip
            yield self._env.timeout(chip.now - self._env.now)
            self.lives.append(CtaLife(self._queue[cta], chip.ended_sm, chip.ended_launched, chip.ended_at))
            if self._next < len(self._queue):
                self._hand_out(chip.ended_sm)

    def _hand_out(self, sm: int) -> None:
        """Send the next CTA to ``sm``. One leaves every ``cta_interval`` cycles and may issue ``cta_setup`` later."""
        self._port_free = max(int(self._env.now), self._port_free) + self._spec.cta_interval
        observed = self._queue[self._next] == self._watched
        self._chip.hand(sm, self._next, self._port_free + self._spec.cta_setup, int(observed))
        self._next += 1
