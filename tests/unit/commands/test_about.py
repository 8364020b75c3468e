"""``gpusim version``, ``scenarios`` and ``schema``."""

import json

from gpusim import __version__

SCENARIO = "conv_9_k_tiles"


def test_version(gpusim):
    assert gpusim("version").out.startswith(f"gpusim {__version__}")
    assert json.loads(gpusim("version", "--json").out)["version"] == __version__


def test_every_shipped_scenario_asks_a_question(gpusim):
    listed = json.loads(gpusim("scenarios", "--json").out)

    assert {scenario["name"] for scenario in listed} >= {SCENARIO, "conv_s6_crosswise", "gemm_4096"}
    assert [scenario["name"] for scenario in listed if not scenario["question"].endswith("?")] == []
    assert all(scenario["question"] in gpusim("scenarios").out for scenario in listed)


def test_the_schema_is_a_json_schema(gpusim):
    schema = json.loads(gpusim("schema").out)

    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert {"machine", "problem", "kernel"} <= set(schema["properties"])
