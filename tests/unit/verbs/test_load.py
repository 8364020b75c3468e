"""A scenario is loaded from a file, a name or data, and changed; every change is checked as a file would be."""

import pickle
import tomllib

import pytest

import gpusim
from gpusim.scenario.catalogue import find_scenario

KERNEL_NAME = "cutlass_tensorop_h16816gemm_128x128_32x3_tn_align8"


def data_of(name):
    return tomllib.loads(find_scenario(name).read_text(encoding="utf-8"))


def test_a_file_its_name_and_its_data_are_the_same_scenario():
    data, path = data_of("gemm_ragged"), find_scenario("gemm_ragged")

    assert gpusim.load("gemm_ragged") == gpusim.load(path) == gpusim.load(str(path)) == gpusim.load(data)
    assert gpusim.load("gemm_ragged").name == gpusim.load(path).name == "gemm_ragged"
    assert gpusim.load(data).name == ""


def test_every_shipped_name_is_loaded():
    assert {gpusim.load(name).name for name in gpusim.scenario_names()} == set(gpusim.scenario_names())


def test_a_kernels_name_is_loaded_with_the_extents_of_overrides():
    scenario = gpusim.load(KERNEL_NAME, [f"problem.{extent}=256" for extent in "mnk"])

    assert scenario.name == KERNEL_NAME
    assert scenario.resolved()["problem"]["m"] == 256


def test_loading_data_leaves_it_as_it_was():
    data = data_of("gemm_ragged")
    gpusim.load(data, ["kernel.stages=4"])

    assert data == data_of("gemm_ragged")


def test_overrides_hold_for_a_scenario_too():
    assert gpusim.load(gpusim.load("gemm_ragged"), ["kernel.stages=4"]).kernel.stages == 4


def test_a_loaded_scenario_is_given_back():
    scenario = gpusim.load("gemm_ragged")

    assert gpusim.load(scenario) is scenario


@pytest.mark.parametrize("name", ["gemm_ragged", "conv_optimized_5x5", "attention_d64_v160", "dgrad_3x3"])
def test_what_was_written_reads_back_as_the_same_scenario(name):
    scenario = gpusim.load(name)

    assert gpusim.load(scenario.written()) == scenario
    assert scenario.replace() == scenario


def test_replace_changes_the_keys_it_is_given():
    before = gpusim.load("gemm_ragged")
    after = before.replace(problem={"m": 512}, kernel={"stages": 4}, machine="a100")

    assert (after.problem.m, after.problem.n) == (512, before.problem.n)
    assert after.kernel.stages == 4
    assert after.machine == "a100"
    assert after.name == "gemm_ragged"
    assert before == gpusim.load("gemm_ragged")


def test_defaults_follow_replaced_keys():
    """A resolved scenario states the output's extents; a replaced padding gives others."""
    scenario = gpusim.load("conv_optimized_5x5").replace(problem={"padding": [0, 0]})

    assert scenario == gpusim.load("conv_optimized_5x5", ["problem.padding=[0, 0]"])


def test_replace_is_refused_as_a_file_would_be():
    with pytest.raises(gpusim.GpusimError) as refused:
        gpusim.load("gemm_ragged").replace(kernel={"stages": 99})
    with pytest.raises(gpusim.GpusimError) as by_override:
        gpusim.load("gemm_ragged", ["kernel.stages=99"])

    assert str(refused.value).partition(" (")[0] == str(by_override.value).partition(" (")[0]
    assert str(refused.value).endswith("(gemm_ragged, changed: kernel.stages)")


def test_an_unknown_key_is_refused_with_the_nearest():
    with pytest.raises(gpusim.GpusimError, match=r'^unknown key "stage", did you mean "stages"\?'):
        gpusim.load("gemm_ragged").replace(kernel={"stage": 4})


def test_data_that_breaks_a_rule_is_refused_with_its_key():
    with pytest.raises(gpusim.GpusimError, match=r"\(scenario: problem\.m\)$"):
        gpusim.load(data_of("gemm_ragged") | {"problem": {"kind": "gemm", "m": 0, "n": 1, "k": 1}})


def test_a_scenario_goes_to_another_process():
    scenario = gpusim.load("attention_d64_v160")
    there = pickle.loads(pickle.dumps(scenario))  # noqa: S301 - its own

    assert there == scenario
    assert there.name == scenario.name
    assert there.replace(problem={"batch": 2}).problem.batch == 2
