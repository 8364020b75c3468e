"""What this machine can do: which packages and tools are here, and what to install for those that are not."""

import ctypes
import platform
import shutil
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, requires, version

from gpusim import __version__
from gpusim.commands.output import print_json, print_text

_CUPY = ("cupy-cuda12x", "cupy-cuda13x", "cupy")


@dataclass(frozen=True, slots=True)
class Finding:
    """
    One thing gpusim can use.

    Attributes:
        name: The thing.
        found: Its version or place; None when it is absent.
        needed_for: What works with it and not without it.
        remedy: What to install when it is absent.
    """

    name: str
    found: str | None
    needed_for: str
    remedy: str


def print_findings(*, as_json: bool) -> None:
    """Every finding; an absent tool is an answer, not a failure."""
    found = findings()
    if as_json:
        print_json([asdict(finding) for finding in found])
        return
    width = max(len(finding.name) for finding in found)
    for finding in found:
        if finding.found is not None:
            print_text(f"{finding.name:{width}}  {finding.found}")
        else:
            print_text(f"{finding.name:{width}}  absent; needed for {finding.needed_for}: {finding.remedy}")


def findings() -> tuple[Finding, ...]:
    """What is here: gpusim and its packages, then what the hardware comparison would use."""
    simulating = "simulating"
    return (
        Finding("gpusim", __version__, simulating, "pip install gpusim"),
        Finding("Python", platform.python_version(), simulating, "Python 3.11, 3.12 or 3.13"),
        *(Finding(name, _version(name), simulating, f"pip install {name}") for name in _core_packages()),
        Finding("CuPy", _cupy(), "running kernels on a GPU", "pip install 'gpusim[cuda12]' or 'gpusim[cuda13]'"),
        Finding("CUDA driver", _driver(), "running kernels on a GPU", "NVIDIA's driver for the GPU"),
        Finding("nvcc", shutil.which("nvcc"), "compiling kernels ahead of time", "the CUDA toolkit"),
        Finding("ncu", shutil.which("ncu"), "hardware counters", "Nsight Compute, part of the CUDA toolkit"),
    )


def _core_packages() -> list[str]:
    """The names gpusim's own metadata requires, without its extras."""
    names = []
    for requirement in requires("gpusim") or ():
        specifier, _, marker = requirement.partition(";")
        if "extra" not in marker:
            names.append(specifier.split("[")[0].rstrip(" 0123456789.,<>=!~"))
    return sorted(names)


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _cupy() -> str | None:
    """CuPy's version, read from its metadata: importing it would start the driver."""
    return next((f"{name} {found}" for name in _CUPY if (found := _version(name))), None)


def _driver() -> str | None:
    """The CUDA version the installed driver supports."""
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return None
    number = ctypes.c_int(0)
    if driver.cuDriverGetVersion(ctypes.byref(number)):
        return None
    return f"CUDA {number.value // 1000}.{number.value % 1000 // 10}"
