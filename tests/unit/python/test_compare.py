"""``gpusim.compare`` takes what a program has at hand, and answers what the command prints."""

from dataclasses import asdict

import pytest

import gpusim

SMALL = {"machine": "h200", "problem": {"kind": "gemm", "m": 256, "n": 256, "k": 256}}


@pytest.fixture(scope="module")
def run():
    return gpusim.simulate(SMALL, stream="estimated")


def test_sides_are_names_data_and_scenarios():
    found = gpusim.compare("gemm_ragged", SMALL, gpusim.load(SMALL).replace(kernel={"stages": 4}))

    assert [side.name for side in found.sides] == ["gemm_ragged", "gemm", "gemm"]
    assert found.metric("cycles elapsed").values[1] == gpusim.simulate(SMALL).cycles.elapsed


def test_a_run_in_memory_and_its_directory_are_the_same_side(run, tmp_path, gpusim_json):
    gpusim_json("run", "gemm_ragged", "--no-figures", "--json", "--out", tmp_path / "run")
    read = gpusim.read_run(tmp_path / "run")
    found = gpusim.compare(tmp_path / "run", read)

    assert found.differences == ()
    assert set(found.metric("cycles elapsed").ratios) == {1}
    assert gpusim.compare(run, run).sides[0].to_dict()["result"] == asdict(run.result())


def test_compare_answers_what_the_command_line_prints(gpusim_json):
    printed = gpusim_json("compare", "gemm_ragged", "conv_9_k_tiles", "--json")
    found = gpusim.compare("gemm_ragged", "conv_9_k_tiles").to_dict()

    assert found["metrics"] == printed["metrics"]
    assert found["differences"] == printed["differences"]


def test_what_is_no_scenario_is_refused():
    with pytest.raises(gpusim.GpusimError, match=r"^a comparison needs two sides or more, got 1$"):
        gpusim.compare("gemm_ragged")
