"""What mma.sync and ldmatrix fix: which lane and register holds which element, and the order of a warp's instructions.

It knows instruction shapes and warp tiles only; where the elements lie in memory it does not.
"""

from typing import Final, Literal, TypeAlias

import numpy as np

from gpusim.arrays import IntArray
from gpusim.errors import BadInput
from gpusim.tile.thread_map import WARP_SIZE

__all__ = [
    "MATRIX",
    "PAIR",
    "SHAPES",
    "WARP_SIZE",
    "MmaOperand",
    "Shape",
    "accumulator_map",
    "fragment_map",
    "ldmatrix_sources",
    "mma_order",
    "warp_coordinates",
]

MATRIX: Final = 8
"""Rows of the 8x8 matrices that ldmatrix moves and the fragments of 16-bit operands consist of."""

PAIR: Final = 2
"""Consecutive elements of a matrix row that one lane holds."""

MmaOperand: TypeAlias = Literal["a", "b", "c"]
Shape: TypeAlias = tuple[int, int, int]

SHAPES: Final = ((16, 8, 16), (16, 8, 8))
"""mma.sync shapes (M, N, K) of 16-bit operands that are laid out by the rule below."""


def _matrix_pairs() -> IntArray:
    """(row, column) in an 8x8 matrix of the two elements of each lane: [32, 2, 2]."""
    row, quad_lane = np.divmod(np.arange(WARP_SIZE, dtype=np.int64), MATRIX // PAIR)
    columns = quad_lane[:, None] * PAIR + np.arange(PAIR, dtype=np.int64)
    return np.stack([np.broadcast_to(row[:, None], columns.shape), columns], axis=-1)


def fragment_map(instruction: Shape, operand: MmaOperand) -> IntArray:
    """
    The element of its operand that each register element of each lane holds.

    A fragment is a sequence of 8x8 matrices, each held as ldmatrix delivers it: lane i has elements 2(i mod 4) and
    2(i mod 4) + 1 of row i / 4. The matrices of A follow one another along M first, then K; those of B (rows along N)
    along K; those of C and D along M.

    Args:
        instruction: mma.sync shape (M, N, K) of 16-bit operands: one of ``SHAPES``.
        operand: "a" (M x K), "b" (K x N) or "c" (M x N, also the result).

    Returns:
        (row, column) of each element in register order, shape [32, elements, 2].

    Raises:
        BadInput: The shape is none of ``SHAPES``.

    Source: PTX ISA, "Matrix Fragments for mma.m16n8k16 with floating point type" and "... mma.m16n8k8 ...".
    """
    if instruction not in SHAPES:
        raise BadInput(f"mma.sync shape of 16-bit operands must be one of {SHAPES}, got {instruction}")
    rows, _, depth = instruction
    row_blocks, k_blocks = rows // MATRIX, depth // MATRIX
    pairs = _matrix_pairs()
    if operand == "b":
        # A matrix of B has its rows along N: transposed into (k, n).
        pairs = pairs[..., ::-1]
        corners = [(k, 0) for k in range(k_blocks)]
    elif operand == "a":
        corners = [(row, k) for k in range(k_blocks) for row in range(row_blocks)]
    else:
        corners = [(row, 0) for row in range(row_blocks)]
    return np.concatenate([pairs + np.array(corner, dtype=np.int64) * MATRIX for corner in corners], axis=1)


def ldmatrix_sources() -> tuple[IntArray, IntArray]:
    """
    Whose address and which elements each lane's registers come from, in one matrix of an ldmatrix (not transposed).

    Returns:
        The row of the matrix, shape [32], and the two elements in that row, shape [32, 2]. The row's address is the one
        that lane ``8 * matrix + row`` supplied.

    Source: PTX ISA, ldmatrix.
    """
    pairs = _matrix_pairs()
    return pairs[:, 0, 0], pairs[:, :, 1]


def mma_order(tiles_m: int, tiles_n: int) -> IntArray:
    """
    Order in which a warp-level MMA issues its instruction tiles: along N, turning back on odd rows of M.

    Returns:
        (m, n) of each instruction, shape [tiles_m * tiles_n, 2].

    Source: CUTLASS include/cutlass/gemm/warp/mma_tensor_op.h (sm_80 and later); golden ``trace_*``,
    ``mma_order_first_group_m_n``.
    """
    m, n = np.divmod(np.arange(tiles_m * tiles_n, dtype=np.int64), tiles_n)
    return np.stack([m, np.where(m % 2 == 1, tiles_n - 1 - n, n)], axis=-1)


def accumulator_map(warp_m: int, warp_n: int, instruction: Shape) -> IntArray:
    """
    The place in the warp tile of every accumulator of every lane.

    Instruction tiles follow one another along M first: the element axis is [tiles_n, tiles_m, elements of one tile].

    Returns:
        (row, column) in the warp tile, shape [32, elements, 2].

    Source: golden ``epilogue_*``, ``accumulator_row_col_per_lane``.
    """
    tile_m, tile_n, _ = instruction
    fragment = fragment_map(instruction, "c")
    n, m = np.divmod(np.arange(warp_m // tile_m * (warp_n // tile_n), dtype=np.int64), warp_m // tile_m)
    corners = np.stack([m * tile_m, n * tile_n], axis=-1)
    return (corners[None, :, None, :] + fragment[:, None, :, :]).reshape(WARP_SIZE, -1, 2)


def warp_coordinates(warps: Shape) -> IntArray:
    """
    The warp tile each warp of a CTA owns: M fastest, then N, then K.

    Args:
        warps: Warps along M, N and K.

    Returns:
        (m, n, k) of each warp, shape [warps, 3].

    Source: CUTLASS include/cutlass/gemm/threadblock/mma_multistage.h; golden ``warp_read_*``, ``warp_numbering``.
    """
    count_m, count_n, count_k = warps
    warp = np.arange(count_m * count_n * count_k, dtype=np.int64)
    return np.stack([warp % count_m, warp // count_m % count_n, warp // (count_m * count_n)], axis=-1)
