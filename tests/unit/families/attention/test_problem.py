"""What follows from an attention problem's table."""

import io
import tomllib
from math import sqrt

import pytest

from gpusim.families.attention.words import words
from gpusim.families.registry import parse_scenario
from gpusim.machine import load_machine
from gpusim.report.tables import print_summary
from gpusim.scenario.text import write_toml
from gpusim.verbs.load import load
from gpusim.verbs.simulate import simulate


def test_an_attention_scenario_resolves_to_one_that_resolves_to_itself():
    """What is left out is written out: CUTLASS's blocks, or flash's; equal questions have equal digests."""
    problem = {
        "kind": "attention",
        "batch": 2,
        "heads": 3,
        "queries": 100,
        "keys": 70,
        "head_dim": 96,
        "head_dim_v": 64,
    }
    for kernel in ({"mainloop": "attention"}, {"mainloop": "flash"}, {"keys_per_block": 128}):
        given = problem | {"query_lengths": [100, 7]}
        scenario = parse_scenario({"machine": "h200", "problem": given, "kernel": kernel}, "x.toml")
        written = tomllib.loads(write_toml(scenario.resolved()))
        again = parse_scenario(written, "x.toml")
        assert again.resolved() == scenario.resolved()
        assert again.digest() == scenario.digest()
        assert "key_lengths" not in scenario.resolved()["problem"]
        assert scenario.resolved()["problem"]["scale"] == 1 / sqrt(96)


def of_attention(mask, **lengths):
    problem = {
        "kind": "attention",
        "batch": 2,
        "heads": 3,
        "queries": 128,
        "keys": 192,
        "head_dim": 64,
        "head_dim_v": 64,
    }
    return load({"machine": "h200", "problem": problem | {"mask": mask} | lengths, "kernel": {"mainloop": "flash"}})


@pytest.mark.parametrize(
    ("mask", "lengths", "flops"),
    [
        ("none", {}, 37_748_736),
        ("causal_top_left", {}, 18_874_368),
        ("causal_bottom_right", {}, 18_874_368),
        ("none", {"query_lengths": [128, 100], "key_lengths": [192, 50]}, 22_714_368),
    ],
)
def test_operations_are_those_that_flashattention_counts(mask, lengths, flops):
    """
    4 * 128 * 192 * 64 for each of 2 * 3 heads: 37,748,736; half under a causal mask, whatever it masks.

    Of batches of their own lengths 4 * 64 * 3 * (128 * 192 + 100 * 50): 22,714,368.
    """
    assert of_attention(mask, **lengths).problem.flops == flops


def test_the_rate_of_causal_attention_is_of_these_operations_and_says_so():
    scenario = of_attention("causal_bottom_right")
    result, _ = simulate(scenario)

    assert result.tflops == pytest.approx(18_874_368 / result.time_us / 1e6, abs=1e-3)
    out = io.StringIO()
    print_summary(result, words(scenario), load_machine("h200"), "", out)
    assert "TFLOP/s" in out.getvalue()
    assert "causal: half of all scores counted, as FlashAttention does" in " ".join(out.getvalue().split())
    assert "the other multiplications are padding or masked" in out.getvalue()
