"""All kernels that a GEMM or convolution is compiled to: the tile kernel, and the reduction of a parallel split-K."""

from gpusim.cuda.specialise import Build, Specialisation
from gpusim.families.gemm.reduction.cuda import specialise_reduction
from gpusim.families.gemm.specialise import specialise
from gpusim.scenario.gemm import GemmScenario


def specialisations(scenario: GemmScenario, build: Build = "plain") -> tuple[Specialisation, ...]:
    """The kernels of a scenario in the order of their launches; a second, which has no timeline build, stays plain."""
    if not scenario.problem.reduces:
        return (specialise(scenario, build),)
    return specialise(scenario, build), specialise_reduction(scenario, "plain" if build == "timeline" else build)
