"""Hands CTAs to SMs: in launch order, one after the other, to whichever SM has room."""

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

    At first CTAs go round the SMs until each is full; afterwards a finished CTA's place goes to the next in line.

    Args:
        queue: CTA indices in launch order.
        slots: CTAs an SM holds.
        footprint: Of a CTA, evaluated when it becomes resident.
        watched: CTA whose warps are watched; None watches nobody.
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
        """Fill the SMs round by round. A CTA leaves when all before it in the grid have left, simulated or not."""
        for _ in range(self._slots):
            for sm in sms:
                if self._queue:
                    self._port_free = self._queue[0] * self._spec.cta_interval
                    self._hand_out(sm)

    def finished(self, sm: Sm, cta: Cta) -> None:  # noqa: ARG002 - the SM's callback names its CTA
        """A CTA has ended on ``sm``: the next one takes its place."""
        self._running -= 1
        if self._queue:
            self._hand_out(sm)
        if not self._running:
            self.done.succeed()

    def _hand_out(self, sm: Sm) -> None:
        """One CTA leaves the scheduler each ``cta_interval`` cycles and is ready ``cta_setup`` later."""
        self._running += 1
        self._port_free = max(int(self._env.now), self._port_free) + self._spec.cta_interval
        at = self._port_free + self._spec.cta_setup
        sm.expect(at)
        self._env.process(self._launch(sm, self._queue.popleft(), at))

    def _launch(self, sm: Sm, index: int, at: int) -> Generator[simpy.Event, Any, None]:
        yield self._env.timeout(at - self._env.now)
        sm.launch(index, self._footprint(index), at, observed=index == self._watched)
