"""The tensor core of an SMSP, ``[tensor]`` in a machine file: an entry for each mma.sync."""

from dataclasses import dataclass
from typing import Annotated

from gpusim.machine.figure import FigureUnit
from gpusim.machine.spec.pipes import PipeSpec


@dataclass(frozen=True, slots=True)
class BeyondSpec:
    """
    The time of an mma.sync beyond whole cycles.

    Attributes:
        percent: Hundredths of a cycle for which each mma.sync occupies the tensor core beyond its interval.
    """

    percent: Annotated[int, FigureUnit("percent", upper=99, zero="whole cycles")]


@dataclass(frozen=True, slots=True)
class TensorSpec(PipeSpec):
    """
    The tensor core of one SMSP, for one mma.sync.

    Attributes:
        latency: Cycles from issue until an mma.sync that needs the result may issue.
        beyond: Time beyond the interval in a warp tile; None if unknown, and then none is simulated.
    """

    latency: Annotated[int, FigureUnit("cycles")]
    beyond: BeyondSpec | None
