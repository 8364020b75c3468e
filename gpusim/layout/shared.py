"""What every shared-memory layout of an operand offers: coordinates in, element offsets out, and nothing about time."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Final

from gpusim.arrays import IntArray

ELEMENT_BITS: Final = (4, 8, 16, 32, 64)
"""Element widths a shared layout may have."""


@dataclass(frozen=True, slots=True)
class SharedLayout(ABC):
    """
    Where each element of one operand lies in its shared allocation.

    Attributes:
        element_bits: Width of one element.
        contiguous: Logical extent of one stage along the contiguous dimension (k for K-contiguous operands).
        strided: Logical extent along the other dimension (m or n for K-contiguous operands).
        stages: Slots of the shared-memory ring in the allocation.
    """

    element_bits: int
    contiguous: int
    strided: int
    stages: int

    @abstractmethod
    def offset(self, contiguous: int | IntArray, strided: int | IntArray, stage: int | IntArray = 0) -> IntArray:
        """
        Element offset from the base of the operand's whole allocation.

        Args:
            contiguous: Coordinate in [0, ``self.contiguous``). Broadcasts with the others.
            strided: Coordinate in [0, ``self.strided``).
            stage: Slot in [0, ``self.stages``).

        Returns:
            Offsets in elements, of the broadcast shape. Coordinates outside the extents are not refused; their
            offsets are the rule's arithmetic.
        """

    @property
    @abstractmethod
    def elements(self) -> int:
        """Elements of the whole allocation: all stages, padding included."""

    def byte_address(self, contiguous: int | IntArray, strided: int | IntArray, stage: int | IntArray = 0) -> IntArray:
        """Byte that holds the element (for elements under 8 bits: the byte it shares), as ``offset`` otherwise."""
        return self.offset(contiguous, strided, stage) * self.element_bits // 8

    @property
    def shared_bytes(self) -> int:
        """Bytes of the whole allocation."""
        return self.elements * self.element_bits // 8
