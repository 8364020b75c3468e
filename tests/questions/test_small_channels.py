"""Why is a convolution with few filters slow? Answered by ``explain``."""

from gpusim.families.registry import parse_scenario
from gpusim.verbs.explain import explain


def test_a_tile_wider_than_the_filters_multiplies_padding():
    """https://github.com/NVIDIA/cutlass/issues/255: small C and K. 32 filters fill a quarter of 128 columns."""
    types = {"ab": "f16", "accumulator": "f32", "output": "f16"}
    problem = {
        "kind": "conv2d_fprop", "n": 8, "h": 48, "w": 44, "c": 32, "k": 32, "r": 1, "s": 1, "padding": [0, 0],
        "dtype": types,
    }  # fmt: skip
    kernel = {"threadblock": [128, 128, 32], "warp": [64, 64, 32], "stages": 3}
    found = explain(parse_scenario({"machine": "h200", "problem": problem, "kernel": kernel}, "question"))

    assert found.budget.tile_efficiency == 0.25
    assert found.verdict.startswith("75 % of the multiplications are padding of the tile")
