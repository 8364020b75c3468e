"""The driver that measures many scenarios: what it does when a worker breaks, hangs or runs out of time."""

import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from gpusim.errors import CannotRun
from gpusim.gpu import counters
from gpusim.lab.recording import record_all
from gpusim.lab.recording.record_all import CONTEXT_LOST, Session
from gpusim.records.record import Record, load_record, write_record
from gpusim.scenario.catalogue import find_scenario

RECORD = Record(
    name="name",
    scenario={},
    scenario_sha256="a" * 64,
    environment={"gpu": "NVIDIA H200"},
    kernel={},
    numerics=None,
    trace=None,
    time_us=None,
    pipeline=None,
    counters={"sm__cycles_elapsed.max": 1.0},
    opcodes={},
    missing={},
    commit=None,
    date="2026-11-21",
    command=(),
)
FILES = [Path(f"{name}.toml") for name in ("one", "two", "three")]


@pytest.fixture
def session(tmp_path):
    return Session(tmp_path, time.monotonic(), 100.0)


def log_of(session):
    return (session.out / "record_all.log").read_text()


class Workers:
    """Stands for ``subprocess.Popen``: each worker begins so many scenarios, and ends with a code or hangs."""

    def __init__(self, *lives):
        self.lives, self.given = list(lives), []

    def __call__(self, command):
        begun, self.code = self.lives.pop(0)
        files = [Path(word) for word in command if word.endswith(".toml")]
        self.given.append([file.stem for file in files])
        Path(command[command.index("--progress") + 1]).write_text("".join(f"{file.stem}\n" for file in files[:begun]))
        return self

    def __enter__(self):
        return self

    def __exit__(self, *_):
        return None

    def wait(self, timeout=None):
        if self.code is None and timeout is not None:
            raise subprocess.TimeoutExpired("worker", timeout)
        return -9 if self.code is None else self.code

    def kill(self):
        self.killed = True


def measured_by(monkeypatch, session, *lives):
    workers = Workers(*lives)
    monkeypatch.setattr(record_all.subprocess, "Popen", workers)
    record_all.measure_all(FILES, session, ["--seed", "1"])
    return workers


def test_one_worker_measures_everything(monkeypatch, session):
    assert measured_by(monkeypatch, session, (3, 0)).given == [["one", "two", "three"]]


def test_after_a_broken_context_another_worker_goes_on_with_the_next(monkeypatch, session):
    workers = measured_by(monkeypatch, session, (1, CONTEXT_LOST), (2, 0))

    assert workers.given == [["one", "two", "three"], ["two", "three"]]


def test_a_worker_that_crashes_loses_only_its_scenario(monkeypatch, session):
    workers = measured_by(monkeypatch, session, (2, -11), (1, 0))

    assert workers.given == [["one", "two", "three"], ["three"]]
    assert "the worker ended with -11 at two" in log_of(session)


def test_a_worker_that_cannot_begin_is_not_started_again(monkeypatch, session):
    assert len(measured_by(monkeypatch, session, (0, 1)).given) == 1
    assert "the worker ended with 1 before it began" in log_of(session)


def test_a_worker_that_hangs_is_ended(monkeypatch, session):
    monkeypatch.setattr(record_all, "SECONDS_PER_SCENARIO", -1)

    workers = measured_by(monkeypatch, session, (1, None), (2, 0))

    assert workers.killed
    assert workers.given == [["one", "two", "three"], ["two", "three"]]


def test_nothing_is_begun_when_the_time_is_up(monkeypatch, tmp_path):
    session = Session(tmp_path, time.monotonic() - 200, 100.0)

    assert measured_by(monkeypatch, session).given == []
    assert "out of time before one, two, three" in log_of(session)


def profile_of(name):
    return counters.Profile((1, 1, 1), (1, 1, 1), {"sm__cycles_elapsed.max": float(len(name))}, {})


@pytest.fixture
def recorded(session):
    for file in FILES:
        write_record(replace(RECORD, name=file.stem, counters={}, opcodes={}), session.out)
    return session


def test_counters_are_put_into_the_records(monkeypatch, recorded):
    monkeypatch.setattr(counters, "settle", lambda *_: ["--metrics", "a"])
    monkeypatch.setattr(
        counters, "profile_scenarios", lambda files, *_: {file.stem: profile_of(file.stem) for file in files[:2]}
    )

    record_all.count_all(FILES, recorded, recorded.out)

    found = {file.stem: load_record(recorded.out / f"{file.stem}.json") for file in FILES}
    assert found["one"].counters == {"sm__cycles_elapsed.max": 3.0}
    assert found["three"].counters == {}
    assert found["three"].missing["counters"] == "its launch failed under ncu"


def test_a_batch_that_ncu_fails_on_leaves_the_others(monkeypatch, recorded):
    def profile(files, *_):
        if files[0].stem == "one":
            raise CannotRun("ncu ended with 9")
        return {file.stem: profile_of(file.stem) for file in files}

    monkeypatch.setattr(record_all, "PROFILED_TOGETHER", 1)
    monkeypatch.setattr(counters, "settle", lambda *_: [])
    monkeypatch.setattr(counters, "profile_scenarios", profile)

    record_all.count_all(FILES, recorded, recorded.out)

    missing = {file.stem: load_record(recorded.out / f"{file.stem}.json").missing.get("counters") for file in FILES}
    assert missing == {"one": "ncu ended with 9", "two": None, "three": None}


def test_without_ncu_every_record_says_why_it_has_no_counters(monkeypatch, recorded):
    def settle(*_):
        raise CannotRun("ncu is not on the PATH")

    monkeypatch.setattr(counters, "settle", settle)

    record_all.count_all(FILES, recorded, recorded.out)

    assert load_record(recorded.out / "two.json").missing["counters"] == "ncu is not on the PATH"
    assert "no counters: ncu is not on the PATH" in log_of(recorded)


def test_a_later_failure_keeps_the_counters_that_are_there(monkeypatch, recorded):
    write_record(replace(RECORD, name="one"), recorded.out)

    def settle(*_):
        raise CannotRun("ncu is not on the PATH")

    monkeypatch.setattr(counters, "settle", settle)
    record_all.count_all(FILES[:1], recorded, recorded.out)

    assert load_record(recorded.out / "one.json").counters == RECORD.counters


@pytest.fixture
def worker(monkeypatch, session):
    """The worker's loop on a double of the GPU; its argument says what measuring each scenario raises."""

    def go(failures, lost=()):
        monkeypatch.setattr(record_all.device, "import_cupy", lambda: cupy)
        monkeypatch.setattr(record_all.measure, "context_is_lost", lambda _: begun[-1] in lost)

        def measure(name, *_, **__):
            begun.append(name)
            if name in failures:
                raise failures[name]
            return replace(RECORD, name=name)

        monkeypatch.setattr(record_all.measure, "measure", measure)
        files = [find_scenario(name) for name in ("conv_9_k_tiles", "gemm_ragged", "gemm_short_k")]
        origin = SimpleNamespace(environment={"gpu": "NVIDIA H200"})
        return record_all.work(files, session, origin, session.out / "progress", 1)

    begun: list[str] = []
    cupy = SimpleNamespace(get_default_memory_pool=lambda: SimpleNamespace(free_all_blocks=lambda: None))
    return go


def test_a_scenario_that_fails_is_said_and_the_next_is_measured(worker, session):
    assert worker({"gemm_ragged": CannotRun("nvcc refuses kernel.cu")}) == 0
    assert {path.stem for path in (session.out / "h200").glob("*.json")} == {"conv_9_k_tiles", "gemm_short_k"}
    assert "gemm_ragged: not measured: nvcc refuses kernel.cu" in log_of(session)
    assert (session.out / "progress").read_text().split() == ["conv_9_k_tiles", "gemm_ragged", "gemm_short_k"]


def test_a_broken_context_ends_the_worker(worker, session):
    assert worker({}, lost=("gemm_ragged",)) == CONTEXT_LOST
    assert (session.out / "progress").read_text().split() == ["conv_9_k_tiles", "gemm_ragged"]


def test_names_and_paths_are_scenarios(tmp_path):
    own = tmp_path / "own.toml"
    own.write_text("")

    assert record_all.scenario_files(["gemm_short_k", str(own)]) == [find_scenario("gemm_short_k"), own]
    with pytest.raises(CannotRun, match="no such scenario: nowhere"):
        record_all.scenario_files(["nowhere"])


def test_without_a_gpu_it_says_so(tmp_path, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "cupy", None)

    assert record_all.main([str(tmp_path)]) == 1
    assert capsys.readouterr().err.startswith("CuPy is not installed: pip install 'gpusim[cuda13]'")
