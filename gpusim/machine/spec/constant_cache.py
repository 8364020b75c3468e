"""The constant cache of an SM, ``[constant_cache]`` in a machine file."""

from dataclasses import dataclass
from typing import Annotated

from gpusim.machine.figure import FigureUnit


@dataclass(frozen=True, slots=True)
class ConstantLinesSpec:
    """
    Lines of the launch's parameters after the first.

    Attributes:
        further: Cycles that the first read of a line adds to its instruction if another line was read before.
    """

    further: Annotated[int, FigureUnit("cycles", zero="no longer than the first")]


@dataclass(frozen=True, slots=True)
class IndexedConstantsSpec:
    """
    Loads of constants at addresses of a register, which take one pass for each distinct word of their lanes.

    Attributes:
        interval: Cycles that a pass occupies its SMSP's path.
        further: Cycles that each further pass adds to the latency.
    """

    interval: Annotated[int, FigureUnit("cycles")]
    further: Annotated[int, FigureUnit("cycles")]


@dataclass(frozen=True, slots=True)
class ConstantCacheSpec:
    """
    The constant cache that feeds constant operands of fixed-latency instructions.

    Attributes:
        miss_latency: Cycles that a miss adds to a fixed-latency instruction with a constant operand.
        lines: Time of further lines; None if unknown, and then they take none.
        indexed: Loads at addresses of a register; None if unknown, and then lanes' addresses do not count.
    """

    miss_latency: Annotated[int, FigureUnit("cycles")]
    lines: ConstantLinesSpec | None
    indexed: IndexedConstantsSpec | None
