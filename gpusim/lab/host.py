"""The host of a measurement: its CPU, Python, NumPy and C compiler, the commit, and the day."""

import os
import platform
import shutil
import subprocess
import sysconfig
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from gpusim.results.provenance import commit, is_dirty

_CPU_LINE = "model name"


@dataclass(frozen=True, slots=True)
class Host:
    """
    The host on which seconds were measured.

    Attributes:
        cpu: Model of the CPU.
        cores: Cores that the process may use.
        system: Operating system.
        python, numpy, cython: Versions; empty if a package is not installed.
        compiler: First line of the C compiler's version; empty if there is none.
        commit: Commit of the source tree; None for an installed wheel.
        date: Day of the measurement, UTC.
    """

    cpu: str
    cores: int
    system: str
    python: str
    numpy: str
    cython: str
    compiler: str
    commit: str | None
    date: str

    def lines(self) -> list[str]:
        """Return a sentence or two of markdown, a line each."""
        changed = " with changes" if is_dirty(self.commit) else ""
        return [
            f"Measured on {self.date} at commit `{(self.commit or 'unknown')[:12]}`{changed}:",
            f"{self.cpu}, {self.cores} cores, {self.system}, Python {self.python}, NumPy {self.numpy or '-'},",
            f"Cython {self.cython or '-'}, compiler: {self.compiler or 'none'}.",
        ]


def host_of_today() -> Host:
    """Return this host, on this day."""
    return Host(
        cpu=_cpu(),
        cores=len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1,
        system=f"{platform.system()} {platform.machine()}",
        python=platform.python_version(),
        numpy=_version("numpy"),
        cython=_version("Cython"),
        compiler=_compiler(),
        commit=commit(),
        date=datetime.now(tz=UTC).date().isoformat(),
    )


def _cpu() -> str:
    """Return the model of the CPU, from Linux, or else from Python."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    models = [line.partition(":")[2].strip() for line in lines if line.startswith(_CPU_LINE)]
    return models[0] if models else platform.processor() or platform.machine()


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return ""


def _compiler() -> str:
    """Return the version of the compiler that Python compiles extensions with."""
    command = (os.environ.get("CC") or sysconfig.get_config_var("CC") or "cc").split()
    found = shutil.which(command[0])
    if found is None:
        return ""
    said = subprocess.run([found, "--version"], capture_output=True, text=True, check=False).stdout  # noqa: S603
    return said.partition("\n")[0].strip()
