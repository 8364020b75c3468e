"""The layout of a matrix in a flat tensor of global memory: contiguous runs at a constant distance."""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class MatrixView:
    """
    A matrix in a flat tensor of global memory.

    Attributes:
        rows: Number of contiguous runs.
        columns: Elements of one run.
        leading: Elements from the start of one run to the start of the next, at least ``columns``.
    """

    rows: int
    columns: int
    leading: int

    @property
    def elements(self) -> int:
        """Elements of the flat tensor, from its base to the end of the last run's padding."""
        return self.rows * self.leading

    def of(self, flat: Any) -> Any:
        """
        Return the view of a flat array, without the padding. Shape (rows, columns).

        The array may be of any array module (NumPy, CuPy).
        """
        return flat.reshape(self.rows, self.leading)[:, : self.columns]
