"""Describes the second kernel of a parallel split-K for simulation in time."""

from collections.abc import Hashable, Mapping
from dataclasses import replace
from functools import cached_property
from typing import Any

from gpusim.cuda.specialise import PARAMS, Specialisation
from gpusim.element_types import element_bits
from gpusim.families.gemm.reduction.cuda import specialise_reduction
from gpusim.families.gemm.reduction.estimated import estimated_reduction
from gpusim.families.gemm.reduction.schedule import ReductionKernel
from gpusim.families.gemm.specialise import POINTERS
from gpusim.lower.compiled import CompilableKernel
from gpusim.lower.stream import Stream
from gpusim.machine.spec import Machine
from gpusim.results.result import StreamOrigin
from gpusim.scenario.gemm import GemmScenario
from gpusim.schedule.ops import Op
from gpusim.sim.footprint import FROM_DRAM, L2Status
from gpusim.sim.timed_kernel import TimedKernel


class TimedReduction(ReductionKernel, CompilableKernel[Op], TimedKernel[Op]):
    """
    The reduction of a parallel split-K for simulation in time. All its CTAs are alike.

    Partial sums come from DRAM, as where caches are emptied between the kernels (D28).
    """

    parameters = PARAMS
    slice_blocks = (0,)
    stages = 1
    shared_bytes = 0
    flops = 0
    mma = None

    pointers = POINTERS

    def __init__(self, scenario: GemmScenario, machine: Machine) -> None:
        super().__init__(scenario, machine)

    def behaviour(self, cta: int) -> Hashable:  # noqa: ARG002 - all are alike
        """Return 0: all CTAs execute the same stream."""
        return 0

    @cached_property
    def specialisation(self) -> Specialisation:
        """The kernel's plain build."""
        return specialise_reduction(self.scenario)

    def stream(self, behaviour: Hashable, origin: StreamOrigin) -> Stream:  # noqa: ARG002 - all are alike
        """Return the stream of all CTAs, estimated or from the machine code."""
        return self.compiled().stream if origin == "compiled" else estimated_reduction(self.scenario)

    def values(self, k_iterations: int) -> Mapping[str, Any]:
        """Return the parameters of a launch."""
        problem = self.scenario.problem
        return {**POINTERS, "alpha": problem.alpha, "beta": problem.beta, "k_iterations": k_iterations}

    def found(self, cta: int, *, first_wave: bool) -> tuple[L2Status, ...]:  # noqa: ARG002 - all are alike
        """Return the L2 status of the loads: partial sums and source come from DRAM, the bias once for all rows."""
        bias = replace(FROM_DRAM, missed=FROM_DRAM.missed // self.scenario.problem.extents.m)
        return (*(FROM_DRAM,) * (self.tile.slices + 1), bias)

    @property
    def other_dram_bytes(self) -> int:
        """Bytes of the partial sums and of the source, which are read once."""
        extents = self.scenario.problem.extents
        partial = self.tile.slices * extents.m * extents.n * element_bits(self.tile.accumulator_type) // 8
        return partial + source_bytes(self.scenario)

    def k_tiles(self, cta: int) -> int:  # noqa: ARG002 - none has any
        """Return 0: a reduction has no k tiles."""
        return 0


def source_bytes(scenario: GemmScenario) -> int:
    """Return the bytes of the source that an epilogue or a reduction reads from DRAM; 0 if beta is 0."""
    problem, extents = scenario.problem, scenario.problem.extents
    return extents.m * extents.n * element_bits(problem.dtype.output) // 8 if problem.beta != 0 else 0
