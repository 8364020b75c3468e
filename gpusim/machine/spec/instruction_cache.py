"""The instruction cache of an SM, ``[instruction_cache]`` in a machine file."""

from dataclasses import dataclass
from typing import Annotated

from gpusim.machine.figure import FigureUnit


@dataclass(frozen=True, slots=True)
class InstructionCacheSpec:
    """
    The instruction cache of an SM, whose misses go to the L2 (D7).

    Attributes:
        line_bytes: Bytes of a line.
        l0_bytes: Capacity, which is that of an SMSP's L0.
        stream_lines: Lines by which the stream prefetcher runs ahead of execution.
        line_interval: Cycles between two lines that arrive from the next level.
        l1_miss_latency: Cycles a miss waits for the L2.
    """

    line_bytes: Annotated[int, FigureUnit("bytes", 16, 1024, power_of_two=True)]
    l0_bytes: Annotated[int, FigureUnit("bytes", 1 << 10, 1 << 22)]
    stream_lines: Annotated[int, FigureUnit("lines", zero="no prefetcher")]
    line_interval: Annotated[int, FigureUnit("cycles")]
    l1_miss_latency: Annotated[int, FigureUnit("cycles")]
