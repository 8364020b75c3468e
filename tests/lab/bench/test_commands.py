"""Processes that the bench starts: what a row has of each, and answers that are refused."""

import pytest

from gpusim.errors import CheckFailed
from gpusim.lab.bench import commands
from gpusim.lab.bench.cases import SCENARIOS, BenchCase
from gpusim.lab.bench.commands import OTHERS, measure_case, measure_loop, measure_other, run_row
from gpusim.lab.bench.process import Cost

CASE = BenchCase(SCENARIOS, "small", "conv_9_k_tiles", "exact", engines=("compiled", "interpreted"))


def answer(seconds, *, engine="compiled", sampled=False):
    simulated = {"instructions": 1000, "seconds": seconds, "sampled": sampled, "engine": engine}
    return {"simulated": simulated, "time_us": 2.0, "stream": "estimated"}


def test_a_row_has_medians_of_its_processes():
    """Core's seconds of .1, .2 and .4: their median is 100,000 times 2 us; rates of 10,000, 5000 and 2500 a second."""
    costs = [Cost(1, 0, 50), Cost(3, 0, 70), Cost(2, 0, 60)]
    row = run_row(CASE, "compiled", [*zip(costs, map(answer, (0.1, 0.4, 0.2)), strict=True)])

    assert (row.runs, row.user_s, row.peak_mb) == (3, 2, 60)
    assert (row.instructions, row.seconds, row.rate) == (1000, 0.2, 5000)
    assert (row.gpu_us, row.slowdown, row.stream) == (2.0, pytest.approx(100_000), "estimated")


@pytest.mark.parametrize("wrong", [answer(0.1, engine="interpreted"), answer(0.1, sampled=True)])
def test_an_answer_of_another_core_or_mode_is_refused(wrong):
    with pytest.raises(CheckFailed, match="small: asked for exact and compiled, got"):
        run_row(CASE, "compiled", [(Cost(1, 1, 1), wrong)])


def test_cores_take_turns(tmp_path, monkeypatch):
    said = []

    def run(_, engine, __):
        said.append(engine)
        return Cost(1, 1, 1), answer(0.1, engine=engine)

    monkeypatch.setattr(commands, "_run", run)
    rows = [*measure_case(CASE, 3, tmp_path, lambda _: None)]

    assert said == ["compiled", "interpreted"] * 3
    assert [(row.engine, row.runs) for row in rows] == [("compiled", 3), ("interpreted", 3)]


def test_imports_are_timed(tmp_path):
    row = measure_other("import gpusim", OTHERS["import gpusim"], 1, tmp_path, lambda _: None)

    assert (row.name, row.runs) == ("import gpusim", 1)
    assert 0 <= row.user_s < row.wall_s + 1  # a process of some milliseconds may take no tick of the clock
    assert row.wall_s > 0
    assert row.peak_mb > 5


def test_a_loop_has_points_a_second():
    row = measure_loop(256, 2, 1, lambda _: None)

    assert (row.size, row.runs, row.points) == (256, 1, 2)
    assert row.points_per_s > 0
    assert row.first_s > 0
