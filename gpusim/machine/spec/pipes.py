"""The execution pipes of an SMSP, ``[pipes]`` in a machine file."""

from dataclasses import dataclass
from typing import Annotated

from gpusim.machine.figure import FigureUnit

PIPES = ("alu", "fma", "fmaheavy", "half", "mufu", "branch", "uniform", "fp64")
"""Execution pipes of one SMSP, besides the tensor core and the MIO queue."""


@dataclass(frozen=True, slots=True)
class PipeSpec:
    """
    An execution pipe of one SMSP.

    Attributes:
        interval: Cycles that one warp instruction occupies the pipe.
        latency: Cycles from issue until a dependent instruction may issue, for estimated streams; compiled streams have
            stall counts of their own. None for the pipe "half", whose results no estimated instruction needs soon.
    """

    interval: Annotated[int, FigureUnit("cycles")]
    latency: Annotated[int | None, FigureUnit("cycles")]
