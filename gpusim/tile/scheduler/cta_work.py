"""The work of each CTA of a grid as one array. It never knows which scheduler handed it out."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from gpusim.arrays import IntArray


class WorkUnit(NamedTuple):
    """
    What a CTA does for one output tile: the columns of a row of work, in order.

    Attributes:
        m: Output tile along M. A tile outside the problem is a cluster's padding.
        n: Output tile along N.
        l: Batch.
        first_k_tile: The first k tile that is accumulated.
        k_tiles: Number of k tiles that are accumulated.
        separate_reduction: 1 if it only adds what others accumulated. No scheduler here hands out such work: CUTLASS
            has separate reduction disabled.
        epilogue: 1 if it computes the epilogue of the tile.
        fixup: 1 if other CTAs accumulate k tiles of the tile, too, and the sums meet in the workspace.
    """

    m: int
    n: int
    l: int  # noqa: E741 - CUTLASS's name of the batch mode
    first_k_tile: int
    k_tiles: int
    separate_reduction: int
    epilogue: int
    fixup: int


@dataclass(frozen=True, slots=True, eq=False)
class CtaWork:
    """
    The work of all CTAs of a grid, CTAs in launch order (blockIdx x fastest), each one's work in its own order.

    Attributes:
        grid: The launch's gridDim (x, y, z).
        first: Row at which the work of each CTA begins, and at last the number of rows. Shape [ctas + 1].
        rows: One row a work unit, columns as ``WorkUnit``. Shape [units, 8].
    """

    grid: tuple[int, int, int]
    first: IntArray
    rows: IntArray

    def blocks(self) -> IntArray:
        """Return blockIdx (x, y, z) of every CTA. Shape [ctas, 3]."""
        return blocks_of(self.grid)

    def of(self, x: int, y: int = 0, z: int = 0) -> list[WorkUnit]:
        """
        Return the work of blockIdx (x, y, z), in order. A CTA without work has none.

        Raises:
            IndexError: The grid has no such block.
        """
        if not all(0 <= index < extent for index, extent in zip((x, y, z), self.grid, strict=True)):
            raise IndexError(f"blockIdx must be inside the grid {self.grid}, got {(x, y, z)}")
        cta = x + self.grid[0] * (y + self.grid[1] * z)
        return [WorkUnit(*row) for row in self.rows[self.first[cta] : self.first[cta + 1]].tolist()]


def blocks_of(grid: tuple[int, int, int]) -> IntArray:
    """Return blockIdx (x, y, z) of every CTA of a gridDim in launch order, blockIdx x fastest. Shape [ctas, 3]."""
    x, y, z = grid
    places = np.unravel_index(np.arange(x * y * z, dtype=np.int64), (z, y, x))
    return np.stack(places[::-1], axis=-1)


def whole_tiles(tiles: IntArray, k_tiles: int) -> IntArray:
    """Return the work units that compute whole output tiles (m, n, l), of shape [units, 3]. Shape [units, 8]."""
    rows = np.zeros((len(tiles), len(WorkUnit._fields)), dtype=np.int64)
    rows[:, :3] = tiles
    rows[:, WorkUnit._fields.index("k_tiles")] = k_tiles
    rows[:, WorkUnit._fields.index("epilogue")] = 1
    return rows
