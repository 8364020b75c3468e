"""Runs a command as a process of its own, and measures its cost: CPU seconds, wall time, and peak memory."""

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
"""Environment variable with which Python keeps no bytecode, and compiles every import again."""


class Cost(NamedTuple):
    """
    The cost of a process.

    Attributes:
        user_s: User CPU seconds of the process and those it waited for.
        wall_s: Wall time, seconds.
        peak_mb: Peak resident memory, 10^6 bytes. Linux counts the parent's memory at the start of the process, too,
            so it is at least the size of the measuring process.
    """

    user_s: float
    wall_s: float
    peak_mb: float


def run_python(arguments: Sequence[str], environment: Mapping[str, str] | None = None) -> tuple[Cost, str]:
    """
    Run this Python with some arguments; return the cost and the standard output.

    The process may keep bytecode, as an installed gpusim does, even if the measuring process may not: to compile all
    modules again takes a quarter of a second.

    Args:
        arguments: Arguments of Python, such as ``-m gpusim run ...``.
        environment: Additional environment variables.

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
    """Return the median of each figure."""
    return Cost(*(median(values) for values in zip(*costs, strict=True)))
