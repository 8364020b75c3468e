"""The timeline build of a tile kernel for simulation in time: its machine code stores clock stamps."""

from collections.abc import Mapping
from functools import cached_property
from typing import Any, ClassVar, Final

from gpusim.cuda.specialise import Specialisation
from gpusim.errors import BadInput
from gpusim.families.gemm.specialise import specialise
from gpusim.families.gemm.timed import TimedTileKernel
from gpusim.lower.aligned import TENSOR_BITS

RECORDS: Final = 15 << TENSOR_BITS
"""Assumed global byte address of the stamps, in a range of their own."""

_ROOM: Final = 1 << 20
"""Capacity in rows: large enough that all stamps are written."""


class StampedTileKernel(TimedTileKernel):
    """
    The timeline build of a GEMM's or convolution's kernel. Its stamps are not ops of the schedule.

    A stamp reads the clock and stores it. The store takes a queue entry of the MIO and a wavefront, and holds its
    register until it is read. All CTAs are simulated like the recorded one. On a GPU the other CTAs have their stores
    predicated off; these take a queue entry, too. Not modelled: the sectors that stamps write.
    """

    arguments: ClassVar[tuple[str, ...]] = ("records",)

    def require(self) -> None:
        """
        Check that all CTAs execute the same code as the recorded one, and as ``TimedTileKernel`` does.

        Raises:
            BadInput: The sum is split, so CTAs of other slices execute other code; or the machine lacks cp.async.
        """
        super().require()
        slices = self.scenario.problem.split_k_slices
        if slices > 1:
            raise BadInput(f"problem.split_k_slices must be 1 where stamps are simulated, got {slices}")

    @cached_property
    def specialisation(self) -> Specialisation:
        """The kernel's timeline build."""
        return specialise(self.scenario, "timeline")

    @property
    def any_extents(self) -> None:
        """None: a measured kernel has its extents compiled in."""
        return None

    @property
    def lender(self) -> "StampedTileKernel":
        """The kernel itself: skipped trips of another kernel would lack their stamps."""
        return self

    @property
    def pointers(self) -> Mapping[str, int]:
        """Assumed global byte address of each tensor, and of the stamps."""
        return {**super().pointers, "records": RECORDS}

    def values(self, k_iterations: int) -> Mapping[str, Any]:
        """Return the parameters of a launch that records its first CTA."""
        recorded = {"records": RECORDS, "record_capacity": _ROOM, "recorded_blocks": 1}
        return {**super().values(k_iterations), **recorded}
