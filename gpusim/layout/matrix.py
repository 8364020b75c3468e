"""How a matrix lies in a flat tensor of global memory: runs of contiguous elements, evenly apart."""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class MatrixView:
    """
    How a matrix lies in a flat tensor: ``rows`` runs of ``columns`` contiguous elements, ``leading`` elements apart.
    """

    rows: int
    columns: int
    leading: int

    @property
    def elements(self) -> int:
        """Elements of the flat tensor, from its base to the end of the last run's padding."""
        return self.rows * self.leading

    def of(self, flat: Any) -> Any:
        """The [rows, columns] view of a flat array of any array module, without the padding."""
        return flat.reshape(self.rows, self.leading)[:, : self.columns]
