"""The grid of a launch, and the map from blockIdx to the output tile a CTA computes (tile m, tile n, split-K slice)."""

import re
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from gpusim.arrays import IntArray
from gpusim.tile.extents import GemmExtents, ceil_div


class TiledShape(NamedTuple):
    """Number of threadblock tiles along M and N, and of split-K slices."""

    m: int
    n: int
    slices: int


@dataclass(frozen=True, slots=True)
class IdentitySwizzle:
    """
    GemmIdentityThreadblockSwizzle<width> and its split-K twin.

    Consecutive blocks in x walk ``2**log_tile`` tiles along N, at most ``width``, before the next tile along M.
    Concurrent CTAs thus share rows of A and columns of B in L2. blockIdx z is the split-K slice.

    Source: CUTLASS include/cutlass/gemm/threadblock/threadblock_swizzle.h; golden swizzle_identity*.json,
    swizzle_splitk_identity1_k3.json.
    """

    width: int

    def log_tile(self, tiled: TiledShape) -> int:
        """
        Return log2 of the number of tiles side by side: the largest allowed number that leaves few blocks without a
        tile.
        """
        if self.width >= 8 and tiled.n >= 6:
            return 3
        if self.width >= 4 and tiled.n >= 3:
            return 2
        return 1 if self.width >= 2 and tiled.n >= 2 else 0

    def grid(self, tiled: TiledShape) -> tuple[int, int, int]:
        """Return the launch's gridDim (x, y, z)."""
        side = 1 << self.log_tile(tiled)
        return tiled.m * side, ceil_div(tiled.n, side), tiled.slices

    def tile_of_block(
        self, tiled: TiledShape, x: npt.ArrayLike, y: npt.ArrayLike, z: npt.ArrayLike
    ) -> tuple[IntArray, IntArray, IntArray]:
        """Return tile m, tile n and slice of blockIdx (x, y, z), broadcasting. Tiles outside ``tiled`` have no work."""
        x, y, z = np.broadcast_arrays(*(np.asarray(index, dtype=np.int64) for index in (x, y, z)))
        log_tile = self.log_tile(tiled)
        return x >> log_tile, (y << log_tile) + (x & ((1 << log_tile) - 1)), z


@dataclass(frozen=True, slots=True)
class HorizontalSwizzle:
    """
    GemmHorizontalThreadblockSwizzle, in which blockIdx x walks N and y walks M.

    Source: CUTLASS include/cutlass/gemm/threadblock/threadblock_swizzle.h; golden swizzle_horizontal.json.
    """

    def log_tile(self, tiled: TiledShape) -> int:  # noqa: ARG002 - one interface for both swizzles
        """Return 0: one tile."""
        return 0

    def grid(self, tiled: TiledShape) -> tuple[int, int, int]:
        """Return the launch's gridDim (x, y, z)."""
        return tiled.n, tiled.m, tiled.slices

    def tile_of_block(
        self,
        tiled: TiledShape,  # noqa: ARG002 - one interface for both swizzles
        x: npt.ArrayLike,
        y: npt.ArrayLike,
        z: npt.ArrayLike,
    ) -> tuple[IntArray, IntArray, IntArray]:
        """Return tile m, tile n and slice of blockIdx (x, y, z), broadcasting."""
        x, y, z = np.broadcast_arrays(*(np.asarray(index, dtype=np.int64) for index in (x, y, z)))
        return y, x, z


ThreadblockSwizzle: TypeAlias = IdentitySwizzle | HorizontalSwizzle


def threadblock_swizzle(name: str) -> ThreadblockSwizzle:
    """
    Return the swizzle a scenario names: ``identity<1|2|4|8>`` or ``horizontal``.

    Raises:
        ValueError: The name is neither.
    """
    if name == "horizontal":
        return HorizontalSwizzle()
    match = re.fullmatch(r"identity<([1248])>", name)
    if match is None:
        raise ValueError(f"threadblock_swizzle must be identity<1|2|4|8> or horizontal, got {name!r}")
    return IdentitySwizzle(int(match[1]))


def tile_counts(extents: GemmExtents, threadblock: tuple[int, int, int], slices: int) -> TiledShape:
    """Return the number of tiles that cover the extents. The last tile along a dimension may be ragged."""
    return TiledShape(ceil_div(extents.m, threadblock[0]), ceil_div(extents.n, threadblock[1]), slices)


@dataclass(frozen=True, slots=True)
class CtaGrid:
    """
    The grid of one launch, and the tile of every CTA.

    Attributes:
        swizzle: Map from block to tile.
        tiled: Threadblock tiles along M and N, and split-K slices.
    """

    swizzle: ThreadblockSwizzle
    tiled: TiledShape

    @property
    def dim(self) -> tuple[int, int, int]:
        """The launch's gridDim (x, y, z)."""
        return self.swizzle.grid(self.tiled)

    def tile_of_block(self, bx: npt.ArrayLike, by: npt.ArrayLike, bz: npt.ArrayLike) -> IntArray:
        """
        Return (tile m, tile n, slice) of blockIdx (bx, by, bz), with -1 in all three if the block has no tile.

        Returns:
            Shape [*blocks, 3], with the block indices broadcast against each other.
        """
        tile = np.stack(self.swizzle.tile_of_block(self.tiled, bx, by, bz), axis=-1)
        inside = (tile < np.array(self.tiled)).all(axis=-1, keepdims=True)
        return np.where(inside, tile, -1)

    def cta_tiles(self) -> IntArray:
        """
        Return (tile m, tile n, slice) of every CTA in launch order, blockIdx x fastest. Shape [ctas, 3].

        Blocks without a tile, which exit at once, have -1 in all three.
        """
        x, y, z = self.dim
        bz, by, bx = np.unravel_index(np.arange(x * y * z, dtype=np.int64), (z, y, x))
        return self.tile_of_block(bx, by, bz)
