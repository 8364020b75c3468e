"""Computes the address of each lane of a tile GEMM for each op, from the operands' iterators and the epilogue."""

from collections.abc import Hashable, Sequence
from functools import cached_property, lru_cache

import numpy as np

from gpusim.arrays import IntArray
from gpusim.layout.banks import STANDARD, Banks
from gpusim.scenario.gemm import GemmScenario
from gpusim.schedule import ops
from gpusim.schedule.lanes import CtaLanes, Fetches, GlobalRow, Lanes, Reached, at_access, at_output
from gpusim.tile.global_access import GlobalAccess
from gpusim.tile.operand import SIDES, Operand
from gpusim.tile.requests import GridFetches, grid_fetches
from gpusim.units import LINE_BITS, WARP_SIZE


class GemmLanes(Lanes[ops.Op]):
    """The lane addresses of a scenario's tile kernel."""

    def __init__(self, scenario: GemmScenario, banks: Banks = STANDARD) -> None:
        operands: dict[str, Operand] = {side: scenario.operand(side) for side in SIDES}
        super().__init__(operands, scenario.epilogue, scenario.tiling.threads // WARP_SIZE, banks)
        self.scenario = scenario
        self.shared_base = {"a": 0, "b": operands["a"].shared_bytes}

    @cached_property
    def tiles(self) -> IntArray:
        """(tile m, tile n, slice) of every block by linear index; -1 for a block without a tile. Shape [blocks, 3]."""
        return self.scenario.grid.cta_tiles()

    @cached_property
    def grid_fetches(self) -> dict[str, GridFetches]:
        """Every fetch of each operand's tiles."""
        scenario = self.scenario
        return {side: grid_fetches(self.operands[side], scenario.grid.tiled, scenario.k_iterations()) for side in SIDES}

    def cta(self, block: int) -> "GemmCta":
        """Return the global-memory accesses of a block's CTA."""
        return self.cta_of(self.tiles[block].tolist())

    def cta_of(self, tile: Sequence[int]) -> "GemmCta":
        """Return the global-memory accesses of the CTA of a (tile m, tile n, slice)."""
        # A convolution issues part of one fetch beyond the overrun.
        return GemmCta(self, tile, self.scenario.k_iterations(tile[2]) + self.scenario.tiling.stages)

    def op(self, step: ops.Op) -> ops.Op:
        """Return the step itself: steps of a tile kernel are ops."""
        return step

    def operand_name(self, step: ops.Op) -> str:
        """
        Return the operand that a step's op accesses: a or b.

        Raises:
            TypeError: The op has no operand.
        """
        if not isinstance(step, ops.CopyAsync | ops.LoadGlobal | ops.StoreTile | ops.FragmentLoad):
            raise TypeError(f"{type(step).__name__} has no operand")
        return step.operand

    def mmas(self, step: ops.Op) -> int:  # noqa: ARG002 - all warp-level MMAs are alike
        """Return the number of mma.sync of a warp-level MMA."""
        return self.scenario.tiling.mmas

    def target(self, step: ops.Op) -> tuple[int, int]:
        """
        Return row and number of the fetch that a step belongs to, or row and access of an epilogue's access.

        The rows of fetches are the operands. The rows of outputs are the epilogue's steps, followed by the bias.

        Raises:
            TypeError: The op accesses no global memory.
        """
        match step:
            case ops.CopyAsync(operand, fetch) | ops.LoadGlobal(operand, fetch) | ops.StoreTile(operand, fetch):
                return SIDES.index(operand), fetch
            case ops.LoadSource(number, access) | ops.StoreGlobal(number, access):
                return number, access
            case ops.LoadBias(access):
                return self.epilogue.steps, access
            case _:
                raise TypeError(f"{type(step).__name__} reaches no global memory")


class GemmCta(CtaLanes[ops.Op]):
    """The global accesses of one CTA that has a tile."""

    def __init__(self, lanes: GemmLanes, tile: Sequence[int], fetches: int) -> None:
        self._lanes, self._fetches = lanes, fetches
        self.tile_m, self.tile_n, self.slice_ = (int(index) for index in tile)
        # Ops alternate between fetches of both operands.
        self._fetch = lru_cache(maxsize=8)(self._one_fetch)

    def fetches(self) -> list[Fetches]:
        """Return every fetch by operand."""
        count, rows = self._fetches, []
        for side, tile in zip(SIDES, (self.tile_m, self.tile_n), strict=True):
            found = self._lanes.grid_fetches[side]
            signature, base = (one[tile, self.slice_, :count] for one in found)
            rows.append(Fetches(np.arange(count), signature, base))
        return rows

    def fetched(self, row: int, number: int) -> GlobalAccess:
        """Return one fetch of an operand."""
        return self._fetch(row, number)

    def _one_fetch(self, row: int, number: int) -> GlobalAccess:
        tile = (self.tile_m, self.tile_n)[row]
        return self._lanes.operands[SIDES[row]].iterator(tile, self.slice_).fetch(number)

    def alike_outputs(self) -> Hashable:
        """Return the rows and columns left of the tile, and the places in a line where its output and bias begin."""
        tile = self._lanes.epilogue
        row, column = self.tile_m * tile.threadblock[0], self.tile_n * tile.threadblock[1]
        left = min(tile.extent[0] - row, tile.threadblock[0]), min(tile.extent[1] - column, tile.threadblock[1])
        return *left, *(begin * tile.output_bits % LINE_BITS for begin in self._begins())

    def output_bases(self) -> tuple[int, ...]:
        """Return the first element of the tile for each step, and that of its bias."""
        first, column = self._begins()
        return *(first,) * self._lanes.epilogue.steps, column

    def _begins(self) -> tuple[int, int]:
        """Return the offsets of the tile's first element in its output and in the bias."""
        tile = self._lanes.epilogue
        row, column = self.tile_m * tile.threadblock[0], self.tile_n * tile.threadblock[1]
        return self.slice_ * tile.slice_stride + row * tile.leading + column, column

    def outputs(self) -> list[GlobalRow]:
        """Return the epilogue's accesses by step, followed by those of the bias."""
        tile = self._lanes.epilogue
        accesses = [tile.output(step, self.tile_m, self.tile_n, self.slice_) for step in range(tile.steps)]
        accesses.append(tile.bias(self.tile_n))
        return [GlobalRow(one.offset, one.valid, tile.output_bits, tile.access_bytes) for one in accesses]

    def reached(self, step: ops.Op) -> Reached | None:
        """Return the global access of a copy, a load into registers or an epilogue's access; None for other ops."""
        lanes = self._lanes
        match step:
            case ops.CopyAsync(operand, fetch, access, vec) | ops.LoadGlobal(operand, fetch, access, vec):
                own = self._fetch(SIDES.index(operand), fetch)
                return at_access(own, operand, (access, vec), lanes.operands[operand].bits, lanes.warps)
            case ops.LoadSource(number, access):
                # Later slices of a serial split-K add to the output that the previous slice stored.
                return at_output(self.output_rows[number], "output" if self.slice_ else "source", access, lanes.warps)
            case ops.StoreGlobal(number, access):
                tensor = "partial" if lanes.scenario.problem.reduces else "output"
                return at_output(self.output_rows[number], tensor, access, lanes.warps)
            case ops.LoadBias(access):
                return at_output(self.output_rows[-1], "bias", access, lanes.warps)
            case _:
                return None
