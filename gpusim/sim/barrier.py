"""Models bar.sync: warps arrive one after the other at the SM's barrier unit, and the last arrival releases all."""

from gpusim.machine.spec import BarrierSpec
from gpusim.sim.cta import Cta


class BarrierUnit:
    """
    The barrier unit of one SM, shared by its CTAs. It accepts one arrival every ``per_warp`` cycles.

    Attributes:
        shortest: Smallest number of cycles from an arrival to a release.
    """

    def __init__(self, spec: BarrierSpec) -> None:
        self._spec = spec
        self._free = 0
        self.shortest = spec.base + spec.per_warp

    def arrive(self, cta: Cta, at: int) -> int | None:
        """
        Record the arrival of one warp of ``cta`` at cycle ``at``.

        Returns:
            Cycle from which the CTA's warps may issue again, if this warp is the last to arrive; otherwise None.
        """
        self._free = max(at, self._free) + self._spec.per_warp
        cta.arrived += 1
        if cta.arrived < cta.warps:
            return None
        cta.arrived = 0
        return self._free + self._spec.base
