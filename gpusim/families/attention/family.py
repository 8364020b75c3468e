"""The family of fused attention, and how its scenarios are read."""

from gpusim.families.attention.checks import check_attention
from gpusim.families.attention.problem import AttentionKernel, AttentionProblem, AttentionScenario
from gpusim.families.family import Family
from gpusim.scenario.read import Kind

ATTENTION = Family(
    "gpusim.families.attention",
    (Kind("attention", AttentionProblem, AttentionKernel, AttentionScenario, check_attention),),
)
