"""Verifies a scenario's numbers for a program or a notebook, with the defaults of ``gpusim verify``."""

from pathlib import Path

from gpusim.errors import BadInput
from gpusim.families.registry import family_of
from gpusim.families.verification import VerifyReport
from gpusim.verbs import verify as verb
from gpusim.verbs.load import ScenarioSource, load


def verify(
    scenario: ScenarioSource,
    *,
    seed: int = 0,
    mutate: str | None = None,
    reference_check: bool = True,
    save_tensors: str | Path | None = None,
) -> VerifyReport:
    """
    Execute a scenario's schedule on random data, compare with a float64 reference, and look for hazards.

    Args:
        scenario: A scenario, or what ``gpusim.load`` takes: a file, the name of a shipped scenario, data.
        seed: Seed of the random tensors.
        mutate: Name of a mutation that breaks the schedule on purpose, such as "missing_barrier".
        reference_check: Compare the output with the reference; False only looks for hazards.
        save_tensors: Folder to write the tensors to; None does not write them.

    Returns:
        The report; ``ok`` says whether every check held. A check that fails raises nothing.

    Raises:
        BadInput: The scenario is wrong, there is no such mutation, it finds nothing to break, or the folder already
            holds tensors.
        CannotRun: A tensor cannot be written.

    >>> verify("gemm_ragged").ok
    True
    """
    read = load(scenario)
    mutations = family_of(read).verifications.verification(read).mutations
    if mutate is not None and mutate not in mutations:
        raise BadInput(f"mutate must be one of {', '.join(mutations)}, got {mutate!r}")
    return verb.verify(
        read,
        seed,
        None if mutate is None else mutations[mutate],
        reference_check=reference_check,
        save_to=None if save_tensors is None else Path(save_tensors),
    )
