"""bar.sync, ``[barrier]`` in a machine file."""

from dataclasses import dataclass
from typing import Annotated

from gpusim.machine.figure import FigureUnit


@dataclass(frozen=True, slots=True)
class FencesSpec:
    """
    Fences of memory (MEMBAR), by scope.

    A fence for the GPU or the system also waits until the L2 has acknowledged the warp's stores.

    Attributes:
        cta: Cycles of a fence for the CTA.
        gpu: Cycles of a fence for the GPU with nothing to wait for.
        system: Cycles of a fence for the system with nothing to wait for.
    """

    cta: Annotated[int, FigureUnit("cycles")]
    gpu: Annotated[int, FigureUnit("cycles")]
    system: Annotated[int, FigureUnit("cycles")]


@dataclass(frozen=True, slots=True)
class BarrierSpec:
    """
    Cost of bar.sync: over W warps it takes ``base + per_warp * W`` cycles from the last arrival's issue.

    Attributes:
        base: Cycles for any number of warps.
        per_warp: Additional cycles for each warp.
        fences: Time of fences; None if unknown, and then they take as long as a branch.
    """

    base: Annotated[int, FigureUnit("cycles")]
    per_warp: Annotated[int, FigureUnit("cycles", zero="as long for any number of warps")]
    fences: FencesSpec | None
