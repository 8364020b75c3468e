"""What GEMMs and convolutions are verified by: a program for each split-K slice, and a float64 product."""

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from gpusim.families.gemm.execute import run, slice_programs
from gpusim.families.gemm.program import writes_per_fill
from gpusim.families.verification import Compared, Executed, SayDone, Verification
from gpusim.numerics.reference import agreement, reference
from gpusim.numerics.tensor_csv import check_tensor_folder, save_tensors
from gpusim.numerics.tensors import Tensors, make_tensors
from gpusim.scenario.gemm import GemmScenario
from gpusim.schedule.hazards import Hazard, find_hazards
from gpusim.schedule.mutations import MUTATIONS
from gpusim.schedule.ops import Program


class GemmVerification(Verification[Program, Tensors]):
    """Of one scenario."""

    mutations = MUTATIONS

    def __init__(self, scenario: GemmScenario) -> None:
        self.scenario, self.mainloop = scenario, scenario.kernel.mainloop

    @cached_property
    def programs(self) -> Sequence[Program]:
        """One for each split-K slice."""
        return slice_programs(self.scenario)

    def order_hazards(self, programs: Sequence[Program]) -> list[tuple[int, Hazard]]:
        """By slice."""
        fills = writes_per_fill(self.scenario)
        return [(number, one) for number, program in enumerate(programs) for one in find_hazards(program.ops(), fills)]

    def draw(self, seed: int) -> Tensors:
        """A, B, and source and bias where they are read."""
        return make_tensors(self.scenario, seed)

    def execute(self, tensors: Tensors, programs: Sequence[Program], progress: SayDone | None) -> Executed:
        """Slice after slice, and the reduction of a parallel split-K."""
        done = run(self.scenario, tensors, programs, progress)
        return Executed(done.output, done.hazards)

    def elements(self, done: Executed) -> int:
        """Of the whole output."""
        return int(done.stored.size)

    def compare(self, tensors: Tensors, done: Executed) -> Compared:
        """Element by element."""
        expected = reference(self.scenario, tensors)
        return Compared(agreement(done.stored, expected), None, expected)

    def refuse_folder(self, folder: Path, *, reference: bool) -> None:
        """
        Refuse one that holds such tensors.

        Raises:
            BadInput: It does.
        """
        check_tensor_folder(self.scenario, folder, reference=reference)

    def save(self, folder: Path, tensors: Tensors, done: Executed, reference: Any) -> tuple[Path, ...]:
        """
        Write each as CSV.

        Raises:
            CannotRun: A file cannot be written.
        """
        value = None if reference is None else reference.value
        return tuple(save_tensors(self.scenario, tensors, done.stored, value, folder))


def verification(scenario: GemmScenario) -> GemmVerification:
    """Of one scenario."""
    return GemmVerification(scenario)
