"""What every test stands on: repeatable hypothesis runs, no display, compilers, and the command line in-process."""

import gc
import os
import shutil
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from types import ModuleType
from typing import Any

import pytest
from hypothesis import settings

os.environ["MPLBACKEND"] = "Agg"
os.environ["OPENBLAS_NUM_THREADS"] = "1"  # before NumPy is imported: each worker has one core

from gpusim.cli import main
from gpusim.sim.core import chip
from gpusim.sim.core.engine import engine

# As `gpusim` itself has it: rows have no cycles of references, of which the collector would look for again and again.
gc.set_threshold(400_000)

# Compilers of Python that are libraries, not commands.
COMPILING_LIBRARIES = ("cupy", "numba_cuda", "triton")

settings.register_profile("repeatable", derandomize=True, deadline=None)
settings.load_profile("repeatable")


def pytest_configure(config: pytest.Config) -> None:
    """Name the marker of what needs the compiled core."""
    config.addinivalue_line("markers", "compiled: needs the core compiled from today's text")


def pytest_collection_finish() -> None:
    """Have the garbage collector leave the tests themselves alone, which are there until the end."""
    gc.collect()
    gc.freeze()


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Leave a test out whose compiler, or whose compiled core, is missing."""
    if item.get_closest_marker("compiled") and engine().why:
        pytest.skip(f"needs the compiled core ({engine().why})")
    for marker in item.iter_markers("compiler"):
        (name,) = marker.args
        if (find_spec(name) if name in COMPILING_LIBRARIES else shutil.which(name)) is None:
            pytest.skip(f"needs {name}")


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Name every test that was left out, and the compiler that it needs; of the compiled core, why and how many."""
    skipped = terminalreporter.stats.get("skipped", ())
    of_core = Counter(
        report.longrepr[2].removeprefix("Skipped: ") for report in skipped if "compiled" in report.keywords
    )
    for why, number in of_core.items():
        terminalreporter.section(f"{number} TESTS DID NOT RUN: NO COMPILED CORE", sep="!", red=True, bold=True)
        terminalreporter.line(why, red=True)
    left_out = [report for report in skipped if "compiler" in report.keywords]
    if left_out:
        terminalreporter.section(f"{len(left_out)} TESTS DID NOT RUN: NO COMPILER", sep="!", red=True, bold=True)
    for report in left_out:
        terminalreporter.line(f"{report.longrepr[2].removeprefix('Skipped: ')}: {report.nodeid}", red=True)


@dataclass(frozen=True, slots=True)
class Answer:
    """What one command left behind."""

    code: int
    out: str
    err: str

    @property
    def is_refusal(self) -> bool:
        """Whether it is bad usage, answered by one line."""
        one_line = self.err.startswith("gpusim: ") and self.err.count("\n") == 1
        return self.code == 2 and self.out == "" and one_line


@pytest.fixture(autouse=True)
def no_compiler_for_auto(monkeypatch: pytest.MonkeyPatch) -> None:
    """What ``--stream auto`` gives must not depend on the machine that tests it."""
    monkeypatch.setattr("gpusim.lower.compiled.compiler_at_hand", lambda: False)


@pytest.fixture
def gpusim(capsys: pytest.CaptureFixture[str]) -> Callable[..., Answer]:
    """The ``gpusim`` command, in-process: arguments to an ``Answer``."""

    def call(*arguments: object) -> Answer:
        capsys.readouterr()
        code = main([str(argument) for argument in arguments])
        captured = capsys.readouterr()
        return Answer(code, captured.out, captured.err)

    return call


@pytest.fixture(params=["interpreted", pytest.param("compiled", marks=pytest.mark.compiled)])
def core(request: pytest.FixtureRequest) -> ModuleType:
    """The module of each execution of the core."""
    return chip if request.param == "interpreted" else engine().module
