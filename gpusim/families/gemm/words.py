"""Describes a GEMM or convolution in words, for tables and pictures."""

from typing import Any

from gpusim.report.captions import Words, times, types_in_words
from gpusim.scenario.gemm import GemmScenario


def words(scenario: GemmScenario) -> Words:
    """
    Return the description of a scenario.

    The problem reads like ``conv2d_fprop 1x64x64x128, 64 filters 3x3, f16 ...``. The kernel lists mainloop, tiles,
    stages and shared-memory layouts.
    """
    data = scenario.resolved()
    return Words(_problem(scenario, data["problem"]), _kernel(data["kernel"]))


def _problem(scenario: GemmScenario, problem: dict[str, Any]) -> str:
    parts = [f"{scenario.kind} {scenario.problem.in_words}"]
    for key, plain in (("padding", [0, 0]), ("stride", [1, 1]), ("dilation", [1, 1])):
        if key in problem and problem[key] != plain:
            parts.append(f"{key} {times(problem[key])}")
    if "layout_a" in problem:
        parts.append(f"a {problem['layout_a']}, b {problem['layout_b']}")
    if problem["split_k_slices"] > 1:
        parts.append(f"{problem['split_k']} split-K {problem['split_k_slices']}")
    parts += ["bias"] if scenario.problem.bias else []
    parts += [scenario.problem.activation] if scenario.problem.activation != "identity" else []
    return ", ".join([*parts, types_in_words(problem["dtype"])])


def _kernel(kernel: dict[str, Any]) -> str:
    parts = [str(kernel["mainloop"])]
    if "iterator" in kernel:
        parts.append(f"{kernel['iterator']} iterators")
    parts.append(f"{times(kernel['threadblock'])}, warp {times(kernel['warp'])}")
    parts += ["mma m{}n{}k{}".format(*kernel["instruction"]), f"{kernel['stages']} stages"]
    return ", ".join([*parts, *(f"{operand} {layout}" for operand, layout in kernel["shared"].items())])
