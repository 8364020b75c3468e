"""The hazards that real data shows and the order of ops does not: stale, stray and missing elements."""

from dataclasses import dataclass
from typing import Literal, TypeAlias

DataHazardName: TypeAlias = Literal[
    "stale_data_consumed",
    "overwrite_while_read",
    "illegal_global_access",
    "output_not_written_once",
    "deadlock",
    "overwrite",
    "unfilled",
    "phase",
    "bytes",
    "arrivals",
    "proxy",
    "store_overwrite",
    "tile_twice",
    "tile_missing",
    "accumulators_in_flight",
    "fence",
    "cta_ended",
]


@dataclass(frozen=True, slots=True)
class DataHazard:
    """
    A hazard that the data showed, reported once per (name, k tile, k group, operand, stage).

    Attributes:
        name: ``stale_data_consumed``: an mma used an element of an in-range row that no landed and visible copy
            had written. ``overwrite_while_read``: a stage was written while another warp may still read it.
            ``illegal_global_access``: a valid predicate on an address outside the tensor, or a misaligned one.
            ``output_not_written_once``: an output element was stored never, or more than once by one slice.
            Kernels with TMA and wgmma have these. ``deadlock``: no role can go on. ``overwrite``: shared memory is
            written that a wgmma or a thread may still read. ``unfilled``: it is read before TMA has brought what
            belongs there. ``phase``: a wait for a parity of an mbarrier may come a round too early or too late.
            ``bytes``: a phase of an mbarrier expects other bytes than TMA brings. ``arrivals``: more arrivals come than
            it takes. ``proxy``: TMA reads or writes what threads have accessed, without
            fence.proxy.async and a barrier between. ``store_overwrite``: threads write what a TMA store may still read.
            ``tile_twice``, ``tile_missing``: an output tile is not stored once. ``accumulators_in_flight``: they are
            read before their wgmma are complete. ``fence``: a wgmma without wgmma.fence behind other accesses to its
            accumulators. ``cta_ended``: a CTA ends while its shared memory is still used.
        message: One sentence for the user.
        k_tile: k tile consumed, or fetch that writes; -1 in the epilogue.
        k_group: k group of the mma; -1 for a whole stage.
        operand: "a", "b", "accumulator" (the epilogue's staging), "output" or "workspace" (partial sums). In attention
            also "p", the name of a row statistic, "buffer" and "lse".
        stage: Stage of the ring; the step in an epilogue, the slice in a reduction; -1 elsewhere.
        row: First affected row (GEMM M for a and output, N for b); -1 if it is not known.
    """

    name: DataHazardName
    message: str
    k_tile: int
    k_group: int
    operand: str
    stage: int
    row: int


class HazardLog:
    """The hazards found so far, in order, once for each kind and place."""

    def __init__(self) -> None:
        self._first: dict[tuple[object, ...], DataHazard] = {}

    def add(self, hazard: DataHazard) -> None:
        """Add a hazard unless one of the same kind and place is known."""
        key = (hazard.name, hazard.k_tile, hazard.k_group, hazard.operand, hazard.stage)
        self._first.setdefault(key, hazard)

    def hazards(self) -> tuple[DataHazard, ...]:
        """Return all hazards, in the order they were added."""
        return tuple(self._first.values())
