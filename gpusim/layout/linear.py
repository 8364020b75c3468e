"""Layouts without a swizzle: plain row-major, and rows padded by some elements."""

from dataclasses import dataclass

import numpy as np

from gpusim.arrays import IntArray
from gpusim.layout.shared import SharedLayout


@dataclass(frozen=True, slots=True)
class PaddedLayout(SharedLayout):
    """
    Rows of ``contiguous`` elements, each followed by ``padding`` unused elements. Stages lie one after another.

    Attributes:
        padding: Elements between the end of one row and the start of the next. 0 is plain row-major.
    """

    padding: int

    @property
    def row_stride(self) -> int:
        """Elements from one row to the next."""
        return self.contiguous + self.padding

    @property
    def stage_elements(self) -> int:
        """Elements from one stage to the next."""
        return self.row_stride * self.strided

    @property
    def elements(self) -> int:
        """Elements of the whole allocation, over all stages and with the padding."""
        return self.stage_elements * self.stages

    def offset(self, contiguous: int | IntArray, strided: int | IntArray, stage: int | IntArray = 0) -> IntArray:
        """Return what ``SharedLayout.offset`` specifies."""
        row = np.asarray(strided, dtype=np.int64) * self.row_stride
        offsets: IntArray = np.asarray(stage, dtype=np.int64) * self.stage_elements + row + contiguous
        return offsets
