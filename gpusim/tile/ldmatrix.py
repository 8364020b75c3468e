"""The loads of each warp's fragments, ldmatrix or plain, and the address of every lane; knows no times."""

from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from gpusim.arrays import IntArray
from gpusim.element_types import Shape
from gpusim.errors import BadInput
from gpusim.layout.congruous import WORD_BITS
from gpusim.layout.crosswise import LINE_VECTORS, PARTITION, CrosswiseLayout
from gpusim.tile.mma import MATRIX, TRANSPOSED_BITS, fragment_map, ldmatrix_sources, warp_coordinates
from gpusim.tile.operand import SIDES, OperandTile, Side
from gpusim.units import VECTOR_BITS, WARP_SIZE

MAX_MATRICES: Final = 4
"""Matrices of ldmatrix.x4, the widest ldmatrix."""

ROW_BYTES: Final = VECTOR_BITS // 8
"""Bytes of one row of an 8x8 matrix of 16-bit pieces."""


@dataclass(frozen=True, slots=True)
class FragmentLoads:
    """
    The instructions that load one warp's fragment of one k group.

    Attributes:
        matrices_k: Matrices (8 rows of 16 bytes) of one instruction along K; 1 for a plain load.
        matrices_strided: Matrices of one instruction along M or N.
        instructions: Number of instructions for the fragment.
        trans: Whether the matrices are transposed on the way (16-bit operands contiguous along M or N).
        words: True: each instruction is a plain 32-bit load of one register (32-bit operands contiguous along M or N,
            which ldmatrix cannot transpose). False: an ldmatrix.
    """

    matrices_k: int
    matrices_strided: int
    instructions: int
    trans: bool
    words: bool = False

    @property
    def matrices(self) -> int:
        """N of ldmatrix.xN, the 32-bit registers that one instruction fills."""
        return self.matrices_k * self.matrices_strided

    @property
    def strided(self) -> int:
        """Rows of the operand, along M or N, that one ldmatrix loads."""
        return self.matrices_strided * MATRIX

    @property
    def kind(self) -> str:
        """Name of the instruction in the golden files."""
        if self.words:
            return "frag_word32"
        return f"ldmatrix{'.trans' if self.trans else ''}.x{self.matrices}"


def crosswise_fragment_loads(warp_strided: int, instruction_k: int, bits: int) -> FragmentLoads:
    """
    Choose the loads of a K-contiguous operand: each ldmatrix loads up to four matrices of the warp tile.

    Args:
        warp_strided: Warp tile extent along M (operand A) or N (operand B).
        instruction_k: K of the mma.sync shape.
        bits: Element width.

    Raises:
        BadInput: The warp tile is not whole matrices, or not a whole number of instructions (CUTLASS would leave the
            rest of the fragment unloaded).

    Source: CUTLASS include/cutlass/gemm/warp/mma_tensor_op_tile_iterator.h, Policy of the crosswise iterator.
    """
    return _ldmatrix_loads(warp_strided, instruction_k, VECTOR_BITS // bits, bits)


def congruous_fragment_loads(warp_extent: int, instruction: Shape, side: Side, bits: int) -> FragmentLoads:
    """
    Choose the loads of an operand contiguous along M or N.

    For 16-bit elements, an ldmatrix.trans transposes 8 rows along K by 8 elements along M or N into an mma.sync
    operand. For 32-bit elements, a lane loads each register of its fragment separately, in register order.

    Args:
        warp_extent: Warp tile extent along M (operand A) or N (operand B).
        instruction: mma.sync shape.
        side: Side of the operand.
        bits: Element width.

    Raises:
        BadInput: The element width has no such loads, or the warp tile is not a whole number of instructions.

    Source: CUTLASS include/cutlass/gemm/warp/mma_tensor_op_tile_iterator.h (Policy of the congruous iterator), and
    mma_tensor_op_tile_iterator_sm80.h (tf32); golden ``warp_read_*_nt_*``, ``warp_read_*_nn_*``.
    """
    if bits == TRANSPOSED_BITS:
        return replace(_ldmatrix_loads(warp_extent, instruction[2], MATRIX, bits), trans=True)
    if bits != WORD_BITS:
        raise BadInput(
            f"operand {side} must be contiguous along K: ldmatrix.trans moves {TRANSPOSED_BITS}-bit elements, plain"
            f" loads {WORD_BITS}-bit ones, and neither brings {bits}-bit ones together along K"
        )
    tile = instruction[SIDES.index(side)]
    if warp_extent % tile:
        raise BadInput(f"a warp tile extent must be a multiple of the instruction's {tile}, got {warp_extent}")
    registers = tile * instruction[2] // WARP_SIZE
    return FragmentLoads(1, 1, warp_extent // tile * registers, trans=False, words=True)


def _ldmatrix_loads(warp_strided: int, instruction_k: int, matrix_k: int, bits: int) -> FragmentLoads:
    """Choose the ldmatrix instructions for matrices that are ``matrix_k`` elements deep along K."""
    matrices_k = instruction_k // matrix_k
    if not 1 <= matrices_k <= MAX_MATRICES or warp_strided % MATRIX:
        raise BadInput(
            f"a warp tile of {warp_strided} rows and an instruction K of {instruction_k} {bits}-bit elements"
            f" is not made of 8x8 matrices; the extent must be a multiple of {MATRIX}"
        )
    available = warp_strided // MATRIX
    matrices_strided = min(available, MAX_MATRICES // matrices_k)
    if available % matrices_strided:
        raise BadInput(
            f"a warp tile extent of {warp_strided} is not a whole number of ldmatrix.x{matrices_k * matrices_strided};"
            f" it must be a multiple of {matrices_strided * MATRIX}"
        )
    return FragmentLoads(matrices_k, matrices_strided, available // matrices_strided, trans=False)


def fragment_loads(operand: OperandTile) -> FragmentLoads:
    """
    Choose the instructions that load the fragment of one warp and one k group.

    Raises:
        BadInput: The warp tile is not made of whole instructions, or no load exists for this width and contiguity.
    """
    instruction = operand.tiling.instruction
    if operand.k_contiguous:
        return crosswise_fragment_loads(operand.warp_extent, instruction[2], operand.bits)
    return congruous_fragment_loads(operand.warp_extent, instruction, operand.side, operand.bits)


def lane_rows(loads: FragmentLoads, side: Side) -> tuple[IntArray, IntArray]:
    """
    Return the matrix row that each lane addresses: lanes 8q..8q+7 supply the rows of matrix q.

    The matrices of A follow one another along M first, those of B along K first. The registers are then in the order of
    mma.sync. Lanes past the last matrix of an x1 or x2 continue the same arithmetic (sm_75, which folds them back, is
    not modelled).

    Returns:
        16-byte vector along K and row along M or N, each of shape [32], relative to the instruction's first row. For a
        transposed load: the row along K in place of the vector, and the vector's first element in place of the row.
    """
    lane = np.arange(WARP_SIZE, dtype=np.int64)
    matrix, row = np.divmod(lane, MATRIX)
    if loads.matrices_k == 1:
        along_k, along_strided = np.zeros_like(matrix), matrix
    elif side == "a":
        along_k, along_strided = matrix // 2, matrix % 2
    else:
        along_k, along_strided = matrix % 2, matrix // 2
    if loads.trans:
        return along_k * MATRIX + row, along_strided * MATRIX
    return along_k, along_strided * MATRIX + row


def _warp_origins(operand: OperandTile) -> tuple[IntArray, IntArray]:
    """Return each warp's row along M or N (elements) and its partition along K, each of shape [warps]."""
    coordinates = warp_coordinates(operand.tiling.warps)
    return coordinates[:, operand.axis] * operand.warp_extent, coordinates[:, 2]


def _lanes_of_instructions(operand: OperandTile) -> tuple[IntArray, IntArray]:
    """
    Return the elements that each lane addresses in a warp's first k group, along K and along M or N.

    Each of the two has shape [instructions, 32].
    """
    loads = fragment_loads(operand)
    index = np.arange(loads.instructions, dtype=np.int64)[:, None]
    if not loads.words:
        along_k, row = lane_rows(loads, operand.side)
        k = along_k if loads.trans else along_k * (VECTOR_BITS // operand.bits)
        return np.broadcast_to(k, (loads.instructions, WARP_SIZE)), index * loads.strided + row
    held = fragment_map(operand.tiling.instruction, operand.side, operand.bits)
    mn, k = (held[..., 0], held[..., 1]) if operand.side == "a" else (held[..., 1], held[..., 0])
    which, register = np.divmod(index[:, 0], held.shape[1])
    return k[:, register].T, (which * operand.instruction_extent + mn[:, register]).T


def instruction_steps(operand: OperandTile) -> tuple[IntArray, IntArray]:
    """
    Return the distance in elements of each fragment load of a k group from the first load, the same in every lane.

    Returns:
        The distances along K, and those along M or N, each of shape [instructions].
    """
    k, mn = _lanes_of_instructions(operand)
    return k[:, 0] - k[0, 0], mn[:, 0] - mn[0, 0]


def ldmatrix_offsets(operand: OperandTile, stage: int) -> IntArray:
    """
    Return the address each lane supplies to each fragment load of one k tile, for any shared layout.

    An ldmatrix takes the address of a 16-byte row, which runs along the operand's contiguous dimension. A plain load
    takes the address of the lane's own word.

    Returns:
        Element offsets from the base of the operand's whole shared allocation,
        shape [warps, k_groups, instructions, 32]. ``warp_coordinates`` numbers the warps.

    Source: golden ``warp_read_*``.
    """
    tiling, layout = operand.tiling, operand.shared
    lane_k, lane_mn = _lanes_of_instructions(operand)
    first_row, partition = _warp_origins(operand)
    k_group = partition[:, None] * tiling.k_groups + np.arange(tiling.k_groups, dtype=np.int64)
    k = k_group[:, :, None, None] * tiling.instruction[2] + lane_k
    mn = first_row[:, None, None, None] + lane_mn
    return layout.offset(k, mn, stage) if operand.k_contiguous else layout.offset(mn, k, stage)


def delivered_offsets(row_offsets: IntArray, loads: FragmentLoads, bits: int) -> IntArray:
    """
    Return the shared-memory element that each register element receives from a fragment load.

    Args:
        row_offsets: Element offset that each lane supplies, shape [..., 32].
        loads: The instructions of the fragment.
        bits: Element width.

    Returns:
        Element offsets, shape [..., 32, registers, elements of a register].

    Source: PTX ISA, ldmatrix.
    """
    if loads.words:
        return row_offsets[..., None, None]
    row, element = ldmatrix_sources(bits, trans=loads.trans)
    supplier = row[:, None] + MATRIX * np.arange(loads.matrices, dtype=np.int64)[:, None]
    return row_offsets[..., supplier] + element[:, None]


def fragment_offsets(operand: OperandTile, stage: int) -> IntArray:
    """
    Return the shared-memory element that each element of each mma.sync fragment is loaded from.

    Returns:
        Element offsets, shape [warps, k_groups, tiles, 32, elements]. The tiles are along M or N, and the elements in
        the register order of ``mma.fragment_map``.
    """
    delivered = delivered_offsets(ldmatrix_offsets(operand, stage), fragment_loads(operand), operand.bits)
    warps, k_groups, instructions, lanes = delivered.shape[:4]
    registers = delivered.reshape(warps, k_groups, instructions, lanes, -1).swapaxes(2, 3)
    elements = operand.instruction_extent * operand.tiling.instruction[2] // WARP_SIZE
    return registers.reshape(warps, k_groups, lanes, -1, elements).swapaxes(2, 3)


class CrosswiseWarpIterator:
    """
    CUTLASS's warp iterator, which computes the row addresses with one XOR per k group and one addition per tile.

    The byte offset of a lane inside its 128-byte line carries the swizzle. Moving on by one k group of c vectors is an
    XOR with c, 3c or 7c vectors (fp16 crosswise 64 with m16n8k16: ^2, ^6, ^2 vectors). Moving to the next tile adds a
    line. One object covers all warps and lanes of the CTA.

    Attributes:
        k_groups: k groups of one warp in one tile.

    Raises:
        BadInput: The layout packs four or more rows to a line, which no 16-bit kernel uses, or a stage is wider than
            one line.

    Source: CUTLASS include/cutlass/gemm/warp/mma_tensor_op_tile_iterator.h.
    """

    def __init__(
        self,
        layout: CrosswiseLayout,
        loads: FragmentLoads,
        side: Side,
        *,
        first_row: IntArray,
        partition: IntArray,
        partitions: int,
    ) -> None:
        """
        Point at the first k group of stage 0.

        Args:
            layout: Shared layout of the operand.
            loads: ldmatrix instructions of one fragment.
            side: Side of the operand, which decides the order of the matrices.
            first_row: First row of each warp along M or N, shape [warps].
            partition: Partition of the tile's K that each warp owns, shape [warps].
            partitions: Warps along K.
        """
        if layout.factor > 2 or layout.contiguous != layout.crosswise:
            raise BadInput(
                "the XOR walk knows stages of one 128-byte line that holds one or two rows,"
                f" got {layout.contiguous} elements by {layout.crosswise}"
            )
        self._factor = layout.factor
        self._bits = layout.element_bits
        self._loads = loads
        self._line_stride = layout.stride * layout.factor * layout.element_bits // VECTOR_BITS
        self._groups_per_tile = LINE_VECTORS // layout.factor // loads.matrices_k
        self.k_groups = self._groups_per_tile // partitions
        self._k_group = 0

        vector, row = lane_rows(loads, side)
        row_in_matrix = np.arange(WARP_SIZE, dtype=np.int64) % MATRIX
        half_line = row_in_matrix // PARTITION if layout.factor == 1 else row_in_matrix % layout.factor
        in_line = half_line * PARTITION + (vector ^ row_in_matrix // layout.factor % PARTITION)
        warp_step = partition * self.k_groups * loads.matrices_k
        lines = row // layout.factor * self._line_stride
        self._byte_offset = ((in_line + lines) * ROW_BYTES) ^ (warp_step * ROW_BYTES)[:, None]
        self._pointer = first_row // layout.factor * self._line_stride

    def load(self) -> IntArray:
        """Return the element offsets of the rows of the current k group. Shape [warps, instructions, 32]."""
        instruction = np.arange(self._loads.instructions, dtype=np.int64) * self._loads.strided
        lines = self._pointer[:, None] + instruction // self._factor * self._line_stride
        return (lines[:, :, None] * ROW_BYTES + self._byte_offset[:, None, :]) * 8 // self._bits

    def increment(self) -> None:
        """Move to the next k group, or after the last one to the next tile."""
        if self.k_groups > 1:
            group = self._k_group & (self.k_groups // 2 - 1)
            self._byte_offset = self._byte_offset ^ ((group ^ group + 1) * self._loads.matrices_k * ROW_BYTES)
        self._k_group += 1
        if self._k_group == self.k_groups:
            self._k_group = 0
            self.add_tile_offset(1)

    def add_tile_offset(self, tiles: int) -> None:
        """Move by whole tiles; ``-stages`` returns from the end of the ring to its beginning."""
        self._pointer = self._pointer + tiles * LINE_VECTORS


def xor_walk(operand: OperandTile, k_tiles: int) -> IntArray:
    """
    Return the row addresses of ``k_tiles`` consecutive tiles, as a multistage mainloop moves CUTLASS's warp iterator.

    Returns:
        Element offsets, shape [k_tiles, warps, k_groups, instructions, 32].

    Raises:
        BadInput: The operand's layout is not crosswise.
    """
    layout = operand.shared
    if not isinstance(layout, CrosswiseLayout):
        raise BadInput(f"kernel.shared.{operand.name}: the XOR walk exists for crosswise only, got {operand.layout!r}")
    first_row, partition = _warp_origins(operand)
    iterator = CrosswiseWarpIterator(
        layout,
        fragment_loads(operand),
        operand.side,
        first_row=first_row,
        partition=partition,
        partitions=operand.tiling.warps[2],
    )
    tiles = []
    for tile in range(k_tiles):
        groups = []
        for _ in range(iterator.k_groups):
            groups.append(iterator.load())
            iterator.increment()
        tiles.append(np.stack(groups, axis=1))
        if (tile + 1) % layout.stages == 0:
            iterator.add_tile_offset(-layout.stages)
    return np.stack(tiles)
