"""Verifies that a scenario's kernel computes the right numbers, and finds the hazards in its ops and its data."""

from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from gpusim.errors import BadInput
from gpusim.families.registry import family_of
from gpusim.families.verification import SayDone, Verification, VerifyReport
from gpusim.scenario.checks import MOST_MEMORY, in_gib
from gpusim.scenario.models import Scenario


def verifiable(
    scenario: Scenario, *, reference_check: bool = True, save_to: Path | None = None, replace: bool = False
) -> Verification[Any, Any]:
    """
    Return the verification of a scenario, and check that it can run and that its tensors can be written.

    Arguments are those of ``verify``. Nothing is computed.

    Raises:
        BadInput: The problem takes more than ``MOST_MEMORY``, or its tensors cannot be written to the folder.
    """
    checked: Verification[Any, Any] = family_of(scenario).verifications.verification(scenario)
    if save_to is not None:
        checked.refuse_folder(save_to, reference=reference_check, replace=replace)
    if checked.memory > MOST_MEMORY:
        need, most = in_gib(checked.memory), in_gib(MOST_MEMORY)
        raise BadInput(f"problem must be small enough to be executed in {most} of memory, not in {need}")
    return checked


def verify(
    scenario: Scenario,
    seed: int,
    mutate: Callable[[Any], Any] | None = None,
    progress: SayDone | None = None,
    *,
    reference_check: bool = True,
    save_to: Path | None = None,
    replace: bool = False,
    saved: Callable[[tuple[Path, ...]], None] | None = None,
) -> VerifyReport:
    """
    Run a scenario on random data, compare with the float64 reference, and look for hazards.

    Args:
        scenario: Problem and kernel.
        seed: Seed of the random tensors.
        mutate: Breaks each program on purpose, to test that the checks notice (``Verification.mutations``).
        progress: Called after each batch of CTAs with the CTAs done and the CTAs of the grid.
        reference_check: Compute the reference and compare; False only looks for hazards.
        save_to: Folder for the tensors; None does not write them.
        replace: Replace tensors that the folder holds.
        saved: Called with the written files.

    Raises:
        BadInput: The problem takes more than ``MOST_MEMORY``, or the mutation has nothing to break in this schedule,
            or the folder already holds tensors.
        CannotRun: A tensor cannot be written.

    Not modelled: the order in which warps run. Hazards are found for any order; the numbers are those of one order.
    """
    checked = verifiable(scenario, reference_check=reference_check, save_to=save_to, replace=replace)
    programs = tuple(checked.programs)
    mutation = next((name for name, breaks in checked.mutations.items() if breaks is mutate), None)
    if mutate is not None:
        broken = tuple(map(mutate, programs))
        if broken == programs:
            name = getattr(mutate, "__name__", "the mutation")
            raise BadInput(f"{name} finds nothing to break in this {checked.mainloop} schedule")
        programs = broken
    in_order = checked.order_hazards(programs)
    tensors = checked.draw(seed)
    done = checked.execute(tensors, programs, progress)
    hazards: tuple[dict[str, Any], ...] = (
        *({"origin": "schedule", "slice": slice_} | asdict(hazard) for slice_, hazard in in_order),
        *({"origin": "data", "slice": -1} | asdict(hazard) for hazard in done.hazards),
    )
    elements = checked.elements(done)
    found = checked.compare(tensors, done) if reference_check and elements else None
    if save_to is not None:
        files = checked.save(save_to, tensors, done, None if found is None else found.reference, replace=replace)
        if saved is not None:
            saved(files)
    if found is None:
        return VerifyReport(
            *(not hazards, seed, elements, 0, None, None, None, hazards, checked.uncompared()),
            scenario=scenario.resolved(),
            mutation=mutation,
        )
    agreement, second, _ = found
    return VerifyReport(
        ok=agreement.wrong_elements == 0 and (second is None or second.wrong == 0) and not hazards,
        seed=seed,
        elements=agreement.elements,
        wrong_elements=agreement.wrong_elements,
        max_error=agreement.max_error,
        max_error_over_bound=agreement.max_error_over_bound,
        worst_element=agreement.worst_element,
        hazards=hazards,
        second=second,
        scenario=scenario.resolved(),
        mutation=mutation,
    )
