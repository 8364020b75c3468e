"""What follows from an attention problem's table."""

import tomllib
from math import sqrt

from gpusim.families.registry import parse_scenario
from gpusim.scenario.text import write_toml


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
