"""The hazards that real data shows, which no look at the order of ops can: stale, stray and missing elements."""

from dataclasses import dataclass
from typing import Literal, TypeAlias

DataHazardName: TypeAlias = Literal[
    "stale_data_consumed", "overwrite_while_read", "illegal_global_access", "output_not_written_once"
]


@dataclass(frozen=True, slots=True)
class DataHazard:
    """
    Something the data itself gave away, named once per (name, k tile, k group, operand, stage).

    Attributes:
        name: ``stale_data_consumed``: an mma used an element of an in-range row that no landed and visible copy
            had written. ``overwrite_while_read``: a slot was written while another warp may still read it.
            ``illegal_global_access``: a valid predicate on an address outside the tensor, or a misaligned one.
            ``output_not_written_once``: an output element was stored never, or more than once by one slice.
        message: One sentence for the user.
        k_tile: k tile consumed, or fetch that writes; -1 in the epilogue.
        k_group: k group of the mma; -1 where a whole slot is meant.
        operand: "a", "b", "accumulator" (the epilogue's staging), "output", "workspace" (partial sums); of attention
            "p", the name of a row statistic, "buffer" or "lse".
        stage: Slot of the ring; the step of an epilogue, the slice of a reduction; -1 elsewhere.
        row: First row (GEMM M for a and output, N for b) concerned; -1 where it is not known.
    """

    name: DataHazardName
    message: str
    k_tile: int
    k_group: int
    operand: str
    stage: int
    row: int


class HazardLog:
    """Hazards in the order they were met, each kind and place once."""

    def __init__(self) -> None:
        self._first: dict[tuple[object, ...], DataHazard] = {}

    def add(self, hazard: DataHazard) -> None:
        """Keep the hazard unless its like is known."""
        key = (hazard.name, hazard.k_tile, hazard.k_group, hazard.operand, hazard.stage)
        self._first.setdefault(key, hazard)

    def hazards(self) -> tuple[DataHazard, ...]:
        """All, in order."""
        return tuple(self._first.values())
