"""
The path of a CTA's accumulators to the output: shared memory, wide rows, predicates; knows no times.

Each epilogue iteration ("step") writes 8 rows of every warp to shared memory, reads them back so that neighbouring
lanes hold neighbouring columns, and stores them to global memory.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np

from gpusim.arrays import BoolArray, IntArray
from gpusim.element_types import Shape, element_bits
from gpusim.errors import BadInput
from gpusim.tile.mma import MATRIX, PAIR, accumulator_map, warp_coordinates
from gpusim.tile.output_thread_map import OutputThreadMap, output_thread_map
from gpusim.units import SECTOR_BYTES, VECTOR_BITS, WARP_SIZE

LANES_IN_QUAD: Final = 4
PADDING_BITS: Final = 64 * LANES_IN_QUAD
"""Unused bits after each row of shared memory, as wide as the 64-bit stores of one quad of lanes."""

LINE_ELEMENTS: Final = 32
"""32-bit accumulators in a 128-byte line of shared memory, which is one element per bank."""

UNSWIZZLED_COLUMNS: Final = 256
"""Threadblock columns at which CUTLASS leaves outputs of 8 bits or less unpermuted, whatever the access."""

CONFLICTING: Final = (128, 8)
"""
(Threadblock columns, elements of an access) at which outputs of 8 bits or less stay unpermuted and loads conflict.
"""


@dataclass(frozen=True, slots=True)
class OutputAccess:
    """
    The global accesses of one epilogue iteration. The arrays have shape [*ctas, threads, accesses].

    Attributes:
        rows: Row of the output.
        columns: First column of the vector.
        offset: Element offset of the vector from the output's base, computed for invalid accesses too.
        valid: The predicate: True if the row and the first column lie inside the output.
    """

    rows: IntArray
    columns: IntArray
    offset: IntArray
    valid: BoolArray


@dataclass(frozen=True, slots=True)
class EpilogueTile:
    """
    The tensor-op epilogue of one threadblock tile, with a row-major output.

    Attributes:
        threadblock: Threadblock tile (M, N, K).
        warp: Warp tile (M, N, K).
        instruction: mma.sync shape (M, N, K).
        output_type: Element type that is stored: that of the output, or of the workspace in parallel split-K.
        elements_per_access: Vector length of one global access.
        extent: Rows and columns of the output.
        leading: Elements from one output row to the next.
        accumulator_type: Element type of the accumulators, of 16 or 32 bits.
        slice_stride: Elements from one split-K slice's output to the next slice's; 0 if all slices store to one tensor.

    Not modelled: warps along K (partial sums added in the epilogue).

    Raises:
        BadInput: There are warps along K, or the lanes do not cover an iteration exactly.

    Source: CUTLASS include/cutlass/epilogue/threadblock/{default_epilogue_tensor_op,epilogue,epilogue_base,
    predicated_tile_iterator}.h; golden ``epilogue_*``.
    """

    threadblock: Shape
    warp: Shape
    instruction: Shape
    output_type: str
    elements_per_access: int
    extent: tuple[int, int]
    leading: int
    accumulator_type: str = "f32"
    slice_stride: int = 0

    def __post_init__(self) -> None:
        if self.warps[2] != 1:
            raise BadInput(f"the epilogue takes one warp along K, got {self.warps[2]}")
        _ = self.thread_map

    @property
    def output_bits(self) -> int:
        """Width of an output element in bits."""
        return element_bits(self.output_type)

    @property
    def accumulator_bits(self) -> int:
        """Width of an accumulator in bits, in registers and in shared memory."""
        return element_bits(self.accumulator_type)

    @property
    def warps(self) -> Shape:
        """Warps along M, N and K."""
        m, n, k = (tile // part for tile, part in zip(self.threadblock, self.warp, strict=True))
        return m, n, k

    @property
    def thread_map(self) -> OutputThreadMap:
        """Map from each thread to the vectors of the output tile it stores."""
        return output_thread_map(self.threadblock, self.warp, self.elements_per_access, self.output_bits)

    @property
    def threads(self) -> int:
        """Threads of the CTA."""
        return self.thread_map.threads

    @property
    def mixed(self) -> bool:
        """
        Whether shared memory is permuted (TileIteratorTensorOpMixed, SharedLoadIteratorMixed).

        If the output is narrower than its accumulators, several 16-byte loads fill one output vector. Without a
        permutation, the distance between lanes would cause bank conflicts. CUTLASS permutes f16 outputs in vectors of
        8, and bf16 outputs likewise if the accumulators are s32. It permutes integer outputs of 8 bits or less in
        vectors of 16, and in vectors of 8 except for 128 threadblock columns. For 256 columns it permutes no integer
        output. The unpermuted cases conflict.
        """
        vector, columns = self.elements_per_access, self.threadblock[1]
        match self.accumulator_type, self.output_type:
            case ("f32", "f16") | ("s32", "f16" | "bf16"):
                return vector == 8
            case ("s32", "s8" | "u8" | "s4" | "u4"):
                return vector in (8, 16) and columns != UNSWIZZLED_COLUMNS and (columns, vector) != CONFLICTING
            case _:
                return False

    @property
    def steps(self) -> int:
        """Number of epilogue iterations, each of which takes 8 rows of every warp."""
        return self.thread_map.steps

    @property
    def fragments_per_iteration(self) -> int:
        """kFragmentsPerIteration: number of iterations that fit shared memory, although only one is used at a time."""
        kinds = (self.accumulator_type, self.output_type, self.elements_per_access)
        halves = self.mixed and self.output_bits == 16
        return 2 if halves or kinds == ("f32", "f32", 4) else 1

    @property
    def padding_columns(self) -> int:
        """Unused accumulators after each row of shared memory."""
        return PADDING_BITS // self.accumulator_bits

    @property
    def storage_rows(self) -> int:
        """Rows of the shared allocation."""
        return self.warps[0] * MATRIX * self.fragments_per_iteration

    @property
    def storage_columns(self) -> int:
        """Elements from one row of shared memory to the next, padding included."""
        return self.threadblock[1] + self.padding_columns

    @property
    def storage_bytes(self) -> int:
        """Bytes of the shared allocation, which overlays the mainloop's."""
        return self.storage_rows * self.storage_columns * self.accumulator_bits // 8

    @property
    def pointer_offset(self) -> int:
        """kSmemPointerOffset: elements between the areas of two iterations in shared memory."""
        return self.storage_rows * self.storage_columns // self.fragments_per_iteration

    @property
    def stores_per_step(self) -> int:
        """Shared stores of one thread in one iteration: one for each instruction tile along the warp's N."""
        return self.warp[1] // self.instruction[1]

    @property
    def store_bytes(self) -> int:
        """Bytes of one shared store, which holds two accumulators."""
        return PAIR * self.accumulator_bits // 8

    @property
    def load_elements(self) -> int:
        """Accumulators that one shared load returns to a thread."""
        return min(VECTOR_BITS // self.accumulator_bits, self.elements_per_access)

    @property
    def load_bytes(self) -> int:
        """Bytes of one shared load."""
        return self.load_elements * self.accumulator_bits // 8

    @property
    def loads_per_access(self) -> int:
        """Shared loads that fill one global vector."""
        return self.elements_per_access // self.load_elements

    @property
    def loads_per_step(self) -> int:
        """Shared loads of one thread in one iteration."""
        return self.accesses_per_step * self.loads_per_access

    @property
    def accesses_per_step(self) -> int:
        """Global stores (and source loads) of one thread in one iteration. Predicated-off accesses are issued too."""
        return self.thread_map.accesses

    @property
    def bias_accesses(self) -> int:
        """Number of loads with which one thread reads the bias for all its columns."""
        return self.thread_map.iterations[1]

    @property
    def access_bits(self) -> int:
        """Bits of one global access."""
        return self.elements_per_access * self.output_bits

    @property
    def access_bytes(self) -> int:
        """Bytes of one global access."""
        return self.access_bits // 8

    def accumulator_map(self) -> IntArray:
        """Return (row, column) in the warp tile of each accumulator of each lane. Shape [32, accumulators, 2]."""
        return accumulator_map(self.warp[0], self.warp[1], self.instruction)

    def store_elements(self, step: int) -> IntArray:
        """
        Return the indices of the two accumulators in each shared store of one iteration, the same for all threads.

        Shape [stores_per_step, 2].
        """
        pairs_along_m = self.warp[0] // MATRIX
        store = np.arange(self.stores_per_step, dtype=np.int64)[:, None]
        return (store * pairs_along_m + step) * PAIR + np.arange(PAIR, dtype=np.int64)

    def store_offsets(self) -> IntArray:
        """
        Return the shared-memory element offset of every accumulator stored in a step, the same in every step.

        A lane's two accumulators go to their columns in the tile. A mixed epilogue permutes the 16-byte parts of each
        output vector: the part's number is XORed with the number of its 128-byte line, so that loads do not conflict.

        Returns:
            Shape [threads, stores_per_step, 2], elements of a store contiguous.

        Source: CUTLASS include/cutlass/epilogue/warp/tile_iterator_tensor_op{,_mixed}.h. That header has two faults.
        For warp tiles wider than 64 columns its optimised branch never swaps the halves, although the shared load
        expects it. For vectors of 16 its store and its load agree only for warp tiles of 64 columns. Here stores match
        the shared load at every width (D18).
        """
        warp = np.repeat(warp_coordinates(self.warps), WARP_SIZE, axis=0)
        quad, lane_in_quad = np.divmod(np.arange(self.threads, dtype=np.int64) % WARP_SIZE, LANES_IN_QUAD)
        block = np.arange(self.stores_per_step, dtype=np.int64) * self.instruction[1]
        corner = warp[:, 1, None] * self.warp[1] + block
        column = corner + lane_in_quad[:, None] * PAIR
        if self.mixed:
            column = column ^ self._line_number(column) * self.load_elements
        row = warp[:, 0] * MATRIX + quad
        first = row[:, None] * self.storage_columns + column
        offsets: IntArray = first[..., None] + np.arange(PAIR, dtype=np.int64)
        return offsets

    def load_offsets(self) -> IntArray:
        """
        Return the shared-memory element offset of every accumulator loaded in a step, the same in every step.

        Returns:
            Shape [threads, loads_per_step, load_elements], in the order of the fragment that the global vectors are
            made from. Reshaped to [threads, accesses_per_step, elements_per_access], the elements are in column order.

        Source: CUTLASS include/cutlass/epilogue/threadblock/shared_load_iterator{,_mixed}.h.
        """
        coordinates = self.thread_map.compacted_offsets()[:, None, :] + self.thread_map.access_offsets()
        vector = np.arange(self.loads_per_access, dtype=np.int64)
        column = coordinates[..., 1, None]
        if self.mixed:
            vector = vector ^ self._line_number(column)
        first = coordinates[..., 0, None] * self.storage_columns + column + vector * self.load_elements
        offsets = first[..., None] + np.arange(self.load_elements, dtype=np.int64)
        return offsets.reshape(self.threads, self.loads_per_step, self.load_elements)

    def _line_number(self, column: IntArray) -> IntArray:
        """
        Return the number of the 128-byte line that holds a column of 32-bit accumulators, modulo ``loads_per_access``.
        """
        return column // LINE_ELEMENTS % self.loads_per_access

    def output(
        self, step: int | IntArray, tile_m: int | IntArray, tile_n: int | IntArray, slice_: int | IntArray = 0
    ) -> OutputAccess:
        """
        Return the global accesses of one iteration.

        Args:
            step: Epilogue iteration; may be an array that broadcasts with the tiles.
            tile_m: Threadblock tile along M; may be an array of CTAs.
            tile_n: Threadblock tile along N, of the same shape.
            slice_: Split-K slice, of the same shape.

        Returns:
            Arrays of shape [*ctas, threads, accesses], with accesses in the order of the aligned fragment.

        Source: CUTLASS include/cutlass/epilogue/threadblock/predicated_tile_iterator.h.
        """
        coordinates = self.thread_map.initial_offsets()[:, None, :] + self.thread_map.access_offsets()
        first_row = np.asarray(tile_m, dtype=np.int64) * self.threadblock[0] + np.asarray(step, dtype=np.int64) * MATRIX
        first_column = np.asarray(tile_n, dtype=np.int64) * self.threadblock[1]
        rows, columns = np.broadcast_arrays(
            first_row[..., None, None] + coordinates[..., 0], first_column[..., None, None] + coordinates[..., 1]
        )
        valid = (rows < self.extent[0]) & (columns < self.extent[1])
        first = np.asarray(slice_, dtype=np.int64)[..., None, None] * self.slice_stride
        return OutputAccess(rows, columns, first + rows * self.leading + columns, valid)

    def bias(self, tile_n: int | IntArray) -> OutputAccess:
        """
        Return the global accesses to the bias, which is addressed like the first row of a packed output.

        Returns:
            Arrays of shape [*ctas, threads, accesses]; rows are 0.

        Source: CUTLASS include/cutlass/epilogue/threadblock/epilogue_with_broadcast.h, load_broadcast_fragment_.
        """
        within = self.thread_map.initial_offsets()[:, None, 1] + self.thread_map.column_offsets()
        columns = np.asarray(tile_n, dtype=np.int64)[..., None, None] * self.threadblock[1] + within
        return OutputAccess(np.zeros_like(columns), columns, columns, columns < self.extent[1])

    def bias_of_access(self, access: int) -> int:
        """Return the index of the bias access that has the same columns as a global access."""
        return access % self.bias_accesses

    def sectors(self, slice_: int = 0) -> int:
        """
        Count the 32-byte sectors that the global stores of one split-K slice touch over the whole output.

        Each warp instruction counts the distinct sectors of its valid lanes. The output's base is assumed to lie on a
        sector boundary. Tiles with the same clipping and the same alignment have equal counts and are computed once.

        Source: ncu's ``l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum``.
        """
        total = 0
        (tiles_m, count_m), (tiles_n, count_n) = (self._distinct_tiles(axis) for axis in (0, 1))
        steps = np.arange(self.steps, dtype=np.int64)
        for tile_m, times_m in zip(tiles_m, count_m, strict=True):
            for tile_n, times_n in zip(tiles_n, count_n, strict=True):
                access = self.output(steps, tile_m, tile_n, slice_)
                total += times_m * times_n * _warp_sectors(access, self.access_bytes, self.output_bits)
        return total

    def all_sectors(self, slices: int) -> int:
        """
        Count the 32-byte sectors of all global stores of a grid in which every split-K slice stores its tile.

        Args:
            slices: Number of split-K slices.

        Source: ncu's ``l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum``.
        """
        if not self.slice_stride:
            return self.sectors() * slices
        return sum(self.sectors(slice_) for slice_ in range(slices))

    def _distinct_tiles(self, axis: int) -> tuple[list[int], list[int]]:
        """Return one tile index along an axis for each distinct clipping and alignment, and how many tiles share it."""
        tile = self.threadblock[axis]
        begin = np.arange(0, self.extent[axis], tile, dtype=np.int64)
        inside = np.minimum(self.extent[axis] - begin, tile)
        pitch = self.leading if axis == 0 else 1
        alignment = begin * pitch * self.output_bits // 8 % SECTOR_BYTES
        _, first, count = np.unique(np.stack([inside, alignment]), axis=1, return_index=True, return_counts=True)
        return first.tolist(), count.tolist()


def _warp_sectors(access: OutputAccess, access_bytes: int, bits: int) -> int:
    """Count the distinct sectors of the valid lanes, summed over the warp instructions of all accesses."""
    first_byte = access.offset * bits // 8
    sectors = np.stack([first_byte, first_byte + access_bytes - 1], axis=-1) // SECTOR_BYTES
    sectors = np.where(access.valid[..., None], sectors, -1)
    *steps, threads, accesses, ends = sectors.shape
    lanes = sectors.reshape(*steps, threads // WARP_SIZE, WARP_SIZE, accesses, ends).swapaxes(-3, -2)
    ordered = np.sort(lanes.reshape(-1, WARP_SIZE * ends), axis=1)
    fresh = np.diff(ordered, axis=1, prepend=-1) != 0
    return int(np.count_nonzero(fresh & (ordered >= 0)))
