"""Hands CTAs to SMs in launch order, one after the other, as SMs have room."""

from collections import deque
from collections.abc import Callable, Generator, Sequence
from typing import Any

import simpy

from gpusim.machine.spec import LaunchSpec
from gpusim.sim.cta import Cta
from gpusim.sim.footprint import Footprint
from gpusim.sim.sm import Sm


class CtaScheduler:
    """
    The chip's CTA scheduler, or the part of it that one SM sees.

    First it gives each SM one CTA in turn until all are full. Then each CTA that ends is replaced by the next one.

    Args:
        queue: CTA indices in launch order.
        slots: Number of CTAs that an SM holds.
        footprint: Returns the footprint of a CTA. It is called when the CTA becomes resident.
        watched: CTA whose warps are watched, or None.
    """

    def __init__(
        self,
        env: simpy.Environment,
        spec: LaunchSpec,
        *,
        queue: Sequence[int],
        slots: int,
        footprint: Callable[[int], Footprint],
        watched: int | None,
    ) -> None:
        self._env = env
        self._spec = spec
        self._queue = deque(queue)
        self._slots = slots
        self._footprint = footprint
        self._watched = watched
        self._running = 0
        self._port_free = 0
        self.done = env.event()

    def start(self, sms: list[Sm]) -> None:
        """Fill the SMs, one CTA each in turn. A CTA leaves after all before it in the grid, simulated or not."""
        for _ in range(self._slots):
            for sm in sms:
                if self._queue:
                    self._port_free = self._queue[0] * self._spec.cta_interval
                    self._hand_out(sm)

    def finished(self, sm: Sm, cta: Cta) -> None:  # noqa: ARG002 - the SM's callback names its CTA
        """Replace a CTA that has ended on ``sm`` by the next one."""
        self._running -= 1
        if self._queue:
            self._hand_out(sm)
        if not self._running:
            self.done.succeed()

    def _hand_out(self, sm: Sm) -> None:
        """Send the next CTA to ``sm``. One leaves every ``cta_interval`` cycles and may issue ``cta_setup`` later."""
        self._running += 1
        self._port_free = max(int(self._env.now), self._port_free) + self._spec.cta_interval
        at = self._port_free + self._spec.cta_setup
        sm.expect(at)
        self._env.process(self._launch(sm, self._queue.popleft(), at))

    def _launch(self, sm: Sm, index: int, at: int) -> Generator[simpy.Event, Any, None]:
        yield self._env.timeout(at - self._env.now)
        sm.launch(index, self._footprint(index), at, observed=index == self._watched)
