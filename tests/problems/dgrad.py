"""
Random legal data gradients, small enough to compute for real: a random convolution of ``problems.gemm``, run backwards.

What the forward convolution sums (its channels) becomes the gradient's filters, and its filters the channels; the
stride is 1 and the iterators are the analytic ones. Kernel, types of 16 and 32 bits, padding, dilation, modes, explicit
p and q, split-K and epilogue are drawn as there; the filter's accesses of 16, 8 or 4 bytes anew.
"""

from typing import Any

import numpy as np
from problems.draw import Draw
from problems.gemm import TYPES, drawn_data

from gpusim.element_types import element_bits, widest_alignment
from gpusim.families.gemm.gemm import TRANSPOSABLE_BITS
from gpusim.families.registry import parse_gemm_scenario
from gpusim.scenario.checks import COPY_BYTES
from gpusim.scenario.gemm import GemmScenario
from gpusim.units import VECTOR_BITS

DGRAD_TYPES = tuple(one for one in TYPES if element_bits(one[0]) in TRANSPOSABLE_BITS)


def random_dgrad(seed: int) -> GemmScenario:
    """The data gradient of a seed, validated."""
    return parse_gemm_scenario(random_dgrad_data(seed), f"random data gradient {seed}")


def random_dgrad_data(seed: int) -> dict[str, Any]:
    """The data gradient of a seed as plain data, in the form of a scenario file."""
    rng = np.random.default_rng((seed, 1))
    draw = Draw(lambda low, high: int(rng.integers(low, high + 1)))
    types = draw.one_of(*DGRAD_TYPES)
    data = drawn_data(draw, types=types)
    while data["problem"]["kind"] != "conv2d_fprop":
        data = drawn_data(draw, types=types)
    forward, bits = data["problem"], element_bits(types[0])
    access = 8 * draw.one_of(COPY_BYTES[0], *COPY_BYTES) // bits
    channels = -(-forward["k"] // access) * access
    output = forward["dtype"]["output"]
    widest = min(VECTOR_BITS // element_bits(output), data["kernel"]["warp"][1] // 4)
    problem = forward | {
        "kind": "conv2d_dgrad",
        "c": channels,
        "k": forward["c"],
        "stride": [1, 1],
        "alignment_c": min(forward.get("alignment_c", widest), widest_alignment(output, channels), widest),
    }
    problem.pop("alignment_b", None)
    if draw.chance(50):
        problem["alignment_b"] = access
    return data | {"problem": problem, "kernel": data["kernel"] | {"iterator": "analytic"}}
