"""The size of a problem in the tile kernel's terms: GEMM extents, and the k tiles of each split-K slice."""

from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, NamedTuple, TypeAlias

import numpy as np

from gpusim.arrays import IntArray

ConvOperator: TypeAlias = Literal["fprop", "dgrad", "wgrad"]
ConvMode: TypeAlias = Literal["cross_correlation", "convolution"]


class GemmExtents(NamedTuple):
    """M, N and K of a GEMM, in elements."""

    m: int
    n: int
    k: int


@dataclass(frozen=True, slots=True)
class ConvShape:
    """
    The shape of a 2-d convolution: activation [n, h, w, c], filter [k, r, s, c], output [n, p, q, k].

    Attributes:
        padding: Zero rows and columns before the activation (h, w).
        stride: Activation steps between neighbouring outputs (h, w).
        dilation: Activation steps between neighbouring filter positions (h, w).
        mode: ``convolution`` flips the filter; ``cross_correlation`` does not.
        split_k_slices: Threadblocks that share the K range of one output tile.
    """

    n: int
    h: int
    w: int
    c: int
    k: int
    r: int
    s: int
    p: int
    q: int
    padding: tuple[int, int]
    stride: tuple[int, int]
    dilation: tuple[int, int]
    mode: ConvMode = "cross_correlation"
    split_k_slices: int = 1


def ceil_div(numerator: int, denominator: int) -> int:
    """Return the quotient of two integers, rounded up."""
    return -(-numerator // denominator)


def implicit_gemm_extents(shape: ConvShape, operator: ConvOperator = "fprop") -> GemmExtents:
    """
    Return M, N and K of the implicit GEMM of one convolution operator.

    Source: CUTLASS include/cutlass/conv/conv2d_problem_size.h, implicit_gemm_problem_size;
    golden swizzle_conv_tiled_shapes.json.
    """
    positions = shape.r * shape.s
    match operator:
        case "fprop":
            return GemmExtents(shape.n * shape.p * shape.q, shape.k, positions * shape.c)
        case "dgrad":
            return GemmExtents(shape.n * shape.h * shape.w, shape.c, positions * shape.k)
        case "wgrad":
            return GemmExtents(shape.k, positions * shape.c, shape.n * shape.p * shape.q)


@lru_cache(maxsize=64)
def gemm_k_ranges(k: int, tile_k: int, slices: int) -> IntArray:
    """
    Return the K range (begin, end) of every split-K slice of a GEMM, in elements. Shape [slices, 2].

    Slices are whole k tiles long, so the last ones may be short or empty (begin = end = k).

    Not modelled: the rounding of the "universal" kernel and of the parallel kernel (D29).

    Source: CUTLASS include/cutlass/gemm/kernel/gemm.h; golden gmem_gemm_*.json, ``k_slices``.
    """
    length = ceil_div(ceil_div(k, tile_k), slices) * tile_k
    begin = np.arange(slices, dtype=np.int64) * length
    ranges = np.minimum(np.stack([begin, begin + length], axis=-1), k)
    ranges.flags.writeable = False  # shared by all callers
    return ranges


def gemm_k_iterations(k: int, tile_k: int, slices: int, slice_: int) -> int:
    """
    Count the k tiles of one split-K slice of a GEMM.

    Args:
        k: K of the problem.
        tile_k: K of the threadblock tile.
        slices: Number of split-K slices.
        slice_: Index of the slice, from 0. Slice 0 has the most k tiles.

    Returns:
        At least 0. CUTLASS computes a negative number for a GEMM slice that begins more than one tile past K; like 0,
        it means that the slice has nothing to sum.
    """
    begin, end = gemm_k_ranges(k, tile_k, slices)[slice_].tolist()
    return ceil_div(end - begin, tile_k)
