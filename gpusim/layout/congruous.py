"""
CUTLASS's TensorOpMultiplicandCongruous, the XOR swizzle of operands contiguous along M or N, as integer arithmetic.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np

from gpusim.arrays import IntArray
from gpusim.errors import BadInput
from gpusim.layout.crosswise import PARTITION, crosswise_offset, line_elements
from gpusim.layout.shared import SharedLayout
from gpusim.units import VECTOR_BITS

CONGRUOUS_BITS: Final = (4, 8, 16, 32)
"""Element widths that have a congruous layout. CUTLASS's own layout for 64-bit operands is not modelled."""

WORD_BITS: Final = 32
"""Element width at which plain loads read the operand word by word; ldmatrix reads narrower elements row by row."""


def congruous_offset(contiguous: int | IntArray, strided: int | IntArray, stride: int, element_bits: int) -> IntArray:
    """
    Return the element offset of a logical coordinate whose contiguous part runs along M or N and strided part along K.

    A row of the operand is a sequence of whole 128-byte lines, and rows are ``stride`` elements apart. The row number
    permutes the 16-byte vectors of each line, so that the vectors one instruction reads lie in different banks:

    - Elements under 32 bits: an ldmatrix.trans reads one vector from each of 8 rows, so each of the 8 rows has that
      vector in other banks. The rule is the crosswise one, with a whole line of elements.
    - Elements of 32 bits: plain loads read one word per lane, 8 neighbours (two vectors) from each of 4 rows. So each
      of the 4 rows has a pair of vectors in other banks: vector ^= 2 (row mod 4).

    Args:
        contiguous: Coordinates along M or N. Broadcasts with ``strided``.
        strided: Coordinates along K, over all stages.
        stride: Leading dimension in elements: the tile's extent along M or N.
        element_bits: Width of one element.

    Returns:
        Offsets in elements, of the broadcast shape.

    Source: CUTLASS include/cutlass/layout/tensor_op_multiplicand_sm75.h, golden ``layout_congruous_*``.
    """
    line = line_elements(element_bits)
    if element_bits < WORD_BITS:
        return crosswise_offset(contiguous, strided, stride, element_bits, line)
    c, s = np.asarray(contiguous, dtype=np.int64), np.asarray(strided, dtype=np.int64)
    vector = VECTOR_BITS // element_bits
    offsets: IntArray = s * stride + (c ^ s % PARTITION * 2 * vector)
    return offsets


@dataclass(frozen=True, slots=True)
class CongruousLayout(SharedLayout):
    """
    The shared layout of an operand contiguous along M or N.

    Its stages follow one another along the strided dimension, K.

    Raises:
        BadInput: The element width has no such layout, or the rows are not whole 128-byte lines.

    Source: golden files ``layout_congruous_*``.
    """

    def __post_init__(self) -> None:
        """Refuse an element width or extent the class does not allow."""
        if self.element_bits not in CONGRUOUS_BITS:
            allowed = ", ".join(map(str, CONGRUOUS_BITS))
            raise BadInput(f"congruous: element bits must be one of {allowed}, got {self.element_bits}")
        line = line_elements(self.element_bits)
        if self.contiguous % line:
            raise BadInput(
                f"congruous<{self.element_bits},{line}>: contiguous extent must be a multiple of {line},"
                f" the elements of a 128-byte line, got {self.contiguous}"
            )

    @property
    def stride(self) -> int:
        """Leading dimension in elements."""
        return self.contiguous

    @property
    def stage_elements(self) -> int:
        """Elements from one stage to the next."""
        return self.contiguous * self.strided

    @property
    def elements(self) -> int:
        """Elements of the whole allocation, over all stages."""
        return self.stages * self.stage_elements

    def offset(self, contiguous: int | IntArray, strided: int | IntArray, stage: int | IntArray = 0) -> IntArray:
        """Return what ``SharedLayout.offset`` specifies. The stage is an offset along K."""
        along_k = np.asarray(stage, dtype=np.int64) * self.strided + strided
        return congruous_offset(contiguous, along_k, self.stride, self.element_bits)
