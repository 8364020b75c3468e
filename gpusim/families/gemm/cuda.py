"""Lists the kernels that a GEMM or convolution is compiled to: the tile kernel, and a parallel split-K's reduction."""

from gpusim.cuda.specialise import OWN_KERNEL_ONLY, Build, Specialisation
from gpusim.errors import BadInput
from gpusim.families.gemm.reduction.cuda import specialise_reduction
from gpusim.families.gemm.specialise import specialise
from gpusim.scenario.gemm import GemmScenario


def specialisations(scenario: GemmScenario, build: Build = "plain") -> tuple[Specialisation, ...]:
    """
    Return the kernels of a scenario in launch order. A reduction has no timeline build; its plain one is used.

    Raises:
        BadInput: The scenario's kernel is CUTLASS's.
    """
    if scenario.kernel.code != "gpusim":
        raise BadInput(OWN_KERNEL_ONLY)
    if not scenario.problem.reduces:
        return (specialise(scenario, build),)
    return specialise(scenario, build), specialise_reduction(scenario, "plain" if build == "timeline" else build)
