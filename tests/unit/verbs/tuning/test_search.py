"""The search: what cannot win is left out, and optuna chooses where there is too much."""

import sys

import pytest

from gpusim.errors import CannotRun
from gpusim.verbs.tuning import search as module
from gpusim.verbs.tuning.candidates import KernelCandidate
from gpusim.verbs.tuning.search import ROUND, KernelSearch, searched

TILES, STAGES, ORDERS = range(12), range(6), "abc"


def candidate(tile, stages, order, least=100):
    settings = {
        "kernel.threadblock": [tile, 1, 1],
        "kernel.warp": [tile, 1, 1],
        "kernel.stages": stages,
        "kernel.threadblock_swizzle": order,
    }
    return KernelCandidate(
        settings | ({"problem.split_k_slices": 2} if order == "c" else {}), {"tensor core": least}, least
    )


SPACE = [candidate(tile, stages, order) for tile in TILES for stages in STAGES for order in ORDERS]


def cycles_of(settings):
    tile, stages = settings["kernel.threadblock"][0], settings["kernel.stages"]
    return 1000 + 40 * abs(tile - 7) + 15 * abs(stages - 4) + 25 * (settings["kernel.threadblock_swizzle"] != "b")


@pytest.fixture
def search(monkeypatch):
    def simulated(_, points, *, jobs, scheduler):
        assert (jobs, scheduler) == (1, None)
        for number, settings in points.items():
            failed = settings["kernel.stages"] == 0
            yield number, {"error": "too large"} if failed else {"cycles": cycles_of(settings)}

    monkeypatch.setattr(module, "simulated", simulated)

    def make(candidates, budget):
        return KernelSearch(candidates, None, 1, None, budget, lambda _: None)

    return make


def test_what_cannot_win_is_not_simulated(search):
    candidates = [candidate(tile, 4, "b", least=1000 + 4 * number) for number, tile in enumerate([7] * 60)]
    one = search(candidates, 100)

    assert searched(one) == "all"
    assert len(one.rows) == ROUND
    assert one.best == 1000
    assert not any(one.can_win(number) for number in range(60))


def test_all_that_can_win_are_simulated(search):
    one = search(SPACE, len(SPACE))
    assert searched(one) == "all"
    assert len(one.rows) == len(SPACE)


def test_optuna_finds_the_best_with_a_third_of_the_simulations(search):
    pytest.importorskip("optuna")
    one = search(SPACE, len(SPACE) // 3)

    assert searched(one) == "optuna"
    assert len(one.rows) == len(SPACE) // 3
    assert one.best == 1000


def test_optuna_chooses_the_same_again(search):
    pytest.importorskip("optuna")
    first, second = search(SPACE, 60), search(SPACE, 60)
    searched(first)
    searched(second)
    assert first.rows == second.rows


def test_without_optuna_a_large_space_is_one_line(search, monkeypatch):
    monkeypatch.setitem(sys.modules, "optuna", None)
    with pytest.raises(CannotRun) as caught:
        searched(search(SPACE, 60))
    assert str(caught.value) == (
        "a space of 216 configurations, which is more than --budget 60, needs an optional library: "
        "pip install 'gpusim[tune]'"
    )
