"""Random legal scenarios of every element type: the problems of ``functional.problems``, retyped."""

from math import gcd
from typing import Any

import numpy as np

from gpusim.functional.problems import random_data
from gpusim.mma_types import INTEGERS, MMA_SHAPES, OUTPUTS, Shape
from gpusim.scenario import Scenario, element_bits, parse_scenario

TYPES: tuple[tuple[str, str, Shape], ...] = tuple(
    (ab, accumulator, shape) for (ab, accumulator), shapes in MMA_SHAPES.items() for shape in shapes
)
"""(operand type, accumulator type, mma.sync shape) of every instruction the kernels issue."""

_DRAWN_BITS = 16
_WIDEST_NARROW_ACCESS = 8
_DRAWN_NARROW_BITS = 8
_NARROW_ALPHAS = (2.0**-12, 3.0 * 2.0**-14, -(2.0**-13))
"""Scales that bring sums of 8-bit products into the range of 8 bits, some of them beyond it; 64 times for 4 bits."""


def typed_data(seed: int, ab: str, accumulator: str, instruction: Shape) -> dict[str, Any]:
    """
    The scenario of a seed with other types: what is counted along K keeps its bytes, so that all shapes stay legal.

    The output type is one of those the types have, each in turn.
    """
    data = random_data(seed)
    problem, kernel = data["problem"], data["kernel"]
    bits = element_bits(ab)

    def scaled(elements: int) -> int:
        return elements * _DRAWN_BITS // bits

    outputs = OUTPUTS[ab, accumulator]
    output = outputs[seed % len(outputs)]
    problem["dtype"] = {"ab": ab, "accumulator": accumulator, "output": output}
    if output in INTEGERS and output != "s32":
        _narrow_output(problem, element_bits(output), seed)
    for name in ("k", "lda", "ldb") if problem["kind"] == "gemm" else ("c",):
        if name in problem:
            problem[name] = scaled(problem[name])
    for name in ("alignment_a", "alignment_b"):
        if name in problem:
            problem[name] = scaled(problem[name])
    if "alignment_c" in problem:
        problem["alignment_c"] = min(problem["alignment_c"], 128 // element_bits(output))
    for shape in ("threadblock", "warp"):
        m, n, k = kernel[shape]
        kernel[shape] = [m, n, scaled(k)]
    kernel["instruction"] = list(instruction)
    kernel["shared"] = {operand: _rescaled(name, bits) for operand, name in kernel["shared"].items()}
    return data


def _narrow_output(problem: dict[str, Any], bits: int, seed: int) -> None:
    """A scale that clamps some results, and rows of whole bytes, stored in vectors that narrow tiles have too."""
    narrower = _DRAWN_NARROW_BITS // bits
    problem["alpha"] = _NARROW_ALPHAS[seed % len(_NARROW_ALPHAS)] * narrower**6
    names = ("n", "ldc") if problem["kind"] == "gemm" else ("k",)
    for name in names:
        if name in problem:
            problem[name] += problem[name] % narrower
    # 16 elements an access do not cover the slabs of narrow tiles.
    problem["alignment_c"] = gcd(_WIDEST_NARROW_ACCESS, *(problem.get(name, 0) for name in names))


def _rescaled(layout: str, bits: int) -> str:
    """A shared layout of 16-bit elements for another width: the same bytes."""
    if layout.startswith("padded"):
        return f"padded<{int(layout[7:-1]) * _DRAWN_BITS // bits}>"
    if layout.startswith("Swizzle"):
        swizzle, base, shift = layout[8:-1].split(",")
        return f"Swizzle<{swizzle},{int(base) + int(np.log2(_DRAWN_BITS // bits or 0.5))},{shift}>"
    return layout


def typed_scenario(seed: int, ab: str, accumulator: str, instruction: Shape) -> Scenario:
    """The scenario of a seed and types, validated."""
    m, n, k = instruction
    return parse_scenario(
        typed_data(seed, ab, accumulator, instruction), f"random {ab} problem {seed}, m{m}n{n}k{k}, {accumulator}"
    )
