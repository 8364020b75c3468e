"""
What is written down while the core runs: rows of integers, one after another.

In silicon: nothing; whoever watches a warp reads it. Figures: none.
State: a block of rows, and the column that full blocks are moved to.
Timing: none.

>>> log = Log(2)
>>> log.block[log.row()] = 5
>>> log.flush()
>>> log.column.tolist()
[5, 0]
"""

from array import array
from typing import TYPE_CHECKING

from gpusim.sim.columns import zeros
from gpusim.sim.core.constants import LOG_ROWS

if TYPE_CHECKING:
    from gpusim.sim.columns import Column


class Log:
    """Rows of integers, one after another in a column that grows by blocks; ``flush`` completes the column."""

    def __init__(self, width: int) -> None:
        """Hold rows of ``width`` integers."""
        self.column: Column = array("q")
        self.rows = self.block = zeros(width * LOG_ROWS)
        self.width, self.filled = width, 0

    def row(self) -> int:
        """Add a row; return where it begins in the block."""
        if self.filled == len(self.block):
            self.flush()
        at = self.filled
        self.filled += self.width
        return at

    def flush(self) -> None:
        """Move the rows of the block to the column."""
        filled, self.filled = self.filled, 0
        self.column.extend(self.rows[:filled])
