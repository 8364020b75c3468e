"""Judging a ranking by what was measured: shares of the best speed, another tool beside, the page."""

from dataclasses import replace
from pathlib import Path

import pytest

from gpusim.errors import BadInput
from gpusim.lab.tune_check import judge
from gpusim.lab.tune_check.judge import Judged, Peers, judged, page, read_peers
from gpusim.lab.tune_check.measured import measured_problems_folder, read_problem
from gpusim.lab.tune_check.problems import TUNE_PROBLEMS
from gpusim.verbs.tuning.label import label

MEASURED = [read_problem(measured_problems_folder() / f"{one.name}.json") for one in TUNE_PROBLEMS]


@pytest.mark.parametrize("measured", MEASURED, ids=lambda one: one.name)
def test_the_committed_measurements_are_of_todays_stated_sets(measured):
    (problem,) = (one for one in TUNE_PROBLEMS if one.name == measured.name)

    assert [one.settings for one in measured.configurations] == problem.settings()
    assert measured.problem == problem.problem
    assert {len(one.cycles) for one in measured.configurations} == {3}
    assert {one.wrong_elements for one in measured.configurations} == {0}
    assert measured.environment["gpu"] == "NVIDIA H200"


def test_the_other_tool_names_each_gemm():
    peers = read_peers(measured_problems_folder() / "peers.json")
    assert peers.tool.startswith("nvidia-matmul-heuristics 0.1.0.27")
    assert set(peers.named) == {one.name for one in TUNE_PROBLEMS if one.problem["kind"] == "gemm"}


def as_if_simulated(monkeypatch, ranked):
    """``tune`` that ranks configurations in a given order, each as slow as it was measured but for 10 percent."""

    def tune(scenario, jobs, *, budget, configurations):  # noqa: ARG001
        assert budget == len(configurations)
        by_name = {label(one): one for one in configurations}
        ranking = [judge_row(name, cycles) for name, cycles in ranked if name in by_name]
        return type("Found", (), {"ranking": ranking, "bounded": {"tensor core": 3}})

    monkeypatch.setattr(judge, "tune", tune)


def judge_row(name, cycles):
    return type("Row", (), {"name": name, "cycles": 1.1 * cycles})


def order(measured, key):
    return sorted(((label(one.settings), one.elapsed) for one in measured.configurations), key=key)


def test_a_ranking_as_measured_has_every_share(monkeypatch):
    measured = MEASURED[0]
    as_if_simulated(monkeypatch, order(measured, lambda one: one[1]))
    found = judged(measured, 1)

    assert (found.first, found.best_of, found.peer) == (1, 1, None)
    assert found.pick == found.best
    assert found.error == pytest.approx(0.1)
    assert (found.configurations, found.unsimulated) == (51, 3)


def test_a_ranking_the_wrong_way_round_has_the_share_of_the_slowest(monkeypatch):
    measured = MEASURED[0]
    worst = order(measured, lambda one: -one[1])
    as_if_simulated(monkeypatch, worst)
    found = judged(measured, 1)

    assert found.first == pytest.approx(worst[-1][1] / worst[0][1])
    assert found.best_of == pytest.approx(worst[-1][1] / worst[7][1])


def test_the_other_tool_is_judged_by_the_first_of_its_tiles_that_was_measured(monkeypatch):
    measured = MEASURED[0]
    as_if_simulated(monkeypatch, order(measured, lambda one: one[1]))
    named = [
        {"kernel.threadblock": [192, 128, 64], "problem.split_k_slices": 1},
        {"kernel.threadblock": [256, 128, 64], "problem.split_k_slices": 1},
    ]
    found = judged(measured, 1, named)
    tile = [one.elapsed for one in measured.configurations if one.settings["kernel.threadblock"] == [256, 128, 64]]

    assert found.peer == pytest.approx(found.cycles / min(tile))


def test_another_set_than_today_is_refused():
    other = replace(MEASURED[0], configurations=MEASURED[0].configurations[1:])
    with pytest.raises(BadInput, match="measured other configurations than are stated today"):
        judged(other, 1)


def test_the_page_has_means_and_worst():
    rows = [
        Judged(name, 50, "a", "b", 1000.0, first, 1.0, 0.05, 2, peer)
        for name, first, peer in (("one", 0.9, 0.8), ("two", 1.0, None))
    ]
    text = page(rows, MEASURED[0], "other tool 1.0", "abc")

    assert "First pick: 95.0 % of the best speed in the mean, 90.0 % at worst." in text
    assert "Best of 8 measured: 100.0 % of the best speed in the mean, 100.0 % at worst." in text
    assert "Other tool's first: 80.0 % of the best speed in the mean, 80.0 % at worst." in text
    assert "| one | 50 | a | 90.0 % | 100.0 % | b | 1,000 | 5.0 % | 80.0 % |" in text
    assert text.endswith("the simulator was at abc.\n")


def test_what_no_tool_named_is_refused(tmp_path):
    with pytest.raises(BadInput, match="not what a tool names"):
        read_peers(tmp_path / "absent.json")
    Path(tmp_path / "x.json").write_text('{"tools": 1}')
    with pytest.raises(BadInput, match="not what a tool names"):
        read_peers(tmp_path / "x.json")
    assert Peers("t", {}).named == {}
