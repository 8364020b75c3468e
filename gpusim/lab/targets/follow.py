"""Compiles one combination, executes its machine code warp by warp, and checks that it executes its schedule."""

import time
from typing import Literal, NamedTuple, TypeAlias

from gpusim.element_types import is_emulated
from gpusim.errors import BadInput, GpusimError
from gpusim.families.registry import family_of, scenario_of
from gpusim.lab.targets.matrix import Combination
from gpusim.machine.load import load_machine
from gpusim.sim.timed_kernel import AnyKernel

FollowVerdict: TypeAlias = Literal["followed", "refused", "failed"]


class Followed(NamedTuple):
    """
    The result of a combination.

    Attributes:
        combination: The combination.
        verdict: "followed" if its streams are compiled and aligned, "refused" if there is no such kernel on the target,
            and "failed" if its machine code could not be followed.
        why: Why it was not followed; empty if it was.
        seconds: Wall time.
    """

    combination: Combination
    verdict: FollowVerdict
    why: str
    seconds: float


def follow(combination: Combination) -> Followed:
    """Compile a combination's kernels, and make the stream of each behaviour of their CTAs."""
    started = time.perf_counter()
    verdict: FollowVerdict = "followed"
    why = ""
    try:
        kernels = kernels_of(combination)
    except BadInput as error:
        verdict, why = "refused", str(error)
    else:
        try:
            for kernel in kernels:
                for behaviour in dict.fromkeys(kernel.behaviour(cta) for cta in range(len(kernel.launched))):
                    kernel.stream(behaviour, "compiled")
        except GpusimError as error:
            verdict, why = "failed", str(error)
    return Followed(combination, verdict, why, time.perf_counter() - started)


def kernels_of(combination: Combination) -> tuple[AnyKernel, ...]:
    """
    Return a combination's kernels.

    Raises:
        BadInput: There is no such kernel on the target, or its mma.sync is emulated there (D27).
    """
    scenario = scenario_of(combination.data, name="combination")
    machine = load_machine(scenario.machine)
    kernels = family_of(scenario).timing.timed_kernels(scenario, machine)
    for kernel in kernels:
        kernel.require()
        if kernel.mma is not None and is_emulated(kernel.mma.ab, machine.compute_capability):
            raise BadInput(f"sm_{machine.compute_capability} emulates the mma.sync of {kernel.mma.ab} (D27)")
    return kernels
