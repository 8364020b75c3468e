"""Mutated files of every kind are answered or refused in one line; ``tests/fuzz/fuzz.py`` does more of them."""

import subprocess
import sys
from pathlib import Path

import pytest

KILLED = 4


KINDS = ("scenario", "machine", "result", "trace", "report", "sweep", "layout")


@pytest.mark.parametrize(
    ("kind", "seed", "count"),
    [("all", 0, 15), *(pytest.param(kind, 15, 135, marks=pytest.mark.slow) for kind in KINDS)],
)
def test_mutated_files_break_nothing(tmp_path, kind, seed, count):
    asked = ["--kind", kind, "--count", str(count), "--seed", str(seed)]
    command = [sys.executable, Path(__file__).with_name("fuzz.py"), *asked]

    ended = subprocess.run([*command, "--keep", tmp_path], capture_output=True, text=True, check=False)

    assert (ended.returncode, ended.stderr) == (0, "")
    lines = ended.stdout.splitlines()
    assert [line.partition(":")[0] for line in lines] == (list(KINDS) if kind == "all" else [kind])
    for line in lines:
        assert f": {count} files from seed {seed}: " in line
        assert line.endswith("; 0 broken")


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="kills a session of processes")
def test_no_killed_command_leaves_half_a_result():
    command = [sys.executable, Path(__file__).with_name("kill.py"), "--command", "run", "--count", str(KILLED)]

    ended = subprocess.run(command, capture_output=True, text=True, check=False)

    assert (ended.returncode, ended.stderr) == (0, "")
    assert ended.stdout.endswith("; 0 broken\n")
