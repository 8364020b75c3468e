"""mbarriers in shared memory, ``[mbarrier]`` in a machine file."""

from dataclasses import dataclass
from typing import Annotated

from gpusim.machine.figure import FigureUnit


@dataclass(frozen=True, slots=True)
class MbarrierSpec:
    """
    mbarriers in shared memory.

    Attributes:
        base: Cycles from the last arrival, or the last bytes, until a warp that waits continues.
        per_warp: Cycles from one arrival of a warp to the next that an SM takes.
        remote: Further cycles of an arrival from another CTA of the cluster.
    """

    base: Annotated[int, FigureUnit("cycles")]
    per_warp: Annotated[int, FigureUnit("cycles")]
    remote: Annotated[int, FigureUnit("cycles")]
