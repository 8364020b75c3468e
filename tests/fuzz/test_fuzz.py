"""Mutated files of every kind are answered or refused in one line; ``tests/fuzz/fuzz.py`` does more of them."""

import subprocess
import sys
from pathlib import Path

import pytest

COUNT = 300


@pytest.mark.parametrize("kind", ["scenario", "machine", "result", "trace", "report"])
def test_mutated_files_break_nothing(tmp_path, kind):
    command = [sys.executable, Path(__file__).with_name("fuzz.py"), "--kind", kind, "--count", str(COUNT)]

    ended = subprocess.run([*command, "--keep", tmp_path], capture_output=True, text=True, check=False)

    assert (ended.returncode, ended.stderr) == (0, "")
    assert ended.stdout.startswith(f"{kind}: {COUNT} files from seed 0: ")
    assert ended.stdout.endswith("; 0 broken\n")
