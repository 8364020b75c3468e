"""A sweep whose driver or whose Dask worker is killed: nothing finished is lost, nothing is simulated twice."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from gpusim.verbs.sweep import sweep
from gpusim.verbs.sweeping.journal import JOURNAL

SCENARIO = """machine = "h200"
[problem]
kind = "gemm"
m = 128
n = 128
k = 64
[kernel]
threadblock = [64, 64, 32]
warp = [32, 32, 32]
"""
POINTS = 160
KS = [64 + 32 * number for number in range(POINTS // 2)]
OVER = {"kernel.stages": [3, 4], "problem.k": KS}

PATIENCE = 120.0
"""Seconds after which a test gives up; a busy machine takes a few."""


def points_in(folder):
    """Numbers of the points in the journal's whole lines, in order."""
    path = folder / JOURNAL
    data = path.read_bytes() if path.is_file() else b""
    return [json.loads(line)["point"] for line in data[: data.rfind(b"\n") + 1].splitlines()]


def wait_until(happened, what):
    end = time.monotonic() + PATIENCE
    while not happened():
        assert time.monotonic() < end, f"{what} did not happen in {PATIENCE:g} s"
        time.sleep(0.01)


def children_of(process):
    return [int(word) for word in Path(f"/proc/{process}/task/{process}/children").read_text().split()]


def is_there(process):
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="it looks at processes in /proc")
def test_a_killed_driver_loses_only_what_was_running(tmp_path):
    (tmp_path / "small.toml").write_text(SCENARIO)
    out = tmp_path / "out"
    command = [sys.executable, "-m", "gpusim", "sweep", str(tmp_path / "small.toml"), "--out", str(out), "--jobs", "2"]
    command += ["--stream", "estimated", "--table", "csv", "--over", "kernel.stages=3,4"]
    command += ["--over", f"problem.k={','.join(map(str, KS))}"]

    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as driver:
        wait_until(lambda: len(points_in(out)) >= 5, "a fifth point")
        workers = children_of(driver.pid)
        driver.send_signal(signal.SIGKILL)
    finished = points_in(out)
    wait_until(lambda: not any(map(is_there, workers)), "the end of the driver's processes")
    assert workers
    assert 5 <= len(finished) < POINTS
    assert not (out / "points.csv").exists()

    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=PATIENCE)

    assert done.returncode == 0, done.stderr
    assert f"{len(finished)} of {POINTS} points are there already" in done.stderr
    assert points_in(out)[: len(finished)] == finished
    assert sorted(points_in(out)) == list(range(POINTS))
    assert len((out / "points.csv").read_text().splitlines()) == 1 + POINTS


@pytest.mark.slow
def test_a_killed_dask_worker_loses_nothing(tmp_path):
    distributed = pytest.importorskip("distributed")
    (tmp_path / "small.toml").write_text(SCENARIO)
    out, answer = tmp_path / "out", []
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None, silence_logs=50
    ) as cluster:
        with distributed.Client(cluster, set_as_default=False) as client:
            pids = sorted(client.run(os.getpid).values())

        def work():
            options = {"stream": "estimated", "table": "csv"}
            answer.append(sweep(tmp_path / "small.toml", OVER, out, scheduler=cluster.scheduler_address, **options))

        driver = threading.Thread(target=work)
        driver.start()
        wait_until(lambda: len(points_in(out)) >= 5, "a fifth point")
        os.kill(pids[0], signal.SIGKILL)
        before = points_in(out)
        driver.join(PATIENCE)

    assert before
    (found,) = answer
    assert found.refused == 0
    assert len(found.rows) == POINTS
    assert points_in(out)[: len(before)] == before
    assert sorted(points_in(out)) == list(range(POINTS))
