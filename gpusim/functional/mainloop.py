"""The mainloop's ops on real data: the effect of each op on a batch of CTAs, up to the accumulators."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from gpusim.arrays import BoolArray, IntArray
from gpusim.element_types import INTEGER_RANGE, Mma
from gpusim.functional.data_hazards import DataHazard, HazardLog
from gpusim.functional.shared_memory import CopyQueue, SharedArray
from gpusim.numerics.elements import Values, as_multiplied, decode
from gpusim.schedule import ops
from gpusim.tile.global_access import GlobalAccess
from gpusim.tile.ldmatrix import delivered_offsets, fragment_loads, ldmatrix_offsets
from gpusim.tile.mma import fragment_map, warp_coordinates
from gpusim.tile.operand import Operand, Side, Tiling
from gpusim.tile.shared_store import store_offsets
from gpusim.units import WARP_SIZE

Accumulators: TypeAlias = npt.NDArray[np.floating[Any]]

ACCUMULATED: dict[str, npt.DTypeLike] = {"f32": np.float32, "f16": np.float16, "s32": np.float64}
"""The numpy type in which each accumulator type accumulates. s32 is exact in a floating type, which also has NaN."""

_BUFFERS = 2
"""Fragments that a warp holds: the k group being multiplied, and the next one being loaded."""


@dataclass(frozen=True, slots=True)
class OperandTables:
    """
    The tables of one operand that are the same for all CTAs, computed once for a run.

    Attributes:
        width: Elements of one global access.
        shared_elements: Elements of the whole shared allocation.
        store: Element that each copy, or each vector of a store, writes. Shape (stages, threads, accesses, vecs,
            width).
        load: Element that each register element is loaded from, in row-major order of the warp's matrix within each
            instruction. Shape (instructions, stages, k_groups, warps, elements of an instruction).
        held: Elements of the warp's matrix that each instruction loads, as indices into the flat matrix of (warp rows,
            instruction K): rows along M for A, along N for B.
        depth: Instruction K.
        first_row: First row of each warp inside the threadblock tile. Shape (warps,).
    """

    width: int
    shared_elements: int
    store: IntArray
    load: IntArray
    held: tuple[slice | IntArray, ...]
    depth: int
    first_row: IntArray

    @property
    def warp_elements(self) -> int:
        """Number of elements of the warp's matrix, which is its fragment."""
        return int(self.load.shape[0] * self.load.shape[-1])


def operand_tables(operand: Operand, base: int = 0) -> OperandTables:
    """
    Compute the tables of one operand from its tile iterator and the fragment layouts.

    Args:
        operand: Operand of a tile GEMM.
        base: Element of shared memory at which its ring begins.
    """
    tiling, loads = operand.tiling, fragment_loads(operand)
    stages = range(tiling.stages)
    store = np.stack([store_offsets(operand, stage) for stage in stages])
    delivered = [delivered_offsets(ldmatrix_offsets(operand, stage), loads, operand.bits) for stage in stages]
    load = np.moveaxis(np.stack(delivered), (3, 2), (0, 2))
    load = load.reshape(*load.shape[:4], -1)
    held, order = _held_elements(fragment_places(operand), len(load))
    return OperandTables(
        width=operand.access,
        shared_elements=operand.shared.elements,
        store=base + store[..., None] + np.arange(operand.access, dtype=np.int64),
        load=base + np.take_along_axis(load, order[:, None, None, None], axis=-1),
        held=held,
        depth=tiling.instruction[2],
        first_row=warp_coordinates(tiling.warps)[:, operand.axis] * operand.warp_extent,
    )


def fragment_places(operand: Operand) -> IntArray:
    """
    Return the (lane, register element) index that holds each element of a warp's matrix.

    It is the inverted fragment map of one instruction, repeated for each instruction tile.

    Returns:
        Shape (warp rows, instruction K): rows along M for A, along N for B.
    """
    instruction, warp_rows = operand.tiling.instruction, operand.warp_extent
    tile_rows = instruction[operand.axis]
    held = fragment_map(instruction, operand.side, operand.bits)
    row, k = (held[..., 0], held[..., 1]) if operand.side == "a" else (held[..., 1], held[..., 0])
    tiles, elements = warp_rows // tile_rows, held.shape[1]
    lane, element = np.indices((WARP_SIZE, elements))
    place = np.empty((tiles, tile_rows, instruction[2]), np.int64)
    for tile in range(tiles):
        place[tile, row, k] = lane * (tiles * elements) + tile * elements + element
    return place.reshape(warp_rows, instruction[2])


def _held_elements(place: IntArray, instructions: int) -> tuple[tuple[slice | IntArray, ...], IntArray]:
    """
    Return the elements of the warp's matrix that each load reads, and their order in its registers.

    Args:
        place: ``fragment_places``.
        instructions: Loads of the fragment, which share the register elements of each lane evenly.

    Returns:
        ``OperandTables.held``, and for each load its (lane, register element) pairs in the order of the flat matrix,
        shape (instructions, elements of an instruction).
    """
    lane, element = np.divmod(place.reshape(-1), place.size // WARP_SIZE)
    instruction, within = np.divmod(element, place.size // WARP_SIZE // instructions)
    found = [np.flatnonzero(instruction == number) for number in range(instructions)]
    order = [lane[at] * (place.size // WARP_SIZE // instructions) + within[at] for at in found]
    contiguous = [bool((np.diff(at) == 1).all()) for at in found]
    held = (slice(int(at[0]), int(at[-1]) + 1) if whole else at for at, whole in zip(found, contiguous, strict=True))
    return tuple(held), np.stack(order)


@dataclass(frozen=True, slots=True)
class OperandData:
    """
    The global tensor of one operand for a batch of CTAs, and the shared memory it is copied to.

    Attributes:
        name: Name of the operand in messages.
        values: The tensor, flat and decoded, in float32, as the tensor core multiplies it (``multiplied``).
        fetch: Returns all accesses of a fetch, by its number.
        first_row: Row of the problem, along M for A and N for B, at which each tile begins. Shape (ctas,).
        end: First row that does not exist in the problem. Shape (ctas,), or one for all.
        shared: Shared memory that the tensor is copied to; the offsets in the operand's tables index it.
    """

    name: str
    values: Values
    fetch: Callable[[int], GlobalAccess]
    first_row: IntArray
    end: int | IntArray
    shared: SharedArray


def multiplied(stored: Values, element: str) -> npt.NDArray[np.float32]:
    """Return a stored tensor in float32, which represents every value that a tensor core multiplies."""
    values: npt.NDArray[np.float32] = as_multiplied(decode(stored, element).astype(np.float32, copy=False), element)
    return values


class WarpTiles:
    """
    The warps of a batch of CTAs in one GEMM's mainloop: copies, fragments, accumulators.

    Attributes:
        accumulators: Accumulators of every warp, as the warp tile's matrix. Shape (ctas, warps, warp M, warp N), of
            type ``ACCUMULATED``. float32 sums are rounded as in numpy, not truncated as in the tensor core (D19). f16
            is rounded after every mma.sync. s32 saturates after every mma.sync, as .satfinite does.
    """

    def __init__(
        self,
        tiling: Tiling,
        mma: Mma,
        tables: dict[Side, OperandTables],
        sources: dict[Side, OperandData],
        ctas: IntArray,
        *,
        queue: CopyQueue,
        hazards: HazardLog,
    ) -> None:
        """
        Start with zero accumulators and NaN in all fragments.

        Args:
            tiling: Tiles of the GEMM.
            mma: The mma.sync of the GEMM, which gives the element types.
            tables: Tables of both operands.
            sources: Tensors of both operands.
            ctas: Indices that identify each CTA in messages. Shape (ctas, any).
            queue: Commit groups of the CTAs.
            hazards: Log that found hazards are added to.
        """
        warps = tiling.threads // WARP_SIZE
        self._tables, self._sources = tables, sources
        self._hazards, self._queue, self._tiles = hazards, queue, ctas
        self._types = mma
        self._registers: dict[Side, Values] = {}
        self._threadblock_fragment: dict[Side, Values] = {}
        self._row_in_range: dict[Side, BoolArray] = {}
        self._fetched: dict[Side, tuple[int, Values, BoolArray]] = {}
        self._loaded_from: dict[tuple[Side, int], int] = {}
        for operand, table in tables.items():
            source = sources[operand]
            fragment = (_BUFFERS, len(ctas), warps, table.warp_elements)
            self._registers[operand] = np.full(fragment, np.nan, np.float32)
            self._threadblock_fragment[operand] = np.full((len(ctas), *table.store.shape[1:]), np.nan, np.float32)
            rows = source.first_row[:, None, None] + self._warp_rows(operand)
            self._row_in_range[operand] = rows < np.asarray(source.end).reshape(-1, 1, 1)
        accumulated = ACCUMULATED[self._types.accumulator]
        self.accumulators: Accumulators = np.zeros((len(ctas), warps, *tiling.warp[:2]), accumulated)
        self._products = np.empty(self.accumulators.shape, np.float32)

    def _warp_rows(self, operand: Side) -> IntArray:
        """Return the row inside the threadblock tile of each row of each warp's matrix. Shape (warps, warp rows)."""
        table = self._tables[operand]
        return table.first_row[:, None] + np.arange(table.warp_elements // table.depth, dtype=np.int64)

    def execute(self, op: ops.Op) -> None:
        """
        Execute one op in every CTA of the batch.

        Raises:
            TypeError: The op is not one of a mainloop.
        """
        match op:
            case ops.CopyAsync():
                self._copy(op)
            case ops.CommitGroup():
                self._queue.commit()
            case ops.WaitGroup(pending):
                self._queue.wait(pending)
            case ops.Barrier():
                for source in self._sources.values():
                    source.shared.barrier()
            case ops.LoadGlobal():
                self._load_global(op)
            case ops.StoreTile():
                self._store_tile(op)
            case ops.Ldmatrix() | ops.LoadFragment():
                self._load_fragment(op)
            case ops.WarpMma():
                self._mma(op)
            case _:
                raise TypeError(f"{op} is no op of a mainloop")

    def _fetch(self, operand: Side, number: int) -> tuple[Values, BoolArray]:
        """
        Return the data of every access of a fetch (zeros where invalid), and which accesses are valid.

        Shapes (accesses, vecs, ctas, threads, width) and (accesses, vecs, ctas, threads): the data of one op is
        contiguous.
        """
        known = self._fetched.get(operand)
        if known is not None and known[0] == number:
            return known[1], known[2]
        width = self._tables[operand].width
        memory = self._sources[operand].values.reshape(-1, width)
        access = self._sources[operand].fetch(number)
        vector = np.floor_divide(access.offset, width)
        valid = access.valid
        illegal = valid & ((vector < 0) | (vector >= len(memory)) | (vector * width != access.offset))
        if illegal.any():
            name = self._sources[operand].name
            cta, thread = (int(axis[0]) for axis in illegal.nonzero()[:2])
            offset = int(access.offset[illegal][0])
            message = (
                f"operand {name}, fetch {number}, tile {self._tiles[cta].tolist()}, thread {thread}: element offset"
                f" {offset} is outside the tensor's {memory.size} elements or not a multiple of the access of {width}"
            )
            self._hazards.add(DataHazard("illegal_global_access", message, number, -1, name, -1, -1))
            valid = valid & ~illegal
        vector, valid = (np.ascontiguousarray(np.moveaxis(one, (2, 3), (0, 1))) for one in (vector, valid))
        if valid.all():
            values = memory.take(vector, axis=0)
        else:
            values = memory.take(np.where(valid, vector, 0), axis=0)
            values[~valid] = 0
        self._fetched[operand] = (number, values, valid)
        return values, valid

    def _copy(self, op: ops.CopyAsync) -> None:
        values, valid = self._fetch(op.operand, op.fetch)
        offsets = self._tables[op.operand].store[op.stage, :, op.access, op.vec]
        brought = values[op.access, op.vec]
        arrives = valid[op.access, op.vec, ..., None]
        written = None if op.zfill or arrives.all() else np.broadcast_to(arrives, brought.shape)
        if self._queue.issue(self._sources[op.operand].shared, offsets, brought, written):
            self._report_overwrite("copy", op)

    def _load_global(self, op: ops.LoadGlobal) -> None:
        """
        Load global memory into the threadblock fragment.

        Without zero-fill, an invalid access leaves NaN instead of the old register values, so that their use is
        detected.
        """
        values, valid = self._fetch(op.operand, op.fetch)
        brought = values[op.access, op.vec]
        arrives = valid[op.access, op.vec, ..., None]
        fragment = self._threadblock_fragment[op.operand]
        fragment[:, :, op.access, op.vec] = brought if op.zfill else np.where(arrives, brought, np.nan)

    def _store_tile(self, op: ops.StoreTile) -> None:
        offsets = self._tables[op.operand].store[op.stage, :, op.access]
        if self._sources[op.operand].shared.store(offsets, self._threadblock_fragment[op.operand][:, :, op.access]):
            self._report_overwrite("store", op)

    def _report_overwrite(self, what: str, op: ops.CopyAsync | ops.StoreTile) -> None:
        name = self._sources[op.operand].name
        message = (
            f"{what} of operand {name}, fetch {op.fetch} into stage {op.stage}: another warp has read the same"
            " elements since the last barrier and may still be reading"
        )
        self._hazards.add(DataHazard("overwrite_while_read", message, op.fetch, -1, name, op.stage, -1))

    def _load_fragment(self, op: ops.FragmentLoad) -> None:
        table, buffer = self._tables[op.operand], op.k_group % _BUFFERS
        loaded = self._sources[op.operand].shared.load(table.load[op.instruction, op.stage, op.k_group])
        self._registers[op.operand][buffer][..., table.held[op.instruction]] = loaded
        self._loaded_from[op.operand, buffer] = op.stage

    def _matrix(self, operand: Side, op: ops.WarpMma) -> npt.NDArray[np.float32]:
        """Return the operand of a warp-level MMA from its registers. Shape (ctas, warps, warp rows, instruction K)."""
        registers = self._registers[operand][op.k_group % _BUFFERS]
        matrix: npt.NDArray[np.float32] = registers.reshape(*registers.shape[:2], -1, self._tables[operand].depth)
        poison = np.isnan(matrix)
        if poison.any():
            self._report_poison(operand, op, poison)
        return matrix

    def _report_poison(self, operand: Side, op: ops.WarpMma, poison: BoolArray) -> None:
        """Report NaN in a row of the problem as stale data. Rows beyond the problem are never stored."""
        found = poison & self._row_in_range[operand][..., None]
        if not found.any():
            return
        cta, warp, row, k = (int(axis[0]) for axis in found.nonzero())
        axis = 0 if operand == "a" else 1
        in_tile = int(self._warp_rows(operand)[warp, row])
        in_problem = int(self._sources[operand].first_row[cta]) + in_tile
        name = self._sources[operand].name
        stage = self._loaded_from.get((operand, op.k_group % _BUFFERS), -1)
        message = (
            f"mma of k tile {op.k_tile}, k group {op.k_group}, warp {warp} of tile {self._tiles[cta].tolist()} uses"
            f" operand {name} at {'mn'[axis]} {in_problem}, k {k} of the group, from stage {stage}, where no copy"
            " has landed that the warp may see"
        )
        self._hazards.add(DataHazard("stale_data_consumed", message, op.k_tile, op.k_group, name, stage, in_problem))

    def _mma(self, op: ops.WarpMma) -> None:
        """
        Compute D = A * B + D for every instruction tile, rounded once; float32 sums a tile's integer products exactly.

        CUTLASS's integer kernels saturate (OpMultiplyAddSaturate).
        """
        a, b = self._matrix("a", op), self._matrix("b", op)
        # BLAS is so much faster on a contiguous K x N matrix that the copy is worth it.
        np.matmul(a, np.ascontiguousarray(b.swapaxes(-1, -2)), out=self._products)
        np.add(self.accumulators, self._products, out=self.accumulators, casting="same_kind")
        if self._types.accumulator == "s32":
            np.clip(self.accumulators, *INTEGER_RANGE["s32"], out=self.accumulators)
