"""Registers GEMMs and convolutions as a family, with their problem kinds."""

from gpusim.families.family import Family
from gpusim.families.gemm.conv2d import Conv2dFpropProblem
from gpusim.families.gemm.gemm import GemmProblem
from gpusim.scenario.checks import check
from gpusim.scenario.gemm import GemmScenario
from gpusim.scenario.kernel import Kernel
from gpusim.scenario.read import Kind

GEMM = Family(
    "gpusim.families.gemm",
    (
        Kind("gemm", GemmProblem, Kernel, GemmScenario, check, {"kernel.iterator": GemmProblem.has_iterators}),
        Kind("conv2d_fprop", Conv2dFpropProblem, Kernel, GemmScenario, check),
    ),
)
