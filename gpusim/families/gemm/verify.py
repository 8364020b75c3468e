"""Verifies GEMMs and convolutions: executes the program of each split-K slice, and compares with a float64 product."""

from collections.abc import Sequence
from functools import cached_property, partial
from pathlib import Path
from typing import Any

from gpusim.families.gemm.execute import run, slice_programs
from gpusim.families.gemm.program import writes_per_fill
from gpusim.families.verification import Compared, Executed, SayDone, Verification
from gpusim.numerics.reference import agreement_of_blocks, reference, row_blocks
from gpusim.numerics.tensor_csv import check_tensor_folder, save_tensors
from gpusim.numerics.tensors import Tensors, make_tensors
from gpusim.scenario.gemm import GemmScenario
from gpusim.schedule.hazards import Hazard, find_hazards
from gpusim.schedule.mutations import MUTATIONS
from gpusim.schedule.ops import Program


class GemmVerification(Verification[Program, Tensors]):
    """The verification of one GEMM or convolution."""

    scenario: GemmScenario
    mutations = MUTATIONS

    @cached_property
    def programs(self) -> Sequence[Program]:
        """The program of each split-K slice."""
        return slice_programs(self.scenario)

    def order_hazards(self, programs: Sequence[Program]) -> list[tuple[int, Hazard]]:
        """Return the hazards that the order of ops shows, each with its slice."""
        fills = writes_per_fill(self.scenario)
        return [(number, one) for number, program in enumerate(programs) for one in find_hazards(program.ops(), fills)]

    def draw(self, seed: int) -> Tensors:
        """Draw A, B, and source and bias if they are read."""
        return make_tensors(self.scenario, seed)

    def execute(self, tensors: Tensors, programs: Sequence[Program], progress: SayDone | None) -> Executed:
        """Execute slice after slice, and the reduction of a parallel split-K."""
        done = run(self.scenario, tensors, programs, progress)
        return Executed(done.output, done.hazards)

    def elements(self, done: Executed) -> int:
        """Return the number of elements of the output."""
        return int(done.stored.size)

    def compare(self, tensors: Tensors, done: Executed) -> Compared:
        """Compare the output with the float64 reference, element by element."""
        known = partial(reference, self.scenario, tensors)
        blocks = row_blocks(self.scenario.problem.output_view)
        found = agreement_of_blocks((done.stored[rows], known(rows=rows)) for rows in blocks)
        return Compared(found, None, known)

    def refuse_folder(self, folder: Path, *, reference: bool, replace: bool = False) -> None:
        """
        Check that a folder does not hold such tensors yet, or that they may be replaced.

        Raises:
            BadInput: It already holds tensors.
        """
        check_tensor_folder(self.scenario, folder, reference=reference, replace=replace)

    def save(
        self, folder: Path, tensors: Tensors, done: Executed, reference: Any, *, replace: bool = False
    ) -> tuple[Path, ...]:
        """
        Write each tensor as a CSV file, and return the files.

        Raises:
            CannotRun: A file cannot be written.
        """
        value = None if reference is None else reference().value
        return tuple(save_tensors(self.scenario, tensors, done.stored, value, folder, replace=replace))


def verification(scenario: GemmScenario) -> GemmVerification:
    """Return the verification of a scenario."""
    return GemmVerification(scenario)
