"""Describes the kernels of a GEMM or convolution for simulation in time: behaviours, streams, L2 accesses."""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, lru_cache
from math import lcm, prod
from typing import Any

import numpy as np

from gpusim.arrays import IntArray
from gpusim.cuda.specialise import OWN_KERNEL_ONLY, PARAMS, Specialisation
from gpusim.element_types import Mma
from gpusim.errors import BadInput
from gpusim.families.gemm.cutlass.costs import GEMM_COSTS, IteratorCosts
from gpusim.families.gemm.cutlass.parameters import GEMM_STRUCTURES
from gpusim.families.gemm.cutlass.structure import LaunchStructure, fitting_structure
from gpusim.families.gemm.data import TileData
from gpusim.families.gemm.estimated import estimated_stream, uniform_k_tiles
from gpusim.families.gemm.gemm import GemmProblem
from gpusim.families.gemm.program import mainloop_policy, program
from gpusim.families.gemm.reduction.timed import TimedReduction
from gpusim.families.gemm.specialise import POINTERS, specialise, specialise_any_extents
from gpusim.lower.compiled import CompilableKernel
from gpusim.lower.runner import Repetition
from gpusim.lower.sass.emulate import Load
from gpusim.lower.stream import Stream
from gpusim.lower.stream_file import CompiledStream
from gpusim.machine.spec import Machine
from gpusim.numerics.output_op import OutputOp, slice_output_op
from gpusim.results.result import StreamOrigin
from gpusim.scenario.gemm import GemmScenario
from gpusim.schedule import ops
from gpusim.sim.code import Noted
from gpusim.sim.timed_kernel import TimedKernel, Watch
from gpusim.units import WARP_SIZE

_COPY, _LDMATRIX, _MMA = range(3)


class TimedTileKernel(TileData, CompilableKernel[ops.Op], TimedKernel[ops.Op]):
    """The tile kernel of a GEMM or convolution for simulation in time."""

    watch = Watch(
        activities=("copy", "ldmatrix", "mma"),
        copy="copy",
        first="mma",
        last="mma",
        uncut=frozenset({"copy", "ldmatrix", "mma"}),
        numbers_waits=True,
    )
    trips_go_round = True
    parameters = PARAMS

    def __init__(self, scenario: GemmScenario, machine: Machine) -> None:
        super().__init__(scenario, machine)
        self._estimated: dict[ops.Program, Stream] = {}
        self._streams: dict[tuple[int, OutputOp], Stream] = {}

    # --- its CTAs ---

    def behaviour(self, cta: int) -> int:
        """Return the CTA's split-K slice. Slices may have equal programs, but wait for different semaphore values."""
        return self._tile(cta)[2]

    @property
    def orders_slices(self) -> bool:
        """Whether this is a serial split-K."""
        problem = self.scenario.problem
        return problem.split_k_slices > 1 and not problem.reduces

    @cached_property
    def _of_tile(self) -> dict[tuple[int, ...], int]:
        """The CTA of every (tile m, tile n, slice)."""
        return {tile: cta for cta, tile in enumerate(self._launched_tiles)}

    def follows(self, cta: int) -> int:
        """Return the CTA of the slice before, which a serial split-K's semaphore waits for, or -1."""
        if not self.orders_slices:
            return -1
        tile_m, tile_n, slice_ = self._tile(cta)
        return self._of_tile.get((tile_m, tile_n, slice_ - 1), -1)

    def kind(self, cta: int, runs: Hashable) -> Hashable:
        """
        Return the kind of a CTA: its behaviour and its place at ragged edges of the output.

        CTAs at a ragged edge fetch and store less.
        """
        tile_m, tile_n, _ = self._tile(cta)
        (rows, columns, _), extents = self.scenario.tiling.threadblock, self.scenario.problem.extents
        return runs, (tile_m + 1) * rows > extents.m, (tile_n + 1) * columns > extents.n

    # --- its code ---

    @property
    def lender(self) -> "TimedTileKernel":
        """
        A kernel with equal estimated code and fewer tiles: one whole tile, the ragged ones, and few trips of the loop.

        Convolutions and split-K lower their own code. So does a GEMM whose vectors would be wider with small extents.
        """
        return self if self._lends_itself else _lender(self._small, self.machine)

    @cached_property
    def _small(self) -> GemmScenario:
        return _with_small_extents(self.scenario)

    @cached_property
    def _lends_itself(self) -> bool:
        return self._small == self.scenario

    @property
    def shared_bytes(self) -> int:
        """Shared memory of a CTA, bytes: the larger of the operands' rings and the epilogue's staging."""
        return self.scenario.shared_bytes

    @property
    def stages(self) -> int:
        """Number of slots in the shared-memory ring."""
        return self.scenario.tiling.stages

    def require(self) -> None:
        """
        Check that the machine has cp.async if the mainloop uses it.

        Raises:
            BadInput: The machine lacks cp.async.
        """
        if not mainloop_policy(self.scenario).through_registers and self.machine.async_copy is None:
            mainloop = self.scenario.kernel.mainloop
            raise BadInput(f"{self.machine.name}: the {mainloop} mainloop needs cp.async, which this machine lacks")

    def can_be_compiled(self) -> bool:
        """Return whether its machine code is at hand: CUTLASS's only if the user gives it."""
        return self.user is not None or (self.scenario.kernel.code == "gpusim" and super().can_be_compiled())

    def compiled(self, slice_: int = 0) -> CompiledStream:
        """
        Return the stream of one split-K slice with its listing, as in ``CompilableKernel``.

        Raises:
            BadInput: It is to be CUTLASS's, which only the user has.
        """
        if self.user is None and self.scenario.kernel.code != "gpusim":
            raise BadInput(OWN_KERNEL_ONLY)
        return super().compiled(slice_)

    def stream(self, behaviour: Any, origin: StreamOrigin) -> Stream:
        """Return the stream of a split-K slice, estimated or from its machine code."""
        if origin == "compiled":
            return self.compiled(behaviour).stream
        trips = self.scenario.k_iterations(behaviour)
        if self.lender is not self:
            lent = self.lender.stream(behaviour, origin)
            segments = (replace(one, trips=trips) if one.name == "mainloop" else one for one in lent.segments)
            return replace(lent, segments=tuple(segments))
        alike = trips, slice_output_op(self.scenario, behaviour)
        if alike not in self._streams:
            runs = program(self.scenario, trips, behaviour)
            if runs not in self._estimated:
                costs = self.cutlass_costs if self.scenario.kernel.code == "cutlass" else None
                self._estimated[runs] = estimated_stream(self.scenario, runs, self.machine, behaviour, costs)
            self._streams[alike] = self._estimated[runs]
        return self._streams[alike]

    @cached_property
    def specialisation(self) -> Specialisation:
        """The kernel's plain build."""
        return specialise(self.scenario)

    @cached_property
    def any_extents(self) -> Specialisation | None:
        """The plain build that serves all extents of the kernel's configuration."""
        return specialise_any_extents(self.scenario)

    @cached_property
    def slice_blocks(self) -> Sequence[int]:
        """Linear block index of the first CTA of each slice."""
        slices = range(self.scenario.grid.tiled.slices)
        return tuple(int(np.flatnonzero(self.tiles[:, 2] == slice_)[0]) for slice_ in slices)

    def typical_blocks(self, slice_: int) -> Sequence[int]:
        """Return the first, the middle and the last CTA of a slice."""
        blocks = np.flatnonzero(self.tiles[:, 2] == slice_).tolist()
        return blocks[0], blocks[len(blocks) // 2], blocks[-1]

    @property
    def pointers(self) -> Mapping[str, int]:
        """Assumed global byte address of each tensor."""
        return POINTERS

    def values(self, k_iterations: int) -> Mapping[str, Any]:
        """Return the parameters of a launch."""
        problem = self.scenario.problem
        return {**POINTERS, "alpha": problem.alpha, "beta": problem.beta, "k_iterations": k_iterations}

    def repetition(self, block: int) -> Repetition[ops.Op]:
        """Return the mainloop of a block. Addresses repeat with the ring of stages and with the filter positions."""
        runs = self.program(block)
        turn = lcm(self.stages, self.scenario.problem.k_tiles_per_interval)
        return Repetition(runs.prologue, runs.iterations, runs.tail + runs.epilogue, turn)

    @property
    def cutlass_costs(self) -> IteratorCosts:
        """
        Costs of the iterators of CUTLASS's own kernel.

        Raises:
            BadInput: They were not counted for this kind of problem.
        """
        return GEMM_COSTS

    @property
    def launch_structures(self) -> tuple[LaunchStructure, ...]:
        """Parameter structures of CUTLASS's kernels of this kind of problem."""
        return GEMM_STRUCTURES

    def packed(self, kernel: str, size: int, k_iterations: int) -> bytes:
        """Return the parameter structure of a launch: that of ``kernels_cuda``, or of a CUTLASS kernel."""
        if size != self.parameters.itemsize:
            structure = fitting_structure(self.launch_structures, self.scenario, kernel, size)
            if structure is not None:
                return structure.pack(self.scenario, self.pointers)
        return super().packed(kernel, size, k_iterations)

    def memory(self, block: int) -> Load:
        """
        Return a function that reads global memory as it is when the block starts its epilogue.

        All earlier slices have finished: each of their warps has incremented the semaphore. Everything else is zero.
        """
        counted = int(self.tiles[block, 2]) * self.scenario.tiling.threads // WARP_SIZE
        semaphore = POINTERS["semaphore"]

        def load(address: IntArray) -> IntArray:
            return np.where(address >> 40 == semaphore >> 40, counted, 0)

        return load

    def noted(self, step: ops.Op, behaviour: Hashable) -> Noted:  # noqa: ARG002 - programs are alike in this
        """
        Return the activity of a step: copies by k tile, fragment loads and MMAs by k tile and k group.

        A wait begins at a wait_group, or in a pipelined mainloop at a store to shared memory.
        """
        match step:
            case ops.CopyAsync(_, fetch) | ops.LoadGlobal(_, fetch):
                return Noted(_COPY, fetch)
            case ops.StoreTile(_, fetch):
                return Noted(_COPY, fetch, opens_wait=True)
            case ops.Ldmatrix(_, k_tile, k_group) | ops.LoadFragment(_, k_tile, k_group):
                return Noted(_LDMATRIX, k_tile, k_group)
            case ops.WarpMma(k_tile, k_group):
                return Noted(_MMA, k_tile, k_group)
            case ops.WaitGroup() | ops.Barrier():
                return Noted(_MMA, opens_wait=isinstance(step, ops.WaitGroup))
            case _:
                return Noted()

    # --- its work ---

    @property
    def mma(self) -> Mma:
        """The kernel's mma.sync."""
        return self.scenario.mma

    @property
    def flops(self) -> int:
        """Number of multiplications and additions of the whole product."""
        return 2 * prod(self.scenario.problem.extents)

    def k_tiles(self, cta: int) -> int:
        """Return the number of k tiles of the CTA's slice."""
        return self.scenario.k_iterations(self._tile(cta)[2])


def _with_small_extents(scenario: GemmScenario) -> GemmScenario:
    """Return the scenario of a kernel's lender; the kernel's own scenario if it lowers its own code."""
    problem, (tile_m, tile_n, tile_k) = scenario.problem, scenario.tiling.threadblock
    if not isinstance(problem, GemmProblem) or problem.split_k_slices > 1:
        return scenario
    least = uniform_k_tiles(scenario.tiling.stages)
    small = problem.model_copy(
        update={
            "m": problem.m % tile_m + tile_m,
            "n": problem.n % tile_n + tile_n,
            "k": problem.k - max(0, scenario.k_iterations() - least) * tile_k,
        }
    )
    if any(small.access(which) != problem.access(which) for which in "abc"):
        return scenario
    return scenario.model_copy(update={"problem": small})


@lru_cache(maxsize=32)
def _lender(scenario: GemmScenario, machine: Machine) -> TimedTileKernel:
    return TimedTileKernel(scenario, machine)


def timed_kernels(scenario: GemmScenario, machine: Machine) -> tuple[TimedKernel[ops.Op], ...]:
    """Return the kernels of a scenario in launch order."""
    return with_reduction(TimedTileKernel(scenario, machine))


def with_reduction(first: TimedTileKernel) -> tuple[TimedKernel[ops.Op], ...]:
    """Return a tile kernel, and after it the reduction of a parallel split-K."""
    if not first.scenario.problem.reduces:
        return (first,)
    return first, TimedReduction(first.scenario, first.machine)
