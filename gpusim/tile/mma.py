"""
Fixed facts of mma.sync and ldmatrix: the element in each register of each lane, and a warp's instruction order.

This module knows instruction shapes and warp tiles only, not where the elements lie in memory.
"""

from typing import Final, Literal, TypeAlias

import numpy as np

from gpusim.arrays import IntArray
from gpusim.element_types import MMA_SHAPES, Shape, element_bits
from gpusim.errors import BadInput
from gpusim.units import VECTOR_BITS, WARP_SIZE

MATRIX: Final = 8
"""Rows of an 8x8 matrix of 16-bit pieces, the unit that ldmatrix moves and that operand fragments are made of."""

PAIR: Final = 2
"""Neighbouring accumulators of a row that one lane holds."""

REGISTER_BITS: Final = 32

TRANSPOSED_BITS: Final = 16
"""Element width that ldmatrix.trans can transpose."""

MmaOperand: TypeAlias = Literal["a", "b", "c"]

SHAPES: Final = {
    bits: tuple(
        dict.fromkeys(shape for (ab, _), shapes in MMA_SHAPES.items() if element_bits(ab) == bits for shape in shapes)
    )
    for bits in (32, 16, 8, 4)
}
"""The mma.sync shapes (M, N, K) for each width of operand elements in bits."""


def matrix_columns(bits: int) -> int:
    """Return the elements in one row of an 8x8 matrix of 16-bit pieces, which is 16 bytes long."""
    return VECTOR_BITS // bits


def fragment_registers(instruction: Shape, operand: Literal["a", "b"], bits: int) -> int:
    """Return the 32-bit registers of one lane's fragment, which is one register for each 8x8 matrix."""
    rows = instruction[0] if operand == "a" else instruction[1]
    return rows * instruction[2] * bits // REGISTER_BITS // WARP_SIZE


def _matrix(elements: int) -> IntArray:
    """
    Return (row, column) of each lane's elements in a matrix of 8 rows, of which a lane holds a quarter of one row.

    Shape [32, elements, 2].
    """
    row, lane_in_quad = np.divmod(np.arange(WARP_SIZE, dtype=np.int64), WARP_SIZE // MATRIX)
    columns = lane_in_quad[:, None] * elements + np.arange(elements, dtype=np.int64)
    return np.stack([np.broadcast_to(row[:, None], columns.shape), columns], axis=-1)


def accumulator_fragment(instruction: Shape) -> IntArray:
    """Return ``fragment_map`` of C and D, which does not depend on the operand type. Shape [32, M * N / 32, 2]."""
    rows = range(0, instruction[0], MATRIX)
    return np.concatenate([_matrix(PAIR) + np.array((row, 0), dtype=np.int64) for row in rows], axis=1)


def fragment_map(instruction: Shape, operand: MmaOperand, bits: int = 16) -> IntArray:
    """
    Return which element of an operand each register element of each lane holds.

    One rule serves all types. A fragment of A or B is a sequence of 8x8 matrices of 16-bit pieces. Each matrix takes
    one 32-bit register per lane, as ldmatrix delivers it: lane i holds quarter i mod 4 of row i / 4, whatever elements
    lie in it. The matrices of A follow one another along M first, then K. Those of B have their rows along N and follow
    one another along K. C and D are 8x8 matrices of 32-bit elements, two neighbours to a lane, one after another along
    M; 16-bit accumulators have the same places, two to a register.

    Args:
        instruction: mma.sync shape (M, N, K): one of ``SHAPES[bits]``.
        operand: "a" (M x K), "b" (K x N) or "c" (M x N, also the result).
        bits: Element width of A and B.

    Returns:
        (row, column) of each element in register order; elements under 16 bits start at the lowest bits of a register.
        Shape [32, elements, 2].

    Raises:
        BadInput: The shape is none of ``SHAPES[bits]``.

    Source: PTX ISA, "Matrix Fragments for mma.m16n8k16 with floating point type" and the sections beside it on every
    other shape.
    """
    shapes = SHAPES.get(bits, ())
    if instruction not in shapes:
        raise BadInput(f"mma.sync shape of {bits}-bit operands must be one of {shapes}, got {instruction}")
    rows, _, depth = instruction
    if operand == "c":
        return accumulator_fragment(instruction)
    k_columns = matrix_columns(bits)
    quarter = _matrix(REGISTER_BITS // bits)
    if operand == "b":
        # A matrix of B has its rows along N, so it is transposed into (k, n).
        quarter = quarter[..., ::-1]
        corners = [(k, 0) for k in range(0, depth, k_columns)]
    else:
        corners = [(row, k) for k in range(0, depth, k_columns) for row in range(0, rows, MATRIX)]
    return np.concatenate([quarter + np.array(corner, dtype=np.int64) for corner in corners], axis=1)


def ldmatrix_sources(bits: int = 16, *, trans: bool = False) -> tuple[IntArray, IntArray]:
    """
    Return which row and which elements of one ldmatrix matrix end up in each lane's register.

    Args:
        bits: Element width. ldmatrix moves 32 bits to each lane, whatever they mean.
        trans: Whether it is ldmatrix.trans, which swaps rows and columns of 16-bit elements.

    Returns:
        The row of the matrix and the element in that row, each of shape [32, 32 / bits]. The row's address is the one
        that lane ``8 * matrix + row`` supplied.

    Raises:
        BadInput: ``trans`` for elements that are not 16 bits wide.

    Source: PTX ISA, ldmatrix.
    """
    if trans and bits != TRANSPOSED_BITS:
        raise BadInput(f"ldmatrix.trans moves elements of {TRANSPOSED_BITS} bits, got {bits}")
    quarter = _matrix(REGISTER_BITS // bits)
    row, element = quarter[..., 0], quarter[..., 1]
    return (element, row) if trans else (row, element)


def mma_order(tiles_m: int, tiles_n: int, *, vertical: bool = False) -> IntArray:
    """
    Return the order in which a warp-level MMA issues its instruction tiles: along N, turning back on odd rows of M.

    Args:
        tiles_m: Instruction tiles of the warp tile along M.
        tiles_n: Instruction tiles of the warp tile along N.
        vertical: Walk along M instead, turning back on odd columns of N (``element_types.walks_vertically``).

    Returns:
        (m, n) of each instruction, shape [tiles_m * tiles_n, 2].

    Source: CUTLASS include/cutlass/gemm/warp/mma_tensor_op.h; golden ``trace_*``, ``mma_order_first_group_m_n``,
        recorded
    on the sm_80 path.
    """
    if vertical:
        return mma_order(tiles_n, tiles_m)[:, ::-1]
    m, n = np.divmod(np.arange(tiles_m * tiles_n, dtype=np.int64), tiles_n)
    return np.stack([m, np.where(m % 2 == 1, tiles_n - 1 - n, n)], axis=-1)


def accumulator_map(warp_m: int, warp_n: int, instruction: Shape) -> IntArray:
    """
    Return the position in the warp tile of every accumulator of every lane.

    Instruction tiles follow one another along M first: the element axis is [tiles_n, tiles_m, elements of one tile].

    Returns:
        (row, column) in the warp tile, shape [32, elements, 2].

    Source: golden ``epilogue_*``, ``accumulator_row_col_per_lane``.
    """
    tile_m, tile_n, _ = instruction
    fragment = accumulator_fragment(instruction)
    n, m = np.divmod(np.arange(warp_m // tile_m * (warp_n // tile_n), dtype=np.int64), warp_m // tile_m)
    corners = np.stack([m * tile_m, n * tile_n], axis=-1)
    return (corners[None, :, None, :] + fragment[:, None, :, :]).reshape(WARP_SIZE, -1, 2)


def warp_coordinates(warps: Shape) -> IntArray:
    """
    Return the warp tile that each warp of a CTA owns, numbered along M fastest, then N, then K.

    Args:
        warps: Warps along M, N and K.

    Returns:
        (m, n, k) of each warp, shape [warps, 3].

    Source: CUTLASS include/cutlass/gemm/threadblock/mma_multistage.h; golden ``warp_read_*``, ``warp_numbering``.
    """
    count_m, count_n, count_k = warps
    warp = np.arange(count_m * count_n * count_k, dtype=np.int64)
    return np.stack([warp % count_m, warp // count_m % count_n, warp // (count_m * count_n)], axis=-1)
