"""CUTLASS's TensorOpMultiplicandCrosswise, the XOR swizzle of K-contiguous operands, as integer arithmetic."""

from dataclasses import dataclass
from typing import Final

import numpy as np

from gpusim.arrays import IntArray
from gpusim.errors import BadInput
from gpusim.layout.shared import SharedLayout
from gpusim.units import VECTOR_BITS

LINE_VECTORS: Final = 8
"""Number of 128-bit vectors in one 128-byte line of shared memory."""

PARTITION: Final = 4
"""Vectors across, and lines down, one partition. The swizzle permutes vectors within a partition of a line."""

CROSSWISE_BITS: Final = (4, 8, 16, 32)
"""Element widths for which the crosswise rule is checked."""


def line_elements(element_bits: int) -> int:
    """Return the number of elements in one 128-byte line."""
    return LINE_VECTORS * VECTOR_BITS // element_bits


def crosswise_factor(element_bits: int, crosswise: int) -> int:
    """Return kFactor, the logical rows of ``crosswise`` elements in one 128-byte line, or 0 if a row exceeds a line."""
    return line_elements(element_bits) // crosswise


def crosswise_offset(
    contiguous: int | IntArray, strided: int | IntArray, stride: int, element_bits: int, crosswise: int
) -> IntArray:
    """
    Return the element offset of a logical coordinate under CUTLASS's TensorOpMultiplicand rule.

    Each 128-byte line holds kFactor rows of ``crosswise`` elements. Its 8 vectors form 2 partitions of 4. The index r
    of the line permutes both:

        vector in its partition of 4      ^=  r mod 4
        partition in the line of 2        ^=  (r / 4) mod 2, where the swizzle tile has 8 lines (kFactor 1)

    With ``crosswise`` a whole line this is also the rule of TensorOpMultiplicandCongruous for elements under 32 bits.

    Args:
        contiguous: Coordinates along the contiguous dimension. Broadcasts with ``strided``.
        strided: Coordinates along the other dimension.
        stride: Leading dimension in elements: stages * crosswise for a multistage operand.
        element_bits: Width of one element.
        crosswise: Elements of a row that stay in one line; must divide a line.

    Returns:
        Offsets in elements, of the broadcast shape.

    Source: CUTLASS include/cutlass/layout/tensor_op_multiplicand_sm75.h, struct TensorOpMultiplicand.
    """
    c = np.asarray(contiguous, dtype=np.int64)
    s = np.asarray(strided, dtype=np.int64)
    vector_elements = VECTOR_BITS // element_bits
    factor = crosswise_factor(element_bits, crosswise)
    row_vectors = LINE_VECTORS // factor
    tile_lines = max(row_vectors, 32 // LINE_VECTORS)

    vector = c // vector_elements
    line = s // factor
    line_in_tile = line % tile_lines
    place = vector % row_vectors + (s % factor) * row_vectors
    within_partition = place % PARTITION ^ line_in_tile % PARTITION
    partition = place // PARTITION ^ line_in_tile // PARTITION % 2

    stored = vector // row_vectors * LINE_VECTORS + partition * PARTITION + within_partition
    offsets: IntArray = stored * vector_elements + c % vector_elements + line * (stride * factor)
    return offsets


@dataclass(frozen=True, slots=True)
class CrosswiseLayout(SharedLayout):
    """
    The shared layout of a K-contiguous operand. Its stages lie side by side along K.

    The row stride is therefore stages * contiguous elements.

    Attributes:
        crosswise: Template parameter of the CUTLASS layout, usually the threadblock's K extent.

    Raises:
        BadInput: A row exceeds a 128-byte line, a row does not divide a line, or the extents do not fill whole lines
            (the rule would then not be a bijection).

    Source: golden files ``layout_crosswise_*``.
    """

    crosswise: int

    def __post_init__(self) -> None:
        """Refuse an element width, row or extent the class does not allow."""
        bits, line = self.element_bits, f"crosswise<{self.element_bits},{self.crosswise}>"
        if bits not in CROSSWISE_BITS:
            raise BadInput(f"{line}: element bits must be one of {', '.join(map(str, CROSSWISE_BITS))}, got {bits}")
        limit, vector = line_elements(bits), VECTOR_BITS // bits
        if self.crosswise > limit:
            raise BadInput(
                f"{line}: a row of {self.crosswise * bits // 8} bytes exceeds one 128-byte shared-memory line "
                f"(kFactor would be 0); at most {limit} elements of {bits} bits"
            )
        if self.crosswise < vector or limit % self.crosswise:
            allowed = ", ".join(str(limit >> shift) for shift in range(LINE_VECTORS.bit_length() - 1, -1, -1))
            raise BadInput(f"{line}: crosswise must be one of {allowed}, got {self.crosswise}")
        if self.contiguous % self.crosswise:
            raise BadInput(f"{line}: contiguous extent must be a multiple of {self.crosswise}, got {self.contiguous}")
        if self.strided % self.factor:
            raise BadInput(f"{line}: strided extent must be a multiple of kFactor {self.factor}, got {self.strided}")

    @property
    def factor(self) -> int:
        """kFactor: logical rows in one 128-byte line."""
        return crosswise_factor(self.element_bits, self.crosswise)

    @property
    def stride(self) -> int:
        """Leading dimension in elements, over all stages."""
        return self.stages * self.contiguous

    @property
    def stage_elements(self) -> int:
        """Elements from one stage to the next: kFactor rows of one stage, since the stages lie side by side."""
        return self.contiguous * self.factor

    @property
    def elements(self) -> int:
        """Elements of the whole allocation, over all stages."""
        return self.stride * self.strided

    def offset(self, contiguous: int | IntArray, strided: int | IntArray, stage: int | IntArray = 0) -> IntArray:
        """Return what ``SharedLayout.offset`` specifies. The stage is an offset along K."""
        along_k = np.asarray(stage, dtype=np.int64) * self.contiguous + contiguous
        return crosswise_offset(along_k, strided, self.stride, self.element_bits, self.crosswise)
