"""Worker processes: results in order, nothing left running."""

import multiprocessing
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from gpusim.verbs.processes import in_processes


def test_results_come_in_the_order_asked():
    with in_processes(pow, [(2, 5), (3, 2)], 2) as results:
        assert list(results) == [32, 9]


def test_an_error_comes_through_and_no_process_is_left():
    with (
        pytest.raises(ZeroDivisionError),
        in_processes(divmod, [(1, 1), (1, 0), *[(1, 1)] * 9], 2) as results,
    ):
        list(results)

    ended = time.monotonic() + 20
    while multiprocessing.active_children():
        assert time.monotonic() < ended


SLEEPER = """
import signal, time
from gpusim.verbs.processes import in_processes
if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs inherit that it is ignored
    with in_processes(time.sleep, [(0,), (600,), (600,)], 2) as calls:
        next(calls)
        print("begun", flush=True)
        next(calls)
"""


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="processes are looked up in /proc")
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
def test_workers_end_with_the_process_that_started_them(tmp_path, how):
    script = tmp_path / "sleeper.py"
    script.write_text(SLEEPER)
    with subprocess.Popen(
        [sys.executable, script], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, start_new_session=True
    ) as begun:
        assert begun.stdout.readline() == "begun\n"
        begun.send_signal(how)
        begun.wait(20)
        for _ in range(100):
            if not session(begun.pid):
                break
            time.sleep(0.1)

    assert session(begun.pid) == []


def session(number):
    """Processes of a session."""
    found = []
    for path in Path("/proc").glob("[0-9]*"):
        try:
            if os.getsid(int(path.name)) == number and "Z" not in (path / "stat").read_text().split()[2]:
                found.append(path.name)
        except (ProcessLookupError, FileNotFoundError):
            continue
    return found
