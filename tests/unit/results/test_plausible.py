"""Results whose values no run has: named by field."""

import json
from dataclasses import asdict

import pytest

from gpusim.families.registry import load_scenario
from gpusim.results.plausible import implausible
from gpusim.scenario.catalogue import find_scenario
from gpusim.verbs.simulate import simulate


@pytest.fixture(scope="module")
def data():
    return asdict(simulate(load_scenario(find_scenario("conv_9_k_tiles")))[0])


def test_a_run_is_plausible(data):
    assert implausible(json.loads(json.dumps(data))) == ""


@pytest.mark.parametrize(
    ("change", "wrong"),
    [
        ({"bound": {"resource": "latency"}}, "bound.reason: Input should be a string"),
        (
            {"bound": {"resource": "a", "reason": "b", "utilisation": True}},
            "bound.utilisation: Input should be a number",
        ),
        (
            {"bound": {"resource": "latency", "reason": "", "utilisation": 0.1, "cycles": {"issue slots": [1]}}},
            "bound.cycles: Input should be a table of numbers",
        ),
        (
            {
                "bound": {
                    "resource": "a",
                    "reason": "",
                    "utilisation": 0.1,
                    "resources": [{"name": "a", "percent": "b"}],
                }
            },
            "bound.resources: Input should be a list of tables with name, percent, percent_active, bounds",
        ),
        ({"machine": {"name": 3}}, "machine.name: Input should be a string"),
        ({"stalls": {"bored": 1.0}}, "stalls: 'bored' is no stall reason"),
        ({"ctas": 0}, "ctas: Input should be at least 1"),
        ({"time_us": 0.0}, "cycles: a run takes at least one"),
        ({"counters": {"x": float("nan")}}, "counters: nan is no number of a run"),
        ({"waves": -1.0}, "waves: -1.0 is no number of a run"),
        ({"grid": [1, 10**400, 1]}, "grid: 10000000000000000000 is no number of a run"),
        ({"grid": [1, 1 << 70, 1]}, "grid: 11805916207174113034 is no number of a run"),
    ],
)
def test_what_no_run_has_is_named(data, change, wrong):
    assert implausible(data | change) == wrong
