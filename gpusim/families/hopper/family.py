"""The family of sm_90 GEMMs with TMA, mbarriers and wgmma, and how its scenarios are read."""

from gpusim.families.family import Family
from gpusim.families.hopper.checks import check_hopper
from gpusim.families.hopper.problem import HopperKernel, HopperProblem, HopperScenario
from gpusim.scenario.read import Kind

HOPPER = Family(
    "gpusim.families.hopper",
    (Kind("hopper_gemm", HopperProblem, HopperKernel, HopperScenario, check_hopper),),
)
