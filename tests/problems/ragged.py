"""A ragged GEMM of two CTAs, and the ways in which a launch of it can differ."""

from typing import Any

from gpusim.families.registry import parse_gemm_scenario
from gpusim.scenario.gemm import GemmScenario

KERNEL = {"threadblock": [64, 64, 32], "warp": [32, 32, 32], "stages": 3}
GEMM = {"kind": "gemm", "m": 72, "n": 40, "k": 104}


def ragged(**problem: Any) -> GemmScenario:
    """The GEMM on an H200; ``problem`` changes its keys."""
    return parse_gemm_scenario({"machine": "h200", "problem": GEMM | problem, "kernel": KERNEL}, "test")


RAGGED = ragged()
SPLIT = ragged(split_k_slices=2)
PARALLEL = ragged(split_k_slices=2, split_k="parallel")
