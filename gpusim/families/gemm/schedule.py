"""Schedules the kernels of a GEMM or convolution: the tile kernel, and the reduction of a parallel split-K after it."""

from collections.abc import Iterable, Sequence
from functools import cached_property
from math import prod
from typing import get_args

import numpy as np

from gpusim.arrays import BoolArray, IntArray
from gpusim.element_types import is_emulated, tensor_opcode
from gpusim.families.gemm.gemm_lanes import GemmLanes
from gpusim.families.gemm.program import mainloop_policy, mainloop_shape, program
from gpusim.families.gemm.reduction.schedule import ReductionKernel
from gpusim.machine import Machine, load_machine
from gpusim.numerics.output_op import OutputOp, slice_output_op
from gpusim.scenario.gemm import GemmScenario
from gpusim.schedule.counts import CountedKernel, GlobalCounts, GridProgram
from gpusim.schedule.kernel import Each, Fill, FragmentTile
from gpusim.schedule.ops import CopyAsync, Op, Program, SassOpcode
from gpusim.tile.operand import SIDES, Side
from gpusim.tile.requests import access_sectors, grid_fetches, grid_requests
from gpusim.tile.shared_tables import over_warps, predicated_copies


class TileKernel(CountedKernel[Op]):
    """The tile kernel of a GEMM or convolution as a schedule."""

    op_kinds = get_args(Op)
    operand_names = copied = SIDES

    def __init__(self, scenario: GemmScenario, machine: Machine | None = None) -> None:
        self.scenario, self.machine = scenario, machine or load_machine(scenario.machine)

    @property
    def grid(self) -> tuple[int, int, int]:
        """gridDim x, y, z."""
        return self.scenario.grid.dim

    @cached_property
    def tiles(self) -> IntArray:
        """(tile m, tile n, slice) of every block by linear index; -1 for a block without a tile. Shape [blocks, 3]."""
        return self.scenario.grid.cta_tiles()

    @cached_property
    def _lanes(self) -> GemmLanes:
        return GemmLanes(self.scenario, self.banks)

    def lanes(self) -> GemmLanes:
        """Return the lane addresses of all CTAs, with the shared-memory wavefronts in the machine's banks."""
        return self._lanes

    def program(self, block: int) -> Program:
        """Return the program of the block's split-K slice."""
        slice_ = int(self.tiles[block, 2])
        return program(self.scenario, self.scenario.k_iterations(slice_), slice_)

    def steps(self, block: int) -> Sequence[Op]:
        """Return all ops of the block: prologue, mainloop, tail, epilogue."""
        return self.program(block).ops()

    def steps_before_epilogue(self, block: int) -> Sequence[Op]:
        """Return the ops before the epilogue: prologue, mainloop, tail."""
        return self.program(block).mainloop_ops()

    def epilogue_steps(self, block: int) -> Sequence[Op]:
        """Return the ops of the epilogue."""
        return self.program(block).epilogue

    def fills(self, block: int, operand: str) -> Sequence[Fill]:
        """Return every fetch of the slice, in order, with the ring slot that it fills; the last stages - 1 overrun."""
        row, stages = SIDES.index(operand), self.scenario.tiling.stages
        count = self.scenario.k_iterations(int(self.tiles[block, 2])) + stages - 1
        return Each(count, lambda fetch: Fill((row, fetch), fetch % stages))

    def fragments(self, block: int, operand: str) -> Sequence[FragmentTile]:  # noqa: ARG002 - both are alike
        """Return the k tiles of the slice, and one more, of which only k group 0 is loaded."""
        count, tiling = self.scenario.k_iterations(int(self.tiles[block, 2])), self.scenario.tiling

        def tile(k_tile: int) -> FragmentTile:
            return FragmentTile(k_tile % tiling.stages, range(tiling.k_groups if k_tile < count else 1))

        return Each(count + 1, tile)

    def missing_work(self, block: int) -> str:
        """Return "no tile" for a block outside the tiles, otherwise an empty string."""
        return "no tile" if self.tiles[block, 0] < 0 else ""

    @cached_property
    def traced_blocks(self) -> tuple[int, ...]:
        """The first, middle and last block with a tile, the last tile along M and N, and one of a later slice."""
        tiles = self.tiles
        alive = np.flatnonzero(tiles[:, 0] >= 0)
        corner = alive[np.lexsort((tiles[alive, 1], tiles[alive, 0], -tiles[alive, 2]))[-1]]
        chosen = {int(alive[0]), int(alive[len(alive) // 2]), int(alive[-1]), int(corner)}
        later = alive[tiles[alive, 2] > 0]
        if len(later):
            chosen.add(int(later[0]))
        return tuple(sorted(chosen))

    @property
    def ctas(self) -> int:
        """Number of CTAs of all tiles and slices."""
        return prod(self.scenario.grid.tiled)

    def programs(self) -> Iterable[GridProgram[Op]]:
        """
        Yield the parts of each program of the slices: all but its iterations, and one iteration for each ring slot.

        Iterations that consume the same slot execute the same ops, but for their numbers of k tile and fetch.
        """
        stages = self.scenario.tiling.stages
        parts = (
            steps
            for own, _ in self.slice_programs
            for steps in (own.prologue + own.tail + own.epilogue, *own.iterations[:stages])
        )
        yield from map(GridProgram, parts, self.executions())

    def executions(self) -> Sequence[int]:
        """Return how often the grid executes each of ``programs``."""
        tiled, stages = self.scenario.grid.tiled, self.scenario.tiling.stages
        times = []
        for own, slices in self.slice_programs:
            ctas, k_tiles = tiled.m * tiled.n * len(slices), len(own.iterations)
            times += [ctas, *(ctas * len(range(slot, k_tiles, stages)) for slot in range(min(k_tiles, stages)))]
        return times

    @cached_property
    def slice_programs(self) -> tuple[tuple[Program, tuple[int, ...]], ...]:
        """The programs of the split-K slices, and the slices that execute each: all but the last are often alike."""
        scenario = self.scenario
        alike: dict[tuple[int, OutputOp], list[int]] = {}
        for slice_ in range(scenario.grid.tiled.slices):
            alike.setdefault((scenario.k_iterations(slice_), slice_output_op(scenario, slice_)), []).append(slice_)
        return tuple((program(scenario, k_tiles, slices[0]), tuple(slices)) for (k_tiles, _), slices in alike.items())

    def tensor_opcode(self) -> SassOpcode | None:
        """Return HMMA or IMMA, depending on the operands' type; None if the mma.sync is emulated (D27)."""
        ab = self.scenario.problem.dtype.ab
        emulated = is_emulated(ab, self.machine.compute_capability)
        return None if emulated else tensor_opcode(ab)

    def global_counts(self) -> GlobalCounts:
        """Return the counts of global accesses: copies by operand, and the epilogue's accesses."""
        scenario, tiled, shape = self.scenario, self.scenario.grid.tiled, mainloop_shape(self.scenario)
        asked = {
            side: grid_requests(
                operand, tiled, scenario.k_iterations(), around_l1=shape.of(side).cache == "cg", banks=self.banks
            )
            for side, operand in scenario.operands.items()
        }
        epilogue, slices = scenario.epilogue, range(tiled.slices)
        readers = [slice_output_op(scenario, slice_) for slice_ in slices]
        sources, biases = (sum(does.with_source for does in readers), sum(does.with_bias for does in readers))
        copies = not mainloop_policy(scenario).through_registers
        return GlobalCounts(
            load_sectors={
                **{side: requests.sectors for side, requests in asked.items()},
                "source": epilogue.sectors() * sources if sources else 0,
                "bias": self._bias_sectors() * biases if biases else 0,
            },
            line_returns=sum(requests.returns for requests in asked.values()) if copies else 0,
            store_sectors=epilogue.all_sectors(tiled.slices),
            predicated={side: self._predicated(side) for side in SIDES},
        )

    def _bias_sectors(self) -> int:
        """Return the sectors of the bias that one slice requests. Each warp of a CTA reads all of the CTA's columns."""
        tiled, tile = self.scenario.grid.tiled, self.scenario.epilogue
        access = tile.bias(np.arange(tiled.n, dtype=np.int64))
        offset, valid = over_warps(access.offset, axis=1), over_warps(access.valid, axis=1)
        return access_sectors(offset, valid, tile.output_bits, tile.elements_per_access) * tiled.m

    def _predicated(self, side: Side) -> tuple[int, int]:
        """
        Return wavefronts and ideal wavefronts of an operand's copies that do not zero-fill, over all tiles and slices.

        All copies of a fetch zero-fill, or none does; those of the prologue all zero-fill. Fetches with equal
        predicates into the same slot are evaluated once.
        """
        tiled, operand = self.scenario.grid.tiled, self.scenario.operand(side)
        sharing_ctas = tiled.n if side == "a" else tiled.m
        signatures = grid_fetches(operand, tiled, self.scenario.k_iterations()).signature
        stages = operand.tiling.stages
        wavefronts = ideal = 0
        for own, slices in self.slice_programs:
            first = _predicated_fetches(own.iterations[0], side) if own.iterations else set()
            number = np.array(sorted({one + k for one in first for k in range(len(own.iterations))}), dtype=np.int64)
            alike = signatures[:, slices][..., number] * stages + number % stages
            _, places, count = np.unique(alike, return_index=True, return_counts=True)
            valid: dict[int, BoolArray] = {}
            for place, times in zip(places.tolist(), count.tolist(), strict=True):
                tile, own_slice, index = (int(one) for one in np.unravel_index(place, alike.shape))
                slice_, fetch = slices[own_slice], int(number[index])
                signature = int(signatures[tile, slice_, fetch])
                if signature not in valid:
                    valid[signature] = over_warps(operand.iterator(tile, slice_).fetch(fetch).valid)
                taken = predicated_copies(operand.in_shared, fetch % stages, valid[signature].tobytes(), self.banks)
                wavefronts += times * taken.wavefronts
                ideal += times * taken.ideal
        return wavefronts * sharing_ctas, ideal * sharing_ctas


def _predicated_fetches(steps: Sequence[Op], side: Side) -> set[int]:
    """Return the fetches of an operand whose copies do not zero-fill."""
    return {op.fetch for op in steps if isinstance(op, CopyAsync) and op.operand == side and not op.zfill}


def kernels(scenario: GemmScenario) -> tuple[CountedKernel[Op], ...]:
    """Return the kernels of a scenario in launch order."""
    first = TileKernel(scenario)
    return (first, ReductionKernel(scenario)) if scenario.problem.reduces else (first,)
