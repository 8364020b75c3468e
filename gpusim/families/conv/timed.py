"""Describes the kernels of a convolution for simulation in time: those of a GEMM, launched with other structures."""

from collections.abc import Mapping
from typing import Any, Final

from gpusim.families.conv.fprop.parameters import IMPLICIT_GEMM
from gpusim.families.gemm.cutlass.structure import LaunchStructure
from gpusim.families.gemm.timed import TimedTileKernel, with_reduction
from gpusim.machine.spec import Machine
from gpusim.scenario.gemm import GemmScenario
from gpusim.sim.timed_kernel import TimedKernel

_STRUCTURES: Final[Mapping[str, tuple[LaunchStructure, ...]]] = {"conv2d_fprop": (IMPLICIT_GEMM,)}


class TimedConvolution(TimedTileKernel):
    """The tile kernel of a convolution for simulation in time."""

    @property
    def launch_structures(self) -> tuple[LaunchStructure, ...]:
        """Parameter structures of CUTLASS's kernels of this operator; none is known of a data gradient's."""
        return _STRUCTURES.get(self.scenario.kind, ())


def timed_kernels(scenario: GemmScenario, machine: Machine) -> tuple[TimedKernel[Any], ...]:
    """Return the kernels of a scenario in launch order."""
    return with_reduction(TimedConvolution(scenario, machine))
