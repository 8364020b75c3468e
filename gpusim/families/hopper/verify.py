"""Verifies sm_90 GEMMs: executes all clusters of a grid on data, and compares with a float64 product."""

from collections.abc import Sequence
from functools import cached_property

from gpusim.families.hopper.execute.grid import run_grid
from gpusim.families.hopper.execute.mutations import HOPPER_MUTATIONS
from gpusim.families.hopper.execute.program import ClusterProgram, cluster_programs
from gpusim.families.hopper.execute.reference import references
from gpusim.families.hopper.execute.tensors import HopperTensors, draw_tensors
from gpusim.families.hopper.problem import HopperScenario
from gpusim.families.verification import MEMORY_OF_ELEMENT, Compared, Executed, SayDone, Verification
from gpusim.numerics.reference import agreement_of_blocks
from gpusim.schedule.hazards import Hazard

_MEMORY_OF_OP = 200
"""Bytes of an operation, about."""


class HopperVerification(Verification[ClusterProgram, HopperTensors]):
    """The verification of one scenario; a row of the output is a (batch, row)."""

    scenario: HopperScenario
    mutations = HOPPER_MUTATIONS

    def __init__(self, scenario: HopperScenario) -> None:
        """Prepare the verification of a scenario."""
        self.scenario, self.mainloop = scenario, scenario.kernel.schedule

    @property
    def memory(self) -> int:
        """Bytes of the tensors while an execution is compared, and of the programs."""
        problem, (m, n, k) = self.scenario.problem, self.scenario.kernel.tile
        elements = problem.l * (problem.m * problem.k + problem.k * problem.n + 2 * problem.m * problem.n)
        tiles = problem.l * -(-problem.m // m) * -(-problem.n // n)
        multiplied = -(-m // 64) * k // self.scenario.instruction_k
        return elements * MEMORY_OF_ELEMENT + tiles * self.scenario.k_tiles * (multiplied + 16) * _MEMORY_OF_OP

    @cached_property
    def programs(self) -> Sequence[ClusterProgram]:
        """The program of each cluster."""
        return cluster_programs(self.scenario)

    def order_hazards(self, programs: Sequence[ClusterProgram]) -> list[tuple[int, Hazard]]:  # noqa: ARG002
        """Return no hazard: those of order are found by the execution, with vector clocks."""
        return []

    def draw(self, seed: int) -> HopperTensors:
        """Draw A, B, and C if it is read."""
        return draw_tensors(self.scenario.problem, seed)

    def execute(self, tensors: HopperTensors, programs: Sequence[ClusterProgram], progress: SayDone | None) -> Executed:
        """Execute cluster after cluster."""
        return run_grid(self.scenario, tensors, programs, progress)

    def elements(self, done: Executed) -> int:
        """Return the number of elements of the output."""
        return int(done.stored.size)

    def compare(self, tensors: HopperTensors, done: Executed) -> Compared:
        """Compare the output with the float64 reference, element by element."""
        known = references(self.scenario.problem, tensors)
        found = agreement_of_blocks((done.stored[batch, rows], expected) for batch, rows, expected in known)
        return Compared(found, None, None)


def verification(scenario: HopperScenario) -> HopperVerification:
    """Return the verification of a scenario."""
    return HopperVerification(scenario)
