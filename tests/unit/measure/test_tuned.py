"""Measuring the best of a tuning, with ncu's answer made up."""

from types import SimpleNamespace

import pytest

from gpusim.errors import CannotRun
from gpusim.families.registry import load_scenario
from gpusim.measure import tuned
from gpusim.results.result import ELAPSED
from gpusim.verbs.tune import tune

STAGES = [{"kernel.stages": stages} for stages in (3, 4, 5)]


@pytest.fixture(scope="module")
def found():
    return tune("gemm_ragged", 1, configurations=STAGES, stream="estimated")


def answer(monkeypatch, cycles):
    seen = []

    def profile(files, _, selection):
        assert selection == ["--metrics", ELAPSED]
        seen.extend(load_scenario(file) for file in files)
        return {
            file.stem: SimpleNamespace(counters={ELAPSED: cycles[file.stem]}) for file in files if file.stem in cycles
        }

    monkeypatch.setattr(tuned.counters, "profile_scenarios", profile)
    monkeypatch.setattr(tuned.device, "import_cupy", lambda: None)
    return seen


def test_the_first_configurations_are_launched_and_the_best_is_the_fastest_measured(found, monkeypatch):
    seen = answer(monkeypatch, {"rank_1": 900.0, "rank_2": 800.0})

    measured = tuned.measured(found, 2)

    assert [one.kernel.stages for one in seen] == [one.settings["kernel.stages"] for one in found.ranking[:2]]
    assert [one.measured_cycles for one in measured.ranking] == [900.0, 800.0, None]
    assert measured.best.rank == 2


def test_a_configuration_that_did_not_run_is_left_out_and_none_is_an_error(found, monkeypatch):
    answer(monkeypatch, {"rank_2": 800.0})
    assert tuned.measured(found, 3).best.rank == 2
    answer(monkeypatch, {})
    with pytest.raises(CannotRun, match="none of the best configurations could be launched"):
        tuned.measured(found, 3)


@pytest.mark.usefixtures("no_cupy")
def test_without_a_gpu_it_says_what_to_install(found):
    with pytest.raises(CannotRun, match="CuPy is not installed"):
        tuned.measured(found, 1)
