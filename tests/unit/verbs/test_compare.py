"""Sides beside each other: what differs in the scenarios, and every figure with its ratio."""

import json
from dataclasses import replace

import pytest

from gpusim.errors import BadInput
from gpusim.families.registry import parse_scenario
from gpusim.verbs.compare import ComparedSide, Profiled, compare
from gpusim.verbs.simulate import simulate

TYPES = {"ab": "f16", "accumulator": "f32", "output": "f16"}


def gemm(k=128, **kernel):
    problem = {"kind": "gemm", "m": 256, "n": 256, "k": k, "dtype": TYPES}
    tile = {"threadblock": [128, 128, 32], "warp": [64, 64, 32], "stages": 3}
    return parse_scenario({"machine": "h200", "problem": problem, "kernel": tile | kernel}, "test")


ROW_MAJOR = {"shared": {"a": "row_major", "b": "crosswise"}}


def test_only_keys_that_differ_are_named_with_their_values():
    found = compare(gemm(), gemm(**ROW_MAJOR, stages=4), stream="estimated")

    assert {one.key: one.values for one in found.differences} == {
        "kernel.shared.a": ("crosswise", "row_major"),
        "kernel.stages": (3, 4),
    }


def test_figures_are_those_of_the_results_and_ratios_are_to_the_first():
    scenarios = gemm(), gemm(**ROW_MAJOR), gemm(k=256)
    results = [simulate(one, stream="estimated")[0] for one in scenarios]
    found = compare(*scenarios, stream="estimated")
    cycles = found.metric("cycles elapsed")

    assert cycles.values == tuple(one.cycles.elapsed for one in results)
    assert cycles.ratios == tuple(one.cycles.elapsed / results[0].cycles.elapsed for one in results)
    assert cycles.deltas == tuple(one.cycles.elapsed - results[0].cycles.elapsed for one in results)
    assert found.metric("conflicts ldmatrix a").values[0] == 0 < found.metric("conflicts ldmatrix a").values[1]
    assert found.metric("conflicts ldmatrix a").ratio is None


def test_equal_scenarios_have_no_difference():
    assert compare(gemm(), gemm(), stream="estimated").differences == ()


def test_a_profile_stands_beside_a_scenario_in_what_both_have():
    counters = {"sm__cycles_elapsed.max": 20000.0, "gpu__time_duration.sum": 11000.0, "sm__other.sum": 1.0}
    profiled = ComparedSide("mine", "ncu", profiled=Profiled("k", (1, 1, 1), (128, 1, 1), counters, {"wait": 0.5}))
    found = compare(profiled, gemm(), stream="estimated")

    assert found.metric("cycles elapsed").values[0] == 20000
    assert found.metric("time").values[0] == 11
    assert found.metric("stall wait").values[0] == 0.5
    assert found.differences == ()
    assert "sm__other.sum" not in [one.name for one in found.metrics]


def test_json_has_sides_differences_and_metrics():
    data = json.loads(json.dumps(compare(gemm(), gemm(stages=4), stream="estimated").to_dict()))

    assert [side["kind"] for side in data["sides"]] == ["scenario", "scenario"]
    assert data["sides"][0]["result"]["schema"] == "gpusim.result/1"
    assert data["differences"] == [{"key": "kernel.stages", "values": [3, 4]}]
    assert {"name", "unit", "values", "ratio"} <= data["metrics"][0].keys()


def test_machines_are_compared_figure_by_figure():
    found = compare(gemm(), gemm().replace(machine="h200 with l2.bytes = 1048576"), stream="estimated")

    assert [(one.key, one.kinds[1]) for one in found.machine_figures] == [("l2.bytes", "user")]
    assert [one.key for one in found.differences] == ["machine"]
    assert found.to_dict()["machine_figures"] == [one.to_dict() for one in found.machine_figures]
    assert compare(gemm(), gemm(), stream="estimated").machine_figures == ()


def test_figures_of_a_machine_that_has_changed_since_are_not_at_hand():
    result, _ = simulate(gemm(), stream="estimated")
    then = replace(result, machine=result.machine | {"digest": "0" * 64})
    gone = replace(result, scenario=result.scenario | {"machine": "/nowhere/mine.toml"})
    found = compare(result, then, gone, stream="estimated")

    assert [machine is None for machine in found.machines] == [False, True, True]
    assert found.machine_figures == ()


def test_one_side_is_no_comparison():
    with pytest.raises(BadInput, match="needs two sides or more, got 1"):
        compare(gemm())


def test_a_figure_that_no_two_sides_have_is_refused():
    with pytest.raises(BadInput, match="no two sides have a figure 'warmth'"):
        compare(gemm(), gemm(), stream="estimated").metric("warmth")
