"""``gpusim tune``: the ranking with reasons, JSON, and what is said without a GPU."""

import json

import pytest

from gpusim.commands import tune as command
from gpusim.verbs.tune import tune

STAGES = [{"kernel.stages": stages} for stages in (3, 4, 5, 11)]


@pytest.fixture
def three(monkeypatch):
    """``tune`` with three numbers of stages in place of the whole space."""

    def small(scenario, jobs, **options):
        return tune(scenario, jobs, configurations=STAGES, **options)

    monkeypatch.setattr(command, "tune", small)


@pytest.mark.usefixtures("three")
def test_the_best_are_printed_with_reasons_and_as_settings(gpusim):
    answer = gpusim("tune", "gemm_ragged", "--stream", "estimated", "--jobs", "1", "--top", "2")
    lines = answer.out.splitlines()

    assert answer.code == 0
    assert lines[0] == "4 configurations, 1 of them not legal; 3 simulated"
    assert lines[2].split() == ["configuration", "cycles", "time", "us", "TFLOP/s", "bound"]
    assert lines[3].split()[:2] == ["1", "s5"] or lines[3].split()[0] == "1"
    assert "the next" in lines[4]
    assert "the scenario's own kernel takes " in answer.out
    assert lines[-1].startswith("the best as settings: --set 'kernel.stages=")
    assert "3 simulated, the best takes" in answer.err


@pytest.mark.usefixtures("three")
def test_json_has_the_best_and_as_many_as_asked_for(gpusim):
    answer = gpusim("tune", "gemm_ragged", "--stream", "estimated", "--jobs", "1", "--top", "2", "--json")
    data = json.loads(answer.out)

    assert [one["rank"] for one in data["ranking"]] == [1, 2]
    assert data["best"] == data["ranking"][0]
    assert (data["tried"], data["illegal"]) == (4, 1)


@pytest.mark.usefixtures("no_cupy")
def test_measuring_without_a_gpu_is_refused_before_anything_is_simulated(gpusim):
    answer = gpusim("tune", "gemm_ragged", "--measure", "2")
    assert answer.code == 1
    assert answer.err.startswith("gpusim: CuPy is not installed")
    assert answer.err.count("\n") == 1


def test_an_interrupt_is_one_line(gpusim, monkeypatch):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(command, "tune", interrupted)
    answer = gpusim("tune", "gemm_ragged")
    assert answer.code == 130
    assert answer.err == "gpusim: interrupted: nothing is kept of a search\n"
