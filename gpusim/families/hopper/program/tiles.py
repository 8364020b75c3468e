"""Which boxes TMA brings of an operand, at which addresses, and which CTAs receive them."""

from collections.abc import Iterator
from dataclasses import dataclass

from gpusim.families.hopper.collective import SharedOperand


@dataclass(frozen=True, slots=True)
class TmaBox:
    """
    One box of an operand's tile.

    Attributes:
        row, column: Its first element along M or N and along K, from the tile's first.
        extents: Extents of the box, the contiguous dimension first.
        offset: Bytes from the ring slot's first.
        bytes: Its bytes.
    """

    row: int
    column: int
    extents: tuple[int, int, int]
    offset: int
    bytes: int


@dataclass(frozen=True, slots=True)
class Place:
    """
    A CTA in its cluster.

    Attributes:
        cta: Its place along M and N.
        cluster: CTAs along M and N.
    """

    cta: tuple[int, int]
    cluster: tuple[int, int]

    @property
    def rank(self) -> int:
        """Rank in the cluster: along M first."""
        return self.cta[0] + self.cta[1] * self.cluster[0]

    def sharers(self, side: str) -> tuple[int, ...]:
        """Return the ranks of the CTAs that read the same tile of an operand, this one among them."""
        along_m, along_n = self.cluster
        if side == "a":
            return tuple(self.cta[0] + along_m * j for j in range(along_n))
        return tuple(i + along_m * self.cta[1] for i in range(along_m))

    def slice_of(self, side: str) -> int:
        """Return which slice of that tile this CTA loads for all sharers."""
        return self.cta[1] if side == "a" else self.cta[0]


def boxes(operand: SharedOperand, slices: int, number: int) -> Iterator[TmaBox]:
    """
    Yield the boxes of one slice of an operand's k tile, in the order of the loads.

    A box is one atom wide along the contiguous extent, and a slice of the tile along the other.

    Args:
        operand: The operand.
        slices: Slices, one for each CTA that shares the tile.
        number: The slice.
    """
    width, height = operand.box(slices)
    first, size = number * height, width * height * operand.bits // 8
    contiguous, other = (operand.depth, operand.rows) if operand.k_contiguous else (operand.rows, operand.depth)
    for place in range(0, contiguous, width):
        offset = (place * other + first * width) * operand.bits // 8
        row, column = (first, place) if operand.k_contiguous else (place, first)
        yield TmaBox(row, column, (width, height, 1), offset, size)
