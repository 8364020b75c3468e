"""Registers the GEMMs as a family, with their problem kind."""

from gpusim.families.family import Family
from gpusim.families.gemm.gemm import GemmProblem
from gpusim.scenario.checks import check
from gpusim.scenario.gemm import GemmScenario
from gpusim.scenario.kernel import Kernel
from gpusim.scenario.read import Kind

GEMM = Family(
    "gpusim.families.gemm",
    (Kind("gemm", GemmProblem, Kernel, GemmScenario, check, {"kernel.iterator": GemmProblem.has_iterators}),),
)
