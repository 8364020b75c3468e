"""bar.sync, ``[barrier]`` in a machine file."""

from dataclasses import dataclass
from typing import Annotated

from gpusim.machine.figure import FigureUnit


@dataclass(frozen=True, slots=True)
class BarrierSpec:
    """
    Cost of bar.sync: over W warps it takes ``base + per_warp * W`` cycles from the last arrival's issue.

    Attributes:
        base: Cycles for any number of warps.
        per_warp: Additional cycles for each warp.
    """

    base: Annotated[int, FigureUnit("cycles")]
    per_warp: Annotated[int, FigureUnit("cycles", zero="as long for any number of warps")]
