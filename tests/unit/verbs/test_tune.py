"""Tuning: a ranking by simulated time with reasons, beside the scenario's own kernel."""

import json

import pytest

import gpusim
from gpusim.errors import BadInput, CannotRun
from gpusim.verbs.tune import tune

STAGES = [{"kernel.stages": stages} for stages in (3, 4, 5, 11)]


@pytest.fixture(scope="module")
def tuned():
    return tune("gemm_ragged", 1, configurations=STAGES, stream="estimated")


def test_the_ranking_is_by_simulated_cycles_with_figures_of_a_run(tuned):
    assert [one.rank for one in tuned.ranking] == [1, 2, 3]
    assert [one.cycles for one in tuned.ranking] == sorted(one.cycles for one in tuned.ranking)
    for one in tuned.ranking:
        scenario = gpusim.load("gemm_ragged").written()
        given = {
            "machine": scenario["machine"],
            "problem": scenario["problem"],
            "kernel": {"stages": one.settings["kernel.stages"]},
        }
        assert one.cycles == gpusim.simulate(given, stream="estimated").cycles.elapsed


def test_what_was_tried_adds_up(tuned):
    assert (tuned.tried, tuned.illegal, tuned.chosen_by) == (4, 1, "all")
    counted = len(tuned.ranking) + tuned.illegal + sum(tuned.bounded.values()) + sum(tuned.failed.values())
    assert counted + tuned.unsimulated == tuned.tried


def test_each_but_the_last_has_a_reason(tuned):
    assert all(one.reason for one in tuned.ranking[:-1])
    assert tuned.ranking[-1].reason == ""


def test_the_scenarios_own_kernel_stands_beside(tuned):
    own = gpusim.simulate("gemm_ragged", stream="estimated").cycles.elapsed
    assert tuned.own["cycles"] == own
    assert tuned.speedup == own / tuned.best.cycles


def test_plain_data_and_a_data_frame(tuned):
    data = json.loads(json.dumps(tuned.to_dict()))
    assert data["best"]["settings"] == tuned.best.settings
    assert [one["name"] for one in data["ranking"]] == [one.name for one in tuned.ranking]
    pytest.importorskip("pandas")
    assert list(tuned.to_dataframe()["cycles"]) == [one.cycles for one in tuned.ranking]


def test_measured_cycles_choose_the_best(tuned):
    last = tuned.ranking[-1]
    found = tuned.with_measured({last.name: 10.0, tuned.ranking[0].name: 20.0})
    assert found.best.name == last.name
    assert found.ranking[0].measured_cycles == 20.0
    assert found.ranking[1].measured_cycles is None


@pytest.mark.slow
def test_the_space_of_a_small_problem_is_searched():
    data = {"machine": "h200", "problem": {"kind": "gemm", "m": 256, "n": 256, "k": 256}}
    pytest.importorskip("optuna")
    found = tune(data, 1, budget=70, stream="estimated", exact=False)

    assert found.chosen_by == "optuna"
    assert len(found.ranking) + sum(found.failed.values()) == 70
    assert found.speedup is not None
    assert found.speedup >= 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"budget": 0}, "budget must be an integer of 1 to 1000000, got 0"),
        ({"jobs": 0}, "jobs must be an integer of 1 to 1024, got 0"),
        ({"stream": "fast"}, "stream must be one of auto, estimated, compiled, got 'fast'"),
    ],
)
def test_wrong_arguments_are_refused(options, message):
    with pytest.raises(BadInput) as caught:
        tune("gemm_ragged", **options)
    assert str(caught.value) == message


def test_where_none_can_be_simulated_the_first_reason_is_said():
    wide = {"kernel.threadblock": [256, 128, 32], "kernel.warp": [32, 64, 32], "kernel.stages": 4}
    with pytest.raises(CannotRun, match=r"^no configuration could be simulated: a CTA must fit on an SM"):
        tune("gemm_ragged", 1, configurations=[wide], stream="estimated")
