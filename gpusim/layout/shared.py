"""The interface of every shared-memory layout of an operand: coordinates in, element offsets out; knows no times."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Final

from gpusim.arrays import IntArray

ELEMENT_BITS: Final = (4, 8, 16, 32, 64)
"""Element widths a shared layout may have."""


@dataclass(frozen=True, slots=True)
class SharedLayout(ABC):
    """
    The place of each element of one operand in its shared-memory allocation.

    Attributes:
        element_bits: Width of one element.
        contiguous: Extent of one stage along the contiguous dimension, in elements (k for K-contiguous operands).
        strided: Extent along the other dimension, in elements (m or n for K-contiguous operands).
        stages: Stages of the shared-memory ring in the allocation.
    """

    element_bits: int
    contiguous: int
    strided: int
    stages: int

    @abstractmethod
    def offset(self, contiguous: int | IntArray, strided: int | IntArray, stage: int | IntArray = 0) -> IntArray:
        """
        Return the element offset from the base of the operand's whole allocation.

        Args:
            contiguous: Coordinate in [0, ``self.contiguous``). Broadcasts with the others.
            strided: Coordinate in [0, ``self.strided``).
            stage: Stage in [0, ``self.stages``).

        Returns:
            Offsets in elements, of the broadcast shape. Coordinates outside the extents are not refused; the same
            arithmetic is applied to them.
        """

    @property
    @abstractmethod
    def elements(self) -> int:
        """Elements of the whole allocation, over all stages and with any padding."""

    def byte_address(self, contiguous: int | IntArray, strided: int | IntArray, stage: int | IntArray = 0) -> IntArray:
        """
        Return the byte address of the element, with the arguments of ``offset``. Elements under 8 bits share a byte.
        """
        return self.offset(contiguous, strided, stage) * self.element_bits // 8

    @property
    def shared_bytes(self) -> int:
        """Bytes of the whole allocation."""
        return self.elements * self.element_bits // 8
