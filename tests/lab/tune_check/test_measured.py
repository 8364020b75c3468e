"""What was measured for the check of tune: put to its configurations, kept in files, resumed."""

from dataclasses import replace

import pytest

from gpusim.errors import BadInput, CannotRun
from gpusim.gpu.ncu import KernelCounters
from gpusim.lab.tune_check import measured
from gpusim.lab.tune_check.__main__ import main
from gpusim.lab.tune_check.measured import (
    DURATION,
    MeasuredProblem,
    configurations_of,
    distinct_builds,
    measure_all,
    read_problem,
    write_problem,
)
from gpusim.lab.tune_check.problems import TUNE_PROBLEMS
from gpusim.measure.measure import RecordOrigin
from gpusim.results.result import ELAPSED

PROBLEM = TUNE_PROBLEMS[0]
ORIGIN = RecordOrigin({"gpu": "NVIDIA H200", "compute_capability": "9.0"}, ("measure",), "abc")


def profiled(*cycles):
    return [KernelCounters("k", (1, 1, 1), (1, 1, 1), {ELAPSED: one, DURATION: one / 2}) for one in cycles]


def launched(*pairs, failed=None):
    facts = {"0": {"registers": 234, "local_bytes": 0}}
    return {"launched": [list(pair) for pair in pairs], "failed": failed or {}, "kernels": facts}


def of(name):
    rows = configurations_of(PROBLEM, profiled(10.0, 20.0), launched((0, 1), (1, 1)))
    return MeasuredProblem(name, PROBLEM.problem, ORIGIN.environment, "nvcc 13.0", "abc", "today", ("measure",), rows)


def test_cycles_go_to_their_configuration_launch_by_launch():
    counted = profiled(100.0, 200.0, 104.0, 210.0, 96.0)

    first, second, third, *_ = configurations_of(
        PROBLEM, counted, launched((0, 1), (1, 1), (0, 1), (1, 1), (0, 1), failed={"2": "no memory"})
    )

    assert (first.cycles, first.elapsed, first.nanoseconds) == ((100, 104, 96), 100, (50, 52, 48))
    assert (first.registers, second.cycles) == (234, (200, 210))
    assert (third.cycles, third.failed) == ((), "no memory")


def test_a_parallel_split_k_takes_as_long_as_both_of_its_kernels():
    (first, *_) = configurations_of(PROBLEM, profiled(100.0, 20.0), launched((0, 2)))
    assert first.cycles == (120,)


def test_other_kernels_than_were_launched_are_refused():
    with pytest.raises(CannotRun, match="ncu counted 1 kernels, but 2 were launched"):
        configurations_of(PROBLEM, profiled(100.0), launched((0, 2)))


def test_what_was_written_is_read_again(tmp_path):
    path = write_problem(of("one"), tmp_path)

    assert read_problem(path) == of("one")
    assert path.read_text().count("\n") > len(PROBLEM.settings())


def test_another_file_is_refused(tmp_path):
    path = tmp_path / "x.json"
    path.write_text('{"schema": "other"}')
    with pytest.raises(BadInput, match=r"schema must be 'gpusim\.tune_check/1', got 'other'"):
        read_problem(path)
    with pytest.raises(BadInput, match="no measurements of the check"):
        read_problem(tmp_path / "absent.json")


def test_a_measured_problem_is_not_measured_again_and_a_failure_stops_no_other(tmp_path, monkeypatch):
    asked, said = [], []

    def measure(problem, origin, *, repeats, seconds):  # noqa: ARG001
        asked.append(problem.name)
        if problem is TUNE_PROBLEMS[1]:
            raise CannotRun("a broken kernel")
        return replace(of(problem.name), problem=problem.problem)

    monkeypatch.setattr(measured, "build_all", lambda *_: 0)
    monkeypatch.setattr(measured, "measure_problem", measure)
    write_problem(of(TUNE_PROBLEMS[0].name), tmp_path)

    failed = measure_all(TUNE_PROBLEMS[:3], tmp_path, ORIGIN, repeats=3, seconds=60.0, say=said.append)

    assert asked == [TUNE_PROBLEMS[1].name, TUNE_PROBLEMS[2].name]
    assert failed == [TUNE_PROBLEMS[1].name]
    assert said[0] == f"{TUNE_PROBLEMS[1].name}: not measured: a broken kernel"
    assert "2 of 51 configurations, 2 launches; best " in said[1]


def test_nothing_is_begun_when_the_time_is_up(tmp_path, monkeypatch):
    monkeypatch.setattr(measured, "build_all", lambda *_: 0)
    failed = measure_all(TUNE_PROBLEMS[:2], tmp_path, ORIGIN, repeats=3, seconds=-1.0, say=lambda _: None)
    assert failed == [one.name for one in TUNE_PROBLEMS[:2]]


def test_one_build_serves_the_problems_of_a_configuration():
    square = distinct_builds(TUNE_PROBLEMS[:1])
    assert len(square) == len(TUNE_PROBLEMS[0].settings())
    assert len(distinct_builds(TUNE_PROBLEMS[:2])) == len(square)


@pytest.mark.usefixtures("no_cupy")
def test_measuring_without_a_gpu_is_one_line(tmp_path, capsys):
    assert main(["measure", str(tmp_path)]) == 1
    assert capsys.readouterr().err.startswith("CuPy is not installed")


def test_the_stated_sets_are_listed(capsys):
    assert main(["list", PROBLEM.name]) == 0
    assert capsys.readouterr().out.startswith("f16_tn_2048x2048x2048: 51 configurations\n  256x128x32 64x64 s3 ")
