"""Whether a scenario's kernel computes the right numbers, and every hazard that its ops or its data show."""

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any, TypeAlias

from gpusim.errors import BadInput
from gpusim.functional.executor import run, slice_programs
from gpusim.numerics.elements import Values
from gpusim.numerics.reference import Reference, agreement, reference
from gpusim.numerics.tensors import Tensors, make_tensors
from gpusim.scenario.gemm import GemmScenario
from gpusim.schedule.hazards import find_hazards
from gpusim.schedule.mutations import Mutation


@dataclass(frozen=True, slots=True)
class VerifyReport:
    """
    What ``gpusim verify`` answers; ``dataclasses.asdict`` of it is its ``--json``.

    Attributes:
        ok: Every element is within its bound, and there is no hazard.
        seed: Of the random tensors.
        elements: Of the output.
        wrong_elements: Those beyond their bound, or not a number.
        max_error: Largest absolute difference from the float64 reference; None where an element is not a number.
        max_error_over_bound: Largest quotient of difference and bound, at most 1 if all is well; None likewise.
        worst_element: (row, column) of that quotient, or of the first element that is not a number; None where the
            output was not compared, and then no element counts as wrong.
        hazards: Each as a table with at least ``origin`` ("schedule": the order of the ops, "data": what the data
            showed), ``name``, ``message``, ``slice`` (split-K slice; -1 for the data's), ``k_tile``, ``k_group``,
            ``operand``, ``stage``.
    """

    ok: bool
    seed: int
    elements: int
    wrong_elements: int
    max_error: float | None
    max_error_over_bound: float | None
    worst_element: tuple[int, int] | None
    hazards: tuple[dict[str, Any], ...]

    def hazard_names(self) -> frozenset[str]:
        """The names of all hazards."""
        return frozenset(str(hazard["name"]) for hazard in self.hazards)


Keep: TypeAlias = Callable[[Tensors, Values, Reference | None], object]
"""Given the inputs as stored, the output decoded and what it was compared with, before the report is made."""


def verify(
    scenario: GemmScenario,
    seed: int,
    mutate: Mutation | None = None,
    progress: Callable[[int, int], None] | None = None,
    *,
    reference_check: bool = True,
    keep: Keep | None = None,
) -> VerifyReport:
    """
    Run a scenario on random data, compare with the float64 reference, and look for hazards.

    Args:
        scenario: Problem and kernel.
        seed: Of the random tensors.
        mutate: Breaks the schedule on purpose, to see that the checks catch it (``schedule.mutations``).
        progress: Called after each batch of CTAs with the CTAs done and the CTAs of the grid.
        reference_check: Compute the reference and compare; without, only hazards are looked for.
        keep: Called with the tensors.

    Raises:
        BadInput: The mutation finds nothing to break in this schedule.

    Not modelled: which warp comes first. Hazards are found for any order, the numbers are those of one.
    """
    programs = slice_programs(scenario)
    if mutate is not None:
        broken = tuple(mutate(program) for program in programs)
        if broken == programs:
            name = getattr(mutate, "__name__", "the mutation")
            raise BadInput(f"{name} finds nothing to break in this {scenario.kernel.mainloop} schedule")
        programs = broken
    in_order = [
        {"origin": "schedule", "slice": number} | asdict(hazard)
        for number, program in enumerate(programs)
        for hazard in find_hazards(program, scenario)
    ]
    tensors = make_tensors(scenario, seed)
    done = run(scenario, tensors, programs, progress)
    in_data = [{"origin": "data", "slice": -1} | asdict(hazard) for hazard in done.hazards]
    expected = reference(scenario, tensors) if reference_check else None
    if keep is not None:
        keep(tensors, done.output, expected)
    hazards = (*in_order, *in_data)
    if expected is None:
        return VerifyReport(not hazards, seed, int(done.output.size), 0, None, None, None, hazards)
    found = agreement(done.output, expected)
    return VerifyReport(
        ok=found.wrong_elements == 0 and not hazards,
        seed=seed,
        elements=found.elements,
        wrong_elements=found.wrong_elements,
        max_error=found.max_error,
        max_error_over_bound=found.max_error_over_bound,
        worst_element=found.worst_element,
        hazards=hazards,
    )
