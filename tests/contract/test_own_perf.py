"""``gpusim check-perf`` where it is meant to run: in a bisection by git, and on a source that is compiled each time."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "docs" / "examples" / "own-kernels-perf"

SCENARIO = """\
kind = "kernel"
machine = "a100 with sms = 2"
file = "smooth.FORM"
grid = 4
block = 512
arguments = { in = "f32[2,48,2048]", out = "f32[48,2048]", rows = 2 }
"""


@pytest.fixture
def tree(tmp_path, monkeypatch):
    """An empty folder of a user's, in which gpusim and git are called."""
    folder = tmp_path / "tree"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


def git(*arguments):
    own = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull, "PYTHONPATH": str(ROOT)}
    user = ("-c", "user.name=a", "-c", "user.email=a@b")
    done = subprocess.run(
        [shutil.which("git"), *user, *arguments], check=True, capture_output=True, text=True, env=os.environ | own
    )
    return done.stdout


def commit(message, machine_code):
    Path("smooth.cubin").write_bytes(machine_code)
    git("add", ".")
    git("commit", "--quiet", "-m", message)


@pytest.mark.compiler("git")
def test_git_bisect_finds_the_commit_that_took_more_registers(gpusim, tree):
    """The first bad one follows a commit whose kernel cannot be read, which is skipped where git tries it."""
    fast, slow = ((EXAMPLES / name).read_bytes() for name in ("smooth.cubin", "smooth_unbounded.cubin"))
    git("init", "--quiet")
    Path("smooth.toml").write_text(SCENARIO.replace("FORM", "cubin"))
    commit("one", fast)
    assert gpusim("check-perf", "smooth.toml", "--write-baseline", "--baseline", "../perf.toml").code == 0
    for message, code in (
        ("broken", b"no machine code"),
        ("two", fast),
        ("three", fast + b"\0"),
        ("bound removed", slow),
        ("four", slow + b"\0"),
        ("five", slow + b"\0\0"),
    ):
        commit(message, code)

    git("bisect", "start", "HEAD", "HEAD~6")
    said = git(
        *("bisect", "run", sys.executable, "-m", "gpusim", "check-perf", "smooth.toml", "--baseline", "../perf.toml"),
        "--bisect",
    )

    assert "bound removed" in git("log", "-1", "--format=%s", "refs/bisect/bad")
    assert "is the first bad commit" in said
    assert tree.is_dir()


@pytest.mark.compiler("nvcc")
@pytest.mark.usefixtures("tree")
def test_a_source_that_loses_its_launch_bound_is_found(gpusim):
    """With ``__launch_bounds__(512, 2)`` no thread has more than 64 registers, of 65,536 on an SM."""
    shutil.copy(EXAMPLES / "smooth.cu", "smooth.cu")
    scenario = SCENARIO.replace("FORM", "cu")
    Path("smooth.toml").write_text(scenario + "defines = { LEAST_CTAS = 2 }\n")
    assert gpusim("check-perf", "smooth.toml", "--write-baseline").code == 0
    assert re.search(r'^compiler = "nv\w+ [\d.]+"$', Path("gpusim-perf.toml").read_text(), flags=re.MULTILINE)
    assert gpusim("check-perf").code == 0

    Path("smooth.toml").write_text(scenario)
    answer = gpusim("check-perf")

    assert answer.code == 3
    assert "| smooth | CTAs per SM | 2 | 1 | -50.0 % | 0 % | **beyond** |" in answer.out
    assert "- smooth: defines is {}, and { LEAST_CTAS = 2 } in the baseline" in answer.out

    Path("smooth.cu").write_text("no C++\n")
    assert gpusim("check-perf").code == 1
    assert gpusim("check-perf", "--bisect").code == 125
