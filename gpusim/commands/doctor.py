"""``gpusim doctor``: lists the packages and tools on this machine, and how to install the absent ones."""

import platform
from dataclasses import asdict
from importlib.metadata import PackageNotFoundError, requires, version

from gpusim import __version__
from gpusim.commands.options.doctor import DoctorOptions
from gpusim.commands.output import print_json, print_text
from gpusim.compiled.choice import Engine
from gpusim.execute.run import executor
from gpusim.gpu.doctor import Finding, hardware_findings
from gpusim.sim.core.engine import engine


def print_findings(options: DoctorOptions) -> None:
    """Print every finding. An absent tool is no failure."""
    found = findings()
    if options.as_json:
        print_json([asdict(finding) for finding in found])
        return
    width = max(len(finding.name) for finding in found)
    for finding in found:
        if finding.found is not None:
            print_text(f"{finding.name:{width}}  {finding.found}")
        else:
            print_text(f"{finding.name:{width}}  absent; needed for {finding.needed_for}: {finding.remedy}")


def findings() -> tuple[Finding, ...]:
    """Return the findings: gpusim and its packages, then the tools that runs on a GPU need."""
    simulating = "simulating"
    return (
        Finding("gpusim", __version__, simulating, "pip install gpusim"),
        Finding("Python", platform.python_version(), simulating, "Python 3.11 to 3.14"),
        *(Finding(name, _version(name), simulating, f"pip install {name}") for name in _core_packages()),
        _core("compiled core", engine(), "simulating fast"),
        _core("compiled executor", executor(), "executing own kernels fast"),
        *hardware_findings(),
    )


def _core(name: str, found: Engine, needed_for: str) -> Finding:
    """Return how a core is executed."""
    remedy = f"{found.why}; an installation with a C compiler and Python's headers builds it"
    return Finding(name, found.name if not found.why else None, needed_for, remedy)


def _core_packages() -> list[str]:
    """Return the packages that gpusim's metadata requires, without extras; none if gpusim is not installed."""
    names: list[str] = []
    try:
        requirements = requires("gpusim") or ()
    except PackageNotFoundError:
        return names
    for requirement in requirements:
        specifier, _, marker = requirement.partition(";")
        if "extra" not in marker:
            names.append(specifier.split("[")[0].rstrip(" 0123456789.,<>=!~"))
    return sorted(names)


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None
