"""One resident CTA: its place in the grid, what its copies and stores touch, and its warps' common barrier."""

from dataclasses import dataclass
from typing import NamedTuple

from gpusim.sim.footprint import Footprint


class CtaLife(NamedTuple):
    """When a CTA was on its SM: from the cycle its warps may issue to the cycle after the last exit."""

    cta: int
    launched: int
    finished: int


@dataclass(slots=True)
class Cta:
    """
    A CTA on an SM.

    Attributes:
        index: Launch order in the grid.
        footprint: Sectors and lines of every global access.
        warps: Warps of the CTA.
        remaining: Those that have not exited.
        arrived: Warps waiting at the barrier now.
        launched: Cycle at which its warps may issue.
    """

    index: int
    footprint: Footprint
    warps: int
    remaining: int
    launched: int
    arrived: int = 0
