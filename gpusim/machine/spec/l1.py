"""The L1 data cache of an SM, ``[l1]`` in a machine file."""

from dataclasses import dataclass
from typing import Annotated

from gpusim.machine.figure import FigureUnit
from gpusim.units import LINE_BYTES, SECTOR_BYTES


@dataclass(frozen=True, slots=True)
class L1LinesSpec:
    """
    How loads pass the L1 of an SM, and how fast missing lines return.

    Attributes:
        interval: Cycles between two missing lines that return, of one sector or several.
        look_ups: Loads that may wait for their tag lookup. A further load blocks the memory instructions behind it.
    """

    interval: Annotated[int, FigureUnit("cycles")]
    look_ups: Annotated[int, FigureUnit("loads")]


@dataclass(frozen=True, slots=True)
class L1StoresSpec:
    """
    How stores to global memory pass the L1 of an SM.

    Attributes:
        bytes_per_cycle: Bytes of a store that go to the SM's port in a cycle. Meanwhile no other store proceeds, not
            even to shared memory, and a waiting store blocks the instructions behind it.
    """

    bytes_per_cycle: Annotated[int, FigureUnit("bytes/cycle")]


@dataclass(frozen=True, slots=True)
class L1Spec:
    """
    The L1 data cache of one SM.

    Attributes:
        bytes: L1 and shared memory together. The cache has the bytes outside the shared-memory carve-out.
        line_bytes: Bytes of a cache line.
        sector_bytes: Bytes of a sector.
        hit_latency: Cycles of a load that hits, from issue to dependent issue.
        store_buffer_bytes: Bytes of stores that can wait for the SM's port to the L2 before stores block other
            accesses.
        lines: How missing lines of loads return; None if unknown, and then they return as those of copies do.
        stores: How stores pass; None if unknown, and then no store holds another.
    """

    bytes: Annotated[int, FigureUnit("bytes", 1 << 10, 1 << 22)]
    line_bytes: Annotated[int, FigureUnit("bytes", only=LINE_BYTES)]
    sector_bytes: Annotated[int, FigureUnit("bytes", only=SECTOR_BYTES)]
    hit_latency: Annotated[int, FigureUnit("cycles", lower=4)]
    store_buffer_bytes: Annotated[int, FigureUnit("bytes", upper=1 << 22, zero="no store waits there")]
    lines: L1LinesSpec | None
    stores: L1StoresSpec | None
