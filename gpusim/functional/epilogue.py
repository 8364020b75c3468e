"""The epilogue's ops on real data: accumulators through shared memory to the output, for a batch of CTAs."""

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np

from gpusim.arrays import IntArray
from gpusim.functional.data_hazards import DataHazard, HazardLog
from gpusim.functional.mainloop import Accumulators
from gpusim.functional.shared_memory import SharedMemory
from gpusim.numerics.elements import WORKING, Values
from gpusim.numerics.output_op import OutputOp, apply
from gpusim.schedule.ops import Barrier, LoadBias, LoadShared, LoadSource, Op, StoreGlobal, StoreShared
from gpusim.tile.epilogue import EpilogueTile, OutputAccess
from gpusim.tile.mma import warp_coordinates


@dataclass(frozen=True, slots=True)
class EpilogueInputs:
    """
    The tensors that an epilogue reads besides the accumulators.

    Attributes:
        source: Tensor that ``LoadSource`` reads, decoded and flat like the output: C, or the output itself in a later
            slice. None if no source is read.
        bias: One element for each column of the output, decoded; None if the problem has no bias.
    """

    source: Values | None
    bias: Values | None


class OutputTensor:
    """
    An output in global memory, or a workspace of partial sums, with a count of the stores to each element.

    Attributes:
        values: Flat array of the working type of ``element``; NaN where nothing was stored.
        element: Element type.
        stores: Stores of the current slice to each element, up to 255. Same shape.
    """

    def __init__(self, elements: int, element: str) -> None:
        self.values: Values = np.full(elements, np.nan, WORKING[element])
        self.element = element
        self.stores = np.zeros(elements, np.uint8)

    def store(self, elements: IntArray, values: Values) -> None:
        """Store values, which the element type can represent, to elements of the same shape."""
        self.values[elements] = values.astype(self.values.dtype)
        np.add.at(self.stores, elements.reshape(-1), np.uint8(1))


class Staging:
    """
    The shared memory in which the lanes of a batch of CTAs exchange accumulators, and the registers they load into.

    Attributes:
        loaded: Values each thread has loaded. Shape (ctas, threads, vectors of a step, elements of a vector).

    Not modelled: the overlay of the mainloop's shared memory (here the staging is empty at first).
    """

    def __init__(
        self, tile: EpilogueTile, accumulators: Accumulators, memory: SharedMemory, name: str, hazards: HazardLog
    ) -> None:
        """
        Allocate the staging, which is empty.

        Args:
            tile: Epilogue tile, which gives the offsets.
            accumulators: Warp tiles as matrices. Shape (ctas, warps, warp M, warp N).
            memory: Shared memory of the program's CTAs.
            name: Name of the staging among the allocations of the program.
            hazards: Log that found hazards are added to.
        """
        ctas, warps = accumulators.shape[:2]
        self._tile, self._hazards = tile, hazards
        place = tile.accumulator_map()
        self._accumulators = accumulators[:, :, place[..., 0], place[..., 1]]
        elements = tile.storage_rows * tile.storage_columns
        self._shared = memory.allocate(name, ctas, elements, warps, accumulators.dtype)
        self._store_offsets, self._load_offsets = tile.store_offsets(), tile.load_offsets()
        self._loaded = np.full((ctas, *self._load_offsets.shape), np.nan, accumulators.dtype)

    @property
    def loaded(self) -> Values:
        """Values each thread has loaded. Shape (ctas, threads, vectors of a step, elements of a vector)."""
        vectors = self._tile.threads, self._tile.accesses_per_step, self._tile.elements_per_access
        return self._loaded.reshape(len(self._loaded), *vectors)

    def barrier(self) -> None:
        """Execute a barrier: all warps arrive."""
        self._shared.barrier()

    def load(self, access: int) -> None:
        """Execute one ld.shared of a step."""
        self._loaded[:, :, access] = self._shared.load(self._load_offsets[:, access])

    def store(self, step: int, access: int) -> None:
        """Execute one st.shared of a step."""
        pair = self._accumulators[..., self._tile.store_elements(step)[access]]
        by_thread = pair.reshape(len(pair), self._tile.threads, -1)
        if self._shared.store(self._store_offsets[:, access], by_thread):
            message = f"epilogue step {step}: another warp has read the staging area since the last barrier"
            self._hazards.add(DataHazard("overwrite_while_read", message, -1, -1, "accumulator", step, -1))


class TileEpilogue(ABC):
    """
    The part that all epilogues share: accumulators are exchanged through shared memory, and lanes access the output.

    A family defines the output elements of a step, the reads besides the accumulators, and the arithmetic of a store.
    """

    def __init__(
        self,
        tile: EpilogueTile,
        accumulators: Accumulators,
        *,
        memory: SharedMemory,
        output: OutputTensor,
        hazards: HazardLog,
        name: str = "staging",
    ) -> None:
        """
        Prepare the epilogue of a batch.

        Args:
            tile: Epilogue tile, which gives offsets and predicates.
            accumulators: Warp tiles as matrices. Shape (ctas, warps, warp M, warp N).
            memory: Shared memory of the program's CTAs.
            output: Tensor that the result is written to.
            hazards: Log that found hazards are added to.
            name: Name of the staging area; a program with several epilogues has one for each.
        """
        self._tile, self._output, self._hazards = tile, output, hazards
        self._staging = Staging(tile, accumulators, memory, name, hazards)
        self._access: tuple[int, OutputAccess] | None = None

    def execute(self, op: Op) -> None:
        """
        Execute one op in every CTA of the batch.

        Raises:
            TypeError: The op is not one of an epilogue.
        """
        match op:
            case Barrier():
                self._staging.barrier()
            case StoreShared(step, access):
                self._staging.store(step, access)
            case LoadShared(_, access):
                self._staging.load(access)
            case LoadSource(step, access):
                self._load_source(step, access)
            case LoadBias(access):
                self._load_bias(access)
            case StoreGlobal(step, access):
                self._store_global(step, access)
            case _:
                raise TypeError(f"{op} is no op of an epilogue")

    @abstractmethod
    def _output_access(self, step: int) -> OutputAccess:
        """Return the accesses of one step in global memory. Shape (ctas, threads, accesses)."""

    @abstractmethod
    def _load_source(self, step: int, access: int) -> None:
        """Execute one load of the source, which is added to the accumulators."""

    @abstractmethod
    def _store_global(self, step: int, access: int) -> None:
        """Execute one store of a vector, or of a part of it."""

    def _load_bias(self, access: int) -> None:
        """Execute one load of the bias; an epilogue without one has no such op."""
        raise TypeError(f"an epilogue without a bias loads {access} of it")

    def _vectors(self, step: int, access: int) -> tuple[IntArray, IntArray]:
        """
        Return the (cta, thread) pairs of the valid lanes, shape (2, lanes), and their elements, shape (lanes, width).
        """
        if self._access is None or self._access[0] != step:
            self._access = step, self._output_access(step)
        offset, valid = self._access[1].offset[..., access], self._access[1].valid[..., access]
        column = self._access[1].columns[..., access]
        width = self._tile.elements_per_access
        illegal = valid & ((column + width > self._tile.extent[1]) | (offset < 0) | (offset % width != 0))
        illegal |= valid & (offset + width > len(self._output.values))
        if illegal.any():
            message = (
                f"epilogue step {step}: element offset {int(offset[illegal][0])} is outside the output's rows or not a"
                f" multiple of the access of {width}"
            )
            self._hazards.add(DataHazard("illegal_global_access", message, -1, -1, "output", step, -1))
            valid = valid & ~illegal
        lanes = np.stack(valid.nonzero())
        return lanes, offset[valid][:, None] + np.arange(width, dtype=np.int64)


class Epilogue(TileEpilogue):
    """
    The epilogue of a batch of CTAs of one split-K slice, from their accumulators to the output.

    Not modelled: the semaphore of serial split-K (the caller runs the slices in order).
    """

    def __init__(
        self,
        tile: EpilogueTile,
        does: OutputOp,
        accumulators: Accumulators,
        tiles: IntArray,
        *,
        memory: SharedMemory,
        output: OutputTensor,
        inputs: EpilogueInputs,
        hazards: HazardLog,
    ) -> None:
        """
        Prepare the epilogue of a batch.

        Args:
            tile: Epilogue tile, which gives offsets and predicates.
            does: Output operation.
            accumulators: Warp tiles as matrices. Shape (ctas, warps, warp M, warp N).
            tiles: (tile m, tile n, slice) of each CTA. Shape (ctas, 3).
            memory: Shared memory of the program's CTAs.
            output: Tensor that the result is written to.
            inputs: Tensors that are read.
            hazards: Log that found hazards are added to.
        """
        super().__init__(tile, accumulators, memory=memory, output=output, hazards=hazards)
        ctas = len(accumulators)
        self._does = does
        self._matrices = accumulators
        self._tiles = tiles
        self._inputs = inputs
        vectors = ctas, tile.threads, tile.accesses_per_step, tile.elements_per_access
        self._from_source = np.zeros(vectors, np.float64)
        self._bias = np.zeros((ctas, tile.threads, tile.bias_accesses, tile.elements_per_access), np.float64)

    def _output_access(self, step: int) -> OutputAccess:
        return self._tile.output(step, *self._tiles.T)

    def _load_source(self, step: int, access: int) -> None:
        if self._inputs.source is None:
            raise ValueError("the program loads a source tensor, but the problem has none")
        (cta, thread), elements = self._vectors(step, access)
        self._from_source[cta, thread, access] = self._inputs.source[elements]

    def _load_bias(self, access: int) -> None:
        if self._inputs.bias is None:
            raise ValueError("the program loads a bias, but the problem has none")
        where = self._tile.bias(self._tiles[:, 1])
        cta, thread = where.valid[..., access].nonzero()
        first = where.offset[cta, thread, access]
        elements = first[:, None] + np.arange(self._tile.elements_per_access, dtype=np.int64)
        self._bias[cta, thread, access] = self._inputs.bias[elements]

    def _store_global(self, step: int, access: int) -> None:
        (cta, thread), elements = self._vectors(step, access)
        aligned = self._staging.loaded[cta, thread, access].astype(np.float64)
        self._report_poison(step, cta, elements, aligned)
        bias = self._bias[cta, thread, self._tile.bias_of_access(access)]
        result = apply(self._does, aligned, self._from_source[cta, thread, access], bias)
        self._output.store(elements, result)

    def _report_poison(self, step: int, cta: IntArray, elements: IntArray, aligned: Values) -> None:
        """Report NaN that comes from the staging area, not from the accumulators."""
        if not np.isnan(aligned).any():
            return
        of_slice = elements - self._tiles[cta, 2, None] * self._tile.slice_stride
        row, column = np.divmod(of_slice, self._tile.leading)
        in_row = row - self._tiles[cta, 0, None] * self._tile.threadblock[0]
        in_column = column - self._tiles[cta, 1, None] * self._tile.threadblock[1]
        warp_m, warp_row = np.divmod(in_row, self._tile.warp[0])
        warp_n, warp_column = np.divmod(in_column, self._tile.warp[1])
        coordinates = warp_coordinates(self._tile.warps)
        number = np.empty(self._tile.warps[:2], np.int64)
        number[coordinates[:, 0], coordinates[:, 1]] = np.arange(len(coordinates))
        sound = ~np.isnan(self._matrices[cta[:, None], number[warp_m, warp_n], warp_row, warp_column])
        stale = np.isnan(aligned) & sound
        if stale.any():
            message = f"epilogue step {step} loads staged accumulators that no visible store has written"
            first = int(row[stale].min())
            self._hazards.add(DataHazard("stale_data_consumed", message, -1, -1, "accumulator", step, first))
