"""CUTLASS's TensorOpMultiplicandCongruous: the XOR swizzle of operands contiguous along M or N, as integers."""

from dataclasses import dataclass
from typing import Final

import numpy as np

from gpusim.arrays import IntArray
from gpusim.errors import BadInput
from gpusim.layout.crosswise import PARTITION, crosswise_offset, line_elements
from gpusim.layout.shared import SharedLayout
from gpusim.units import VECTOR_BITS

CONGRUOUS_BITS: Final = (4, 8, 16, 32)
"""Element widths that have a congruous layout. 64-bit operands have another one, of which no kernel here knows."""

WORD_BITS: Final = 32
"""Elements this wide are read back word by word, with plain loads; narrower ones row by row, with ldmatrix."""


def congruous_offset(contiguous: int | IntArray, strided: int | IntArray, stride: int, element_bits: int) -> IntArray:
    """
    Element offset of a logical coordinate; the contiguous one runs along M or N, the strided one along K.

    A row of the operand is whole 128-byte lines, one after another, and rows are ``stride`` apart. The vectors of a
    line are permuted according to its row, in such a way that what one instruction reads lies in different banks:

    - Under 32 bits an ldmatrix.trans reads one vector out of each of 8 rows, so each of the 8 rows puts it elsewhere:
      the rule of crosswise with a whole line of elements.
    - Elements of 32 bits are read by plain loads, a lane one word: 8 neighbours, which are two vectors, in each of 4
      rows. So each of the 4 rows puts a pair of vectors elsewhere: vector ^= 2 (row mod 4).

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
    A congruous operand. Its stages lie along K, the strided dimension: one after another.

    Raises:
        BadInput: The element width has no such layout, or the rows are not whole 128-byte lines.

    Source: golden files ``layout_congruous_*``.
    """

    def __post_init__(self) -> None:
        """Refuse what no kernel could use; the class says what."""
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
        """Elements of the whole allocation."""
        return self.stages * self.stage_elements

    def offset(self, contiguous: int | IntArray, strided: int | IntArray, stage: int | IntArray = 0) -> IntArray:
        """As ``SharedLayout.offset``; stage and coordinate add up along K."""
        along_k = np.asarray(stage, dtype=np.int64) * self.strided + strided
        return congruous_offset(contiguous, along_k, self.stride, self.element_bits)
