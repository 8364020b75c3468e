"""Runs a command as a process of its own, and says what it cost: seconds of CPU, wall time, and peak memory."""

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from statistics import median
from typing import NamedTuple

from gpusim.errors import CannotRun

_MAXRSS_BYTES = 1 if sys.platform == "darwin" else 1024
"""Unit of ``ru_maxrss``."""

_NO_BYTECODE = "PYTHONDONTWRITEBYTECODE"
"""Environment variable with which Python compiles what it imports each time."""


class Cost(NamedTuple):
    """
    What a process cost.

    Attributes:
        user_s: User CPU seconds of the process and those it waited for.
        wall_s: Wall time, seconds.
        peak_mb: Peak resident memory, 10^6 bytes. Linux counts what the parent held when the process began, too, so
            that it is at least the size of the measuring process.
    """

    user_s: float
    wall_s: float
    peak_mb: float


def run_python(arguments: Sequence[str], environment: Mapping[str, str] | None = None) -> tuple[Cost, str]:
    """
    Run this Python with some arguments; return the cost and the standard output.

    It may keep the bytecode of what it imports, as it does wherever gpusim is installed, even if the measuring process
    may not: to compile all modules anew takes a quarter of a second.

    Args:
        arguments: Arguments of Python, such as ``-m gpusim run ...``.
        environment: Variables that are set besides those at hand.

    Raises:
        CannotRun: The process failed. The message has the last line of its standard error.
    """
    variables = {name: value for name, value in os.environ.items() if name != _NO_BYTECODE} | dict(environment or {})
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        started = time.perf_counter()
        process = subprocess.Popen(  # noqa: S603 # this interpreter
            [sys.executable, *arguments], stdout=out, stderr=err, env=variables
        )
        _, status, usage = os.wait4(process.pid, 0)
        wall = time.perf_counter() - started
        process.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        err.seek(0)
        said, complaints = out.read().decode(), err.read().decode().strip()
    if process.returncode:
        last = complaints.rpartition("\n")[2]
        raise CannotRun(f"python {' '.join(arguments)} ended with {process.returncode}: {last}")
    return Cost(usage.ru_utime, wall, usage.ru_maxrss * _MAXRSS_BYTES / 1e6), said


def median_cost(costs: Sequence[Cost]) -> Cost:
    """Return the medians of the figures, each on its own."""
    return Cost(*(median(values) for values in zip(*costs, strict=True)))
