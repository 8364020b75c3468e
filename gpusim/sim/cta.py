"""Holds the state of one resident CTA: its place in the grid, its global accesses, and its barrier."""

from dataclasses import dataclass
from typing import NamedTuple

from gpusim.sim.footprint import Footprint


class CtaLife(NamedTuple):
    """The lifetime of a CTA on its SM: from the first cycle its warps may issue to the cycle after its last exit."""

    cta: int
    launched: int
    finished: int


@dataclass(slots=True)
class Cta:
    """
    A CTA that is resident on an SM.

    Attributes:
        index: Number of the CTA in launch order.
        footprint: Sectors and lines of all its global accesses.
        warps: Number of warps.
        remaining: Number of warps that have not exited.
        launched: First cycle in which its warps may issue.
        arrived: Number of warps that wait at the barrier now.
    """

    index: int
    footprint: Footprint
    warps: int
    remaining: int
    launched: int
    arrived: int = 0
