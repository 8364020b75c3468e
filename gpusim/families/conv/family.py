"""Registers the 2-d convolutions as a family, with a problem kind for each operator."""

from gpusim.families.conv.dgrad.problem import Conv2dDgradProblem
from gpusim.families.conv.fprop.problem import Conv2dFpropProblem
from gpusim.families.family import Family
from gpusim.families.gemm.family import GEMM
from gpusim.families.gemm.gemm import TRANSPOSABLE_BITS
from gpusim.scenario.checks import check
from gpusim.scenario.gemm import GemmScenario
from gpusim.scenario.kernel import Kernel
from gpusim.scenario.models import values_of_types
from gpusim.scenario.read import Kind

CONV = Family(
    "gpusim.families.conv",
    (
        Kind("conv2d_fprop", Conv2dFpropProblem, Kernel, GemmScenario, check),
        Kind(
            "conv2d_dgrad",
            Conv2dDgradProblem,
            Kernel,
            GemmScenario,
            check,
            {"kernel.iterator": Conv2dDgradProblem.has_iterators, **values_of_types(TRANSPOSABLE_BITS)},
        ),
    ),
    extends=GEMM,
)
