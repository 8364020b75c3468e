"""Describes the fetches and stores of a GEMM's or convolution's CTAs, and the L2 granules of the data."""

from collections.abc import Hashable, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from gpusim.arrays import IntArray
from gpusim.element_types import element_bits
from gpusim.families.gemm.program import mainloop_shape
from gpusim.families.gemm.reduction.timed import source_bytes
from gpusim.families.gemm.schedule import TileKernel
from gpusim.machine.spec import Machine
from gpusim.scenario.gemm import GemmScenario
from gpusim.sim.footprint import FROM_DRAM, IN_L2, JUST_WRITTEN, L2Status
from gpusim.sim.timed_kernel import KernelData, Touched
from gpusim.tile.operand import SIDES
from gpusim.tile.pixels import pixel_granules, touched_pixels
from gpusim.tile.requests import grid_fetches


class TileData(TileKernel, KernelData):
    """The tile kernel of a GEMM or convolution with its CTAs' accesses. Tensor 0 is operand A, tensor 1 operand B."""

    def __init__(self, scenario: GemmScenario, machine: Machine) -> None:
        super().__init__(scenario)
        self.machine = machine
        self._bytes_of: dict[int, IntArray] = {}

    @cached_property
    def launched(self) -> IntArray:
        """Linear indices of the blocks that have a tile."""
        return np.flatnonzero(self.tiles[:, 0] >= 0)

    def _tile(self, cta: int) -> tuple[int, int, int]:
        """Return (tile m, tile n, slice) of a CTA."""
        return self._launched_tiles[cta]

    @cached_property
    def _launched_tiles(self) -> list[tuple[int, int, int]]:
        """(tile m, tile n, slice) of every CTA."""
        return list(zip(*self.tiles[self.launched].T.tolist(), strict=True))

    def cached_in_l1(self, row: int) -> bool:
        """Return whether the copies of an operand look up L1."""
        return mainloop_shape(self.scenario).of(SIDES[row]).cache == "ca"

    def found(self, cta: int, *, first_wave: bool) -> tuple[L2Status, ...]:
        """
        Return the L2 status of the epilogue's loads, by its steps, followed by that of the bias.

        The source is read once, so it comes from DRAM. A later slice of a serial split-K instead reads what the
        previous slice has just written. The bias comes from DRAM once for each tile of columns, during the first wave
        (D10).
        """
        return self._found[self._tile(cta)[2] == 0, first_wave]

    @cached_property
    def _found(self) -> dict[tuple[bool, bool], tuple[L2Status, ...]]:
        """L2 status of the epilogue's loads, indexed [is first slice, is first wave]."""
        bias = replace(FROM_DRAM, missed=FROM_DRAM.missed // self.scenario.grid.tiled.m), IN_L2
        steps = self.scenario.epilogue.steps
        return {
            (first_slice, first_wave): (FROM_DRAM if first_slice else JUST_WRITTEN,) * steps + (bias[not first_wave],)
            for first_slice in (True, False)
            for first_wave in (True, False)
        }

    def walked(self, cta: int) -> tuple[Hashable, ...]:
        """Return keys for the data of A and B. CTAs of equal tile and slice fetch the same data of an operand."""
        tile_m, tile_n, slice_ = self._tile(cta)
        return (tile_m, slice_), (tile_n, slice_)

    def granules(self, tensor: int) -> int:
        """Return the granules of an operand: one for each fetch, or the activation's pixels by channel interval."""
        tiled, operand = self.scenario.grid.tiled, self.lanes().operands[SIDES[tensor]]
        if self._shares_pixels[tensor]:
            return pixel_granules(operand.iterator(0, 0))
        return (tiled.m, tiled.n)[tensor] * tiled.slices * len(self._fetches)

    def most_granules(self, tensor: int) -> int:
        """Return the rows of the tile where each may be in a granule of its own."""
        return self.scenario.tiling.threadblock[tensor] if self._shares_pixels[tensor] else 1

    def turns(self, tensor: int, walked: Any) -> int:  # noqa: ARG002 - all are alike
        """Return the number of fetches of the longest slice."""
        return len(self._fetches)

    def touched(self, tensor: int, keys: Sequence[Any], begin: int, end: int) -> Touched:
        """Return the granules of each fetch: one per fetch, or for an activation those of its pixels."""
        tile, slice_ = np.array(keys, dtype=np.int64).T
        turns = np.arange(begin, end, dtype=np.int64)
        if self._shares_pixels[tensor]:
            return Touched(len(keys), *touched_pixels(self.lanes().operands[SIDES[tensor]], tile, slice_, turns))
        sizes = self._all_bytes(tensor)[tile, slice_, begin:end].T
        turn, key = np.nonzero(sizes)
        slices, fetches = self.scenario.grid.tiled.slices, len(self._fetches)
        granule = (tile[key] * slices + slice_[key]) * fetches + begin + turn
        return Touched(len(keys), begin + turn, key, granule, np.ones_like(key), sizes[turn, key])

    def own_bytes(self, tensor: int, walked: Any) -> IntArray | None:
        """Return the bytes of each fetch; None for an activation, whose pixels other fetches touch."""
        tile, slice_ = walked
        return None if self._shares_pixels[tensor] else self._all_bytes(tensor)[tile, slice_]

    @cached_property
    def _shares_pixels(self) -> tuple[bool, ...]:
        """For A and B: whether fetches share pixels with other fetches."""
        return tuple(self.lanes().operands[side].iterator(0, 0).shares_pixels for side in SIDES)

    @cached_property
    def _fetches(self) -> IntArray:
        """Numbers of the fetches of the longest slice, overrun included."""
        return np.arange(self.scenario.k_iterations() + self.scenario.tiling.stages, dtype=np.int64)

    def _all_bytes(self, tensor: int) -> IntArray:
        """Return the bytes of each fetch, shape [tiles, slices, fetches]. Of alike fetches, one is evaluated."""
        if tensor not in self._bytes_of:
            operand, scenario = self.lanes().operands[SIDES[tensor]], self.scenario
            signatures = grid_fetches(operand, scenario.grid.tiled, scenario.k_iterations()).signature
            _, first, which = np.unique(signatures, return_index=True, return_inverse=True)
            fetched = [
                operand.iterator(own_tile, own_slice).fetch(number)
                for own_tile, own_slice, number in zip(*np.unravel_index(first, signatures.shape), strict=True)
            ]
            sizes = np.array([int(access.valid.sum()) * operand.access_bytes for access in fetched], dtype=np.int64)
            self._bytes_of[tensor] = sizes[which].reshape(signatures.shape)
        return self._bytes_of[tensor]

    @property
    def other_dram_bytes(self) -> int:
        """Bytes of the source, if this kernel reads it."""
        problem = self.scenario.problem
        return 0 if problem.reduces else source_bytes(self.scenario)

    @property
    def stored_bytes(self) -> int:
        """Bytes of the output; of a split-K, each slice's."""
        problem = self.scenario.problem
        stored = problem.dtype.accumulator if problem.reduces else problem.dtype.output
        return problem.extents.m * problem.extents.n * problem.split_k_slices * element_bits(stored) // 8
