"""Computes the number of CTAs that an SM holds at once, and the resource that limits it."""

from dataclasses import dataclass

from gpusim.machine.occupancy import Limiter, ctas_per_sm
from gpusim.results.result import Result
from gpusim.units import WARP_SIZE
from gpusim.verbs.simulate import SimulatedLaunch


@dataclass(frozen=True, slots=True)
class Residency:
    """
    The CTAs that an SM holds at once.

    Attributes:
        ctas_per_sm: Number of CTAs.
        limiter: The resource of the SM that limits the number: warps, ctas, registers or shared_memory.
        warps: Warps of these CTAs.
        most_warps: Warps that the SM can hold.
    """

    ctas_per_sm: int
    limiter: Limiter
    warps: int
    most_warps: int


def occupancy(result: Result, one: SimulatedLaunch) -> Residency:
    """Return the CTAs of a launch that an SM holds, and the resource that limits them."""
    launch = one.launch
    warps = launch.kernel.lanes().warps
    found = ctas_per_sm(launch.machine, warps * WARP_SIZE, result.registers_per_thread, result.shared_bytes)
    return Residency(found.ctas, found.limiter, found.ctas * warps, launch.machine.limits.max_warps)
