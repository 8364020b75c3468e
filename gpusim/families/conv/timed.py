"""Describes the kernels of a convolution for simulation in time: a GEMM's, but for what CUTLASS's own kernels are."""

from typing import Any

from gpusim.errors import BadInput
from gpusim.families.conv.fprop.costs import fprop_costs
from gpusim.families.conv.fprop.parameters import IMPLICIT_GEMM
from gpusim.families.conv.fprop.problem import Conv2dFpropProblem
from gpusim.families.gemm.cutlass.costs import IteratorCosts
from gpusim.families.gemm.cutlass.structure import LaunchStructure
from gpusim.families.gemm.timed import TimedTileKernel, with_reduction
from gpusim.machine.spec import Machine
from gpusim.scenario.gemm import GemmScenario
from gpusim.sim.timed_kernel import TimedKernel


class TimedConvolution(TimedTileKernel):
    """The tile kernel of a convolution for simulation in time."""

    @property
    def cutlass_costs(self) -> IteratorCosts:
        """
        Costs of the iterators of CUTLASS's own kernel.

        Raises:
            BadInput: They were counted for forward convolutions alone.
        """
        problem = self.scenario.problem
        if not isinstance(problem, Conv2dFpropProblem):
            raise BadInput(f'kernel.code must be "gpusim" for {self.scenario.kind}, got "cutlass"')
        return fprop_costs(problem.shape, self.scenario.kernel.iterator)

    @property
    def launch_structures(self) -> tuple[LaunchStructure, ...]:
        """Parameter structures of CUTLASS's kernels of this operator; none is known of a data gradient's."""
        return (IMPLICIT_GEMM,) if isinstance(self.scenario.problem, Conv2dFpropProblem) else ()


def timed_kernels(scenario: GemmScenario, machine: Machine) -> tuple[TimedKernel[Any], ...]:
    """Return the kernels of a scenario in launch order."""
    return with_reduction(TimedConvolution(scenario, machine))
