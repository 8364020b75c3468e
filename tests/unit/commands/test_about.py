"""``gpusim version``, ``keys``, ``scenarios`` and ``schema``."""

import json
from itertools import takewhile

import pytest

from gpusim import __version__
from gpusim.families.registry import scenario_keys
from gpusim.machine.keys import figure_keys

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
    assert all({"machine", "problem", "kernel"} == set(of["properties"]) for of in schema["$defs"].values())


def test_all_keys_of_all_kinds_are_listed(gpusim):
    lines = gpusim("keys").out.splitlines()

    for keys in scenario_keys().values():
        assert {key.key for key in keys} <= set(lines)
    assert lines[-1].endswith("Machine files: gpusim keys machine.")


@pytest.mark.parametrize("kind", scenario_keys())
def test_the_keys_of_one_kind_are_listed(gpusim, kind):
    lines = gpusim("keys", kind).out.splitlines()
    assert f"kind {kind}" in lines
    own = takewhile(lambda line: not line.startswith("kind "), lines[lines.index(f"kind {kind}") + 1 :])
    assert [line for line in own if line and not line.startswith(" ")] == [key.key for key in scenario_keys()[kind]]


def test_one_key_says_what_it_may_be_in_each_kind(gpusim):
    assert gpusim("keys", "kernel.iterator").out == (
        "kind gemm, conv2d_dgrad\n\nkernel.iterator\n"
        '    "analytic"; default "analytic"\n    How a convolution\'s global addresses are computed.\n\n'
        "kind conv2d_fprop\n\nkernel.iterator\n"
        '    "analytic" | "optimized"; default "analytic"\n    How a convolution\'s global addresses are computed.\n'
    )
    assert gpusim("keys", "iterator").out == gpusim("keys", "kernel.iterator").out


def test_the_keys_of_machine_files_are_listed_with_unit_bounds_and_what_zero_means(gpusim):
    lines = gpusim("keys", "machine").out.splitlines()

    assert {f"machine.{key}" for key in figure_keys()} <= set(lines)
    assert gpusim("keys", "machine.l2.crossing.first").out == (
        "machine files; --set takes these keys, too\n\nmachine.l2.crossing.first\n"
        "    an integer of 0 to 100000, cycles; 0: no longer than on its own side; optional: l2.crossing\n"
        "    Extra cycles of the first load of a line from the other partition's side\n"
    )


def test_a_table_has_its_keys(gpusim):
    data = json.loads(gpusim("keys", "dram.banks", "--json").out)

    assert data["scenario"] == {}
    assert [key["key"] for key in data["machine"]] == [
        "machine.dram.banks.channels",
        "machine.dram.banks.per_channel",
        "machine.dram.banks.busy_ns",
    ]
    types = json.loads(gpusim("keys", "problem.dtype", "--json").out)["scenario"]
    assert {key["key"] for key in types["attention"]} == {
        *("problem.dtype.ab", "problem.dtype.accumulator", "problem.dtype.output"),
    }


def test_a_figure_of_any_mma_is_a_key(gpusim):
    (key,) = json.loads(gpusim("keys", "machine.tensor.m16n8k8.tf32.f32.latency", "--json").out)["machine"]

    assert (key["key"], key["table"]) == ("machine.tensor.m16n8k8.tf32.f32.latency", "tensor.m16n8k8.tf32.f32")


@pytest.mark.parametrize(
    ("what", "near"),
    [("kernel.stage", "kernel.stages"), ("gem", "gemm"), ("machine.l2.byte", "machine.l2.bytes")],
)
def test_what_is_no_key_is_refused_with_one_that_is(gpusim, what, near):
    answer = gpusim("keys", what)

    assert answer.code == 2
    assert answer.err.endswith(f'got {what!r}, did you mean "{near}"?\n')
