"""Problems small enough for arithmetic on paper: of a few tiles of 64 by 64 by 64, or of one head."""

from typing import Any

from gpusim.families.attention.problem import AttentionScenario as Attention
from gpusim.families.registry import parse_gemm_scenario, parse_scenario
from gpusim.scenario.gemm import GemmScenario
from gpusim.scenario.kernel import Kernel
from gpusim.scenario.product import MatrixProduct


def small(problem: dict[str, Any], **kernel: Any) -> GemmScenario:
    """A scenario on the H200 in three stages; ``kernel`` changes its tables."""
    tile = {"threadblock": [64, 64, 64], "warp": [32, 32, 64], "stages": 3}
    return parse_gemm_scenario({"machine": "h200", "problem": problem, "kernel": tile | kernel}, "test")


def small_gemm(m: int, n: int, k: int, swizzle: str = "identity<1>", **more: Any) -> GemmScenario:
    """A GEMM of these extents; ``more`` changes the problem."""
    return small({"kind": "gemm", "m": m, "n": n, "k": k} | more, threadblock_swizzle=swizzle)


def small_conv(**more: Any) -> GemmScenario:
    """A 3 by 3 convolution of 16 by 16 pixels and 64 channels into 64; ``more`` changes the problem."""
    problem = {"kind": "conv2d_fprop", "n": 1, "h": 16, "w": 16, "c": 64, "k": 64, "r": 3, "s": 3, "padding": [1, 1]}
    return small(problem | more)


def as_given(problem: MatrixProduct, **kernel: Any) -> GemmScenario:
    """A scenario on the H200 of a problem and a kernel's keys, unchecked."""
    return GemmScenario(machine="h200", problem=problem, kernel=Kernel(**kernel))


def small_attention(mainloop: str = "attention", kernel: dict[str, Any] | None = None, **changes: Any) -> Attention:
    """Attention on the H200: one head, 64 queries, 64 keys, 64 wide; ``changes`` and ``kernel`` change it."""
    head = {"batch": 1, "heads": 1, "queries": 64, "keys": 64, "head_dim": 64, "head_dim_v": 64}
    problem = {"kind": "attention", "dtype": {"ab": "f16", "output": "f16"}} | head | changes
    given = {"machine": "h200", "problem": problem, "kernel": {"mainloop": mainloop} | (kernel or {})}
    return parse_scenario(given, "test")
