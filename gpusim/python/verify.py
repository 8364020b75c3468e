"""Verifies a scenario's numbers for a program or a notebook, with the defaults of ``gpusim verify``."""

import secrets
from pathlib import Path

from gpusim.arguments import MOST_SEED, flag, path, whole_number, word
from gpusim.families.registry import family_of
from gpusim.families.verification import VerifyReport
from gpusim.verbs import verify as verb
from gpusim.verbs.load import ScenarioSource, load

_DRAWN = 1 << 32
"""Upper limit of drawn seeds."""


def verify(
    scenario: ScenarioSource,
    *,
    seed: int | None = 0,
    mutate: str | None = None,
    reference_check: bool = True,
    save_tensors: str | Path | None = None,
) -> VerifyReport:
    """
    Execute a scenario's schedule on random data, compare with a float64 reference, and look for hazards.

    Args:
        scenario: A scenario, or what ``gpusim.load`` takes: a file, the name of a shipped scenario, data.
        seed: Seed of the random tensors. None draws one; the report states it, so the call can be repeated.
        mutate: Name of a mutation that breaks the schedule on purpose, such as "missing_barrier".
        reference_check: Compare the output with the reference; False only looks for hazards.
        save_tensors: Folder to write the tensors to; None does not write them.

    Returns:
        The report; ``ok`` says whether every check passed. A failed check raises nothing.

    Raises:
        BadInput: The scenario is wrong, there is no such mutation, the mutation has nothing to break, or the folder
            already holds tensors.
        CannotRun: A tensor cannot be written.

    >>> verify("gemm_ragged").ok
    True
    """
    chosen = secrets.randbelow(_DRAWN) if seed is None else whole_number("seed", seed, 0, MOST_SEED)
    folder = None if save_tensors is None else path("save_tensors", save_tensors)
    compares = flag("reference_check", reference_check)
    read = load(scenario)
    mutations = family_of(read).verifications.verification(read).mutations
    if mutate is not None:
        word("mutate", mutate, tuple(mutations))
    return verb.verify(
        read, chosen, None if mutate is None else mutations[mutate], reference_check=compares, save_to=folder
    )
