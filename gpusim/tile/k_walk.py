"""The order of an implicit GEMM's k tiles: the filter position and the channels that each of them sums."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from gpusim.arrays import IntArray
from gpusim.tile.extents import ConvOperator, ConvShape, ceil_div


class Position(NamedTuple):
    """
    The position of fetches on a walk. All arrays have the shape of the fetches' numbers.

    Attributes:
        interval: Interval of the summed extent, counted within the split-K slice.
        place: Number of the filter position in the order of the walk.
        row, column: The filter position, along R and along S.
    """

    interval: IntArray
    place: IntArray
    row: IntArray
    column: IntArray


class Steps(NamedTuple):
    """Numbers of steps of a walk to a next filter column, to a next filter row, and to a next interval."""

    to_column: IntArray
    to_row: IntArray
    to_interval: IntArray


@dataclass(frozen=True, slots=True)
class KWalk:
    """
    The walk of an implicit GEMM over K: S first, then R, then the next interval of the summed extent.

    A k tile is one filter position and one interval, which is as long as the tile's K. The split-K slices take the
    intervals in turn, so all slices have equally many. The walk masks no fetch past the last k tile: the interval of
    such a fetch lies beyond the summed extent.

    Attributes:
        rows, columns: Filter positions along R and S that are part of K; 1 each if none are.
        summed: Extent that is summed at each filter position, in elements.
        tile_k: K of the threadblock tile, in elements.
        slices: Number of split-K slices.

    Not modelled: grouped convolution, fixed and few channels, strided dgrad.

    Source: CUTLASS include/cutlass/conv/threadblock/conv2d_*_tile_access_iterator_*.h, ``advance``;
    include/cutlass/conv/conv2d_problem_size.h, implicit_gemm_k_iterations; golden swizzle_conv_tiled_shapes.json and
    the headers of gmem_fprop_*.json.
    """

    rows: int
    columns: int
    summed: int
    tile_k: int
    slices: int = 1

    @property
    def positions(self) -> int:
        """Number of filter positions, which are walked once for each interval."""
        return self.rows * self.columns

    @property
    def k_tiles(self) -> int:
        """Number of k tiles of one split-K slice. A ragged extent costs a whole tile at every filter position."""
        return self.positions * ceil_div(ceil_div(self.summed, self.slices), self.tile_k)

    def at(self, number: npt.ArrayLike) -> Position:
        """Return where fetch ``number`` is on the walk."""
        interval, place = np.divmod(np.asarray(number, dtype=np.int64), self.positions)
        return Position(interval, place, *np.divmod(place, self.columns))

    def steps(self, number: npt.ArrayLike) -> Steps:
        """Return the steps from fetch 0 to fetch ``number``: each of the ``number`` steps is exactly one of three."""
        steps = np.asarray(number, dtype=np.int64)
        to_interval = steps // self.positions
        to_row = steps // self.columns - to_interval
        return Steps(steps - to_row - to_interval, to_row, to_interval)

    def interval_of(self, interval: IntArray, slice_: IntArray) -> IntArray:
        """Return the number, over all slices, of an interval that is counted within its slice."""
        return slice_ + interval * self.slices

    def begin(self, number: npt.ArrayLike, slice_: IntArray) -> IntArray:
        """Return the first summed index of fetch ``number`` in a split-K slice. The two broadcast."""
        return self.interval_of(self.at(number).interval, slice_) * self.tile_k

    def inside(self, begin: IntArray) -> IntArray:
        """Return how many of the summed indices of a k tile exist, given its first: 0 to ``tile_k``."""
        return np.clip(self.summed - begin, 0, self.tile_k)

    @property
    def slice_of_summed(self) -> IntArray:
        """The split-K slice that sums each index of the summed extent."""
        return (np.arange(self.summed, dtype=np.int64) // self.tile_k) % self.slices


def implicit_gemm_walk(shape: ConvShape, operator: ConvOperator, tile_k: int) -> KWalk:
    """
    Return the walk of one convolution operator.

    At each filter position fprop sums input channels, and dgrad filters. Wgrad sums output pixels: its filter positions
    are part of GEMM N.

    Args:
        shape: The convolution.
        operator: fprop, dgrad or wgrad.
        tile_k: K of the threadblock tile, in elements.
    """
    match operator:
        case "fprop":
            return KWalk(shape.r, shape.s, shape.c, tile_k, shape.split_k_slices)
        case "dgrad":
            return KWalk(shape.r, shape.s, shape.k, tile_k, shape.split_k_slices)
        case "wgrad":
            return KWalk(1, 1, shape.n * shape.p * shape.q, tile_k, shape.split_k_slices)
