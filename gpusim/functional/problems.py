"""Random legal scenarios, small enough to compute for real: which problems ``verify`` is tried on, and how often.

The distribution, by default of equal weights:

- family: GEMM or conv2d forward; dtype f16 in, f32 accumulated, f16 or f32 out.
- threadblock and warp: ``TILES``; 3 to 5 stages; every threadblock swizzle; a shared layout of ``SHARED_LAYOUTS``
  for each operand on its own, crosswise half of the time.
- alignment: input accesses of 2, 4 or 8 elements, the widest more often, output accesses of 1 to 8 (f32: 4);
  extents are multiples of them and otherwise ragged, so that K is rarely a whole number of k tiles and M, N of
  tiles. Stated in half of the problems, else left to be the widest legal.
- GEMM: M, N from 1 up to 1.6 tiles; K up to (stages + 2) k tiles; leading dimensions packed or padded.
- conv: filters 1 to 3 (rarely 5) wide and high, padding 0 to 3, stride 1 to 3, dilation 1 to 3, both modes;
  p and q as they follow, or given one smaller; analytic or optimized iterators.
- split-K: 1 slice in half of the problems, else as many of 2 to 4 as find work, serial.
- alpha 1 or random; beta 0 in half of the problems, else random.
"""

from typing import Any

import numpy as np

from gpusim.scenario import Scenario, parse_scenario
from gpusim.scenario_models import PIPELINED_STAGES

TILES = (
    ((64, 64, 32), (32, 32, 32)),
    ((64, 64, 64), (32, 32, 64)),
    ((128, 64, 32), (64, 32, 32)),
    ((64, 128, 64), (32, 64, 64)),
    ((128, 128, 32), (64, 64, 32)),
    ((128, 128, 64), (64, 64, 64)),
    ((128, 256, 32), (64, 64, 32)),
    ((256, 128, 32), (64, 64, 32)),
)
"""Threadblock and warp tiles."""

SHARED_LAYOUTS = {
    32: ("row_major", "padded<8>", "Swizzle<2,3,3>"),
    64: ("row_major", "padded<8>", "Swizzle<3,3,3>", "Swizzle<2,3,3>"),
}
"""Layouts beside crosswise, by the threadblock's K extent."""

THREADBLOCK_SWIZZLES = ("identity<1>", "identity<2>", "identity<4>", "identity<8>", "horizontal")

_VERIFIED_MACHINE = "h200"


class _Draw:
    """Draws of one scenario, in a fixed order, from one generator."""

    def __init__(self, seed: int) -> None:
        self._rng = np.random.default_rng(seed)

    def between(self, low: int, high: int) -> int:
        """An integer from ``low`` to ``high``, both included."""
        return int(self._rng.integers(low, high + 1))

    def one_of(self, *choices: Any) -> Any:
        """One of the choices, all equally likely."""
        return choices[self.between(0, len(choices) - 1)]

    def chance(self, percent: int) -> bool:
        """True in ``percent`` of a hundred draws."""
        return self.between(1, 100) <= percent

    def multiple(self, factor: int, most: int) -> int:
        """A multiple of ``factor``, from ``factor`` to about ``most``."""
        return factor * self.between(1, max(most // factor, 1))

    def scale(self) -> float:
        """A factor of the linear combination with two decimals, from -2 to 2."""
        return self.between(-200, 200) / 100


def random_data(seed: int, mainloop: str = "multistage") -> dict[str, Any]:
    """The scenario of a seed as plain data, in the form of a scenario file. The same seed gives the same data."""
    draw = _Draw(seed)
    threadblock, warp = draw.one_of(*TILES)
    stages = draw.between(3, 5)
    if mainloop == "pipelined":
        stages = PIPELINED_STAGES
    layouts = {
        operand: "crosswise" if draw.chance(50) else draw.one_of(*SHARED_LAYOUTS[threadblock[2]]) for operand in "ab"
    }
    output = draw.one_of("f16", "f32")
    problem: dict[str, Any] = {
        "alpha": 1.0 if draw.chance(50) else draw.scale(),
        "beta": 0.0 if draw.chance(50) else draw.scale(),
        "dtype": {"ab": "f16", "accumulator": "f32", "output": output},
    }
    widest = {
        "a": draw.one_of(8, 8, 4, 2),
        "b": draw.one_of(8, 8, 4, 2),
        "c": draw.one_of(8, 4, 2, 1) if output == "f16" else draw.one_of(4, 2, 1),
    }
    slices = 1 if draw.chance(50) else draw.between(2, 4)
    if draw.chance(50):
        problem |= _gemm(draw, threadblock, stages, widest)
        problem["split_k_slices"] = _legal_slices(slices, -(-problem["k"] // threadblock[2]))
    else:
        problem |= _conv(draw, threadblock, slices, widest)
        problem["split_k_slices"] = _legal_slices(slices, -(-problem["c"] // threadblock[2]))
    for operand in "abc":
        if draw.chance(50):
            problem[f"alignment_{operand}"] = widest[operand]
    kernel = {
        "threadblock": list(threadblock),
        "warp": list(warp),
        "stages": stages,
        "mainloop": mainloop,
        "threadblock_swizzle": draw.one_of(*THREADBLOCK_SWIZZLES),
        "shared": layouts,
    }
    if problem["kind"] == "conv2d_fprop":
        kernel["iterator"] = draw.one_of("analytic", "optimized")
    return {"machine": _VERIFIED_MACHINE, "problem": problem, "kernel": kernel}


def _legal_slices(wanted: int, tiles: int) -> int:
    """The most slices up to ``wanted`` that all find work among the k tiles (of a convolution: channel tiles)."""
    return max(count for count in range(1, wanted + 1) if (count - 1) * -(-tiles // count) < tiles)


def _gemm(draw: _Draw, threadblock: tuple[int, int, int], stages: int, widest: dict[str, int]) -> dict[str, Any]:
    m = draw.between(1, threadblock[0] * 8 // 5)
    n = draw.multiple(widest["c"], threadblock[1] * 8 // 5)
    k = draw.multiple(max(widest["a"], widest["b"]), threadblock[2] * (stages + 2))
    data: dict[str, Any] = {"kind": "gemm", "m": m, "n": n, "k": k}
    for operand, extent in (("a", k), ("b", k), ("c", n)):
        if draw.chance(40):
            data[f"ld{operand}"] = extent + draw.multiple(widest[operand], 40)
    return data


def _conv(draw: _Draw, threadblock: tuple[int, int, int], slices: int, widest: dict[str, int]) -> dict[str, Any]:
    most_channels = threadblock[2] * (3 if slices == 1 else 2 * slices) // 2
    c = draw.multiple(max(widest["a"], widest["b"]), most_channels)
    data: dict[str, Any] = {"kind": "conv2d_fprop", "n": draw.between(1, 3), "c": c}
    data["k"] = draw.multiple(widest["c"], threadblock[1] * 5 // 4)
    data["mode"] = draw.one_of("cross_correlation", "convolution")
    filters = (5, draw.between(1, 2)) if draw.chance(10) else (draw.between(1, 3), draw.between(1, 3))
    data["r"], data["s"] = filters if draw.chance(50) else filters[::-1]
    for name, low, high in (("padding", 0, 3), ("stride", 1, 3), ("dilation", 1, 3)):
        data[name] = [draw.between(low, high), draw.between(low, high)]
    for axis, (extent, position, result) in enumerate((("h", "r", "p"), ("w", "s", "q"))):
        reach = data["dilation"][axis] * (data[position] - 1) + 1
        smallest = max(reach - 2 * data["padding"][axis], 1)
        data[extent] = smallest + draw.between(0, 10)
        outputs = (data[extent] + 2 * data["padding"][axis] - reach) // data["stride"][axis] + 1
        if outputs > 1 and draw.chance(15):
            data[result] = outputs - 1
    return data


def random_scenario(seed: int, mainloop: str = "multistage") -> Scenario:
    """The scenario of a seed, validated."""
    return parse_scenario(random_data(seed, mainloop), f"random {mainloop} problem {seed}")
