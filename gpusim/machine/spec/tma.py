"""The TMA unit of an SM, ``[tma]`` in a machine file."""

from dataclasses import dataclass
from typing import Annotated

from gpusim.machine.figure import FigureUnit


@dataclass(frozen=True, slots=True)
class TmaSpec:
    """
    The TMA unit of an SM.

    Attributes:
        issue: Cycles from one load to the next of the thread that issues them.
        row_percent: Hundredths of a cycle for each line of each row of a box that is loaded.
        box: Least cycles of a box.
        store_latency: Cycles until a wait for the read of a store is over, beyond what its data takes at the port.
    """

    issue: Annotated[int, FigureUnit("cycles")]
    row_percent: Annotated[int, FigureUnit("percent")]
    box: Annotated[int, FigureUnit("cycles")]
    store_latency: Annotated[int, FigureUnit("cycles")]
