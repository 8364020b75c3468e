"""bar.sync: warps arrive one after the other at the SM's barrier unit; the last arrival lets all go."""

from gpusim.machine.spec import BarrierSpec
from gpusim.sim.cta import Cta


class BarrierUnit:
    """
    The barrier unit of one SM, shared by its CTAs: it takes one arrival each ``per_warp`` cycles.

    Attributes:
        shortest: Fewest cycles from an arrival to a release.
    """

    def __init__(self, spec: BarrierSpec) -> None:
        self._spec = spec
        self._free = 0
        self.shortest = spec.base + spec.per_warp

    def arrive(self, cta: Cta, at: int) -> int | None:
        """
        One warp of ``cta`` arrives at ``at``.

        Returns:
            Cycle at which all of the CTA's warps may issue again when this was the last; else None.
        """
        self._free = max(at, self._free) + self._spec.per_warp
        cta.arrived += 1
        if cta.arrived < cta.warps:
            return None
        cta.arrived = 0
        return self._free + self._spec.base
