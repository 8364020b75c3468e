"""The banked data array of an SM, ``[shared]`` in a machine file: shared memory and what uses its data stage."""

from dataclasses import dataclass
from typing import Annotated

from gpusim.machine.figure import FigureUnit
from gpusim.units import WORD_BYTES


@dataclass(frozen=True, slots=True)
class SharedStoresSpec:
    """
    How stores to shared memory wait for earlier stores of their warps.

    Attributes:
        apart: Stores that may wait outside the SM's queue. A further store waits in the queue and blocks the memory
            instructions behind it.
    """

    apart: Annotated[int, FigureUnit("stores")]


@dataclass(frozen=True, slots=True)
class SharedWideSpec:
    """
    How loads of more than four bytes a lane differ from loads of four.

    Attributes:
        register_latency: Cycles that each further register of a lane adds to an LDS, besides those of its wavefronts.
    """

    register_latency: Annotated[int, FigureUnit("cycles", zero="wavefronts alone count")]


@dataclass(frozen=True, slots=True)
class SharedMemorySpec:
    """
    The banked data array of one SM.

    Attributes:
        banks: Number of banks of the data array.
        bank_bytes: Width of one bank.
        load_latency: Cycles of an LDS of one wavefront, from issue to dependent issue. LDC is assumed to take as long.
        wavefront_latency: Cycles that each further wavefront of one access adds, for a lone warp. A store waits as many
            cycles for each wavefront of its warp's previous store.
        ldmatrix_latency_x1: Cycles of an ldmatrix of one matrix, from issue to dependent issue. Each further matrix is
            a wavefront.
        shuffle_latency: Cycles of a SHFL, from issue to dependent issue. It occupies the data stage like a load of one
            wavefront. S2R is assumed to do the same, and so is S2UR, plus the latency of a uniform instruction.
        atomic_wavefronts: Wavefronts that an atomic (ATOMS) takes for each lane that accesses the same word.
        warp_return_bytes: Bytes per cycle that the registers of one warp take from the data array.
        wavefronts_per_cycle: Wavefronts that the data stage serves in a cycle.
        stores: How stores wait; None if unknown, and then a waiting store blocks everything behind it.
        wide: How wide loads differ; None if unknown, and then only their wavefronts count.
    """

    banks: Annotated[int, FigureUnit("banks", 1, 1024, power_of_two=True)]
    bank_bytes: Annotated[int, FigureUnit("bytes", 1, 64, power_of_two=True)]
    load_latency: Annotated[int, FigureUnit("cycles", lower=4)]
    wavefront_latency: Annotated[int, FigureUnit("cycles")]
    ldmatrix_latency_x1: Annotated[int, FigureUnit("cycles", lower=4)]
    shuffle_latency: Annotated[int, FigureUnit("cycles", lower=4)]
    atomic_wavefronts: Annotated[int, FigureUnit("wavefronts")]
    warp_return_bytes: Annotated[int, FigureUnit("bytes/cycle")]
    wavefronts_per_cycle: Annotated[int, FigureUnit("wavefronts/cycle")]
    stores: SharedStoresSpec | None
    wide: SharedWideSpec | None

    def lds_latency(self, lane_bytes: int) -> int:
        """Return the cycles of an LDS of one wavefront with ``lane_bytes`` a lane, from issue to dependent issue."""
        further = max(0, lane_bytes // WORD_BYTES - 1)
        return self.load_latency + (0 if self.wide is None else further * self.wide.register_latency)
