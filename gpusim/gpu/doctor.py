"""Finds what gpusim can use on this machine: driver, GPU, CuPy, compilers, profiler, permission; launches no kernel."""

import ctypes
import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from gpusim.cuda.compiler import CompilerName, find_compiler
from gpusim.cuda.specialise import kernels_folder
from gpusim.errors import CannotRun
from gpusim.gpu.counters import import_ncu_report
from gpusim.records.record import measured_folder

_CUPY = ("cupy-cuda12x", "cupy-cuda13x", "cupy")
_DRIVER_PARAMETERS = Path("/proc/driver/nvidia/params")
_RUNNING = "running kernels on a GPU (check, calibrate)"
_COUNTING = "hardware counters (check)"


@dataclass(frozen=True, slots=True)
class Finding:
    """
    A library, tool or permission that gpusim can use on this machine.

    Attributes:
        name: Name of the package or tool.
        found: Version or path; None if it is absent.
        needed_for: Features that do not work without it.
        remedy: Package to install, or permission to give, if it is absent.
    """

    name: str
    found: str | None
    needed_for: str
    remedy: str


def hardware_findings() -> tuple[Finding, ...]:
    """Return all findings for running, compiling, profiling and comparing kernels on a GPU, present or absent."""
    return (
        Finding("GPU", gpu(), _RUNNING, "an NVIDIA GPU of compute capability 8.0 or more, visible to the driver"),
        Finding("CUDA driver", driver(), _RUNNING, "NVIDIA's driver for the GPU"),
        Finding("CuPy", _cupy(), _RUNNING, "pip install 'gpusim[cuda13]', or 'gpusim[cuda12]' for a driver of CUDA 12"),
        Finding("NVRTC", _compiler("nvrtc"), "compiling kernels and their streams", "pip install 'gpusim[compiler]'"),
        Finding("nvcc", _compiler("nvcc"), "compiling kernels without NVRTC", "the CUDA toolkit"),
        Finding("CUDA sources", _sources(), "compiling kernels and their streams", "reinstall gpusim"),
        Finding("ncu", _tool("ncu"), _COUNTING, "Nsight Compute, part of the CUDA toolkit"),
        Finding(
            "ncu permission",
            counter_permission(),
            _COUNTING,
            "run as root, or set the kernel module option NVreg_RestrictProfilingToAdminUsers=0 and reload the driver",
        ),
        Finding(
            "ncu_report",
            _ncu_report(),
            "wavefronts of each SASS opcode (check)",
            "the extras/python folder of Nsight Compute, which full installations have",
        ),
        Finding(
            "compute-sanitizer", _tool("compute-sanitizer"), "checking the kernels' memory accesses", "the CUDA toolkit"
        ),
        Finding("records", _records(), "check --recorded", f"records in {measured_folder()}, from check --record"),
    )


def driver() -> str | None:
    """Return the CUDA version that the installed driver supports, or None without a driver."""
    library = _libcuda()
    number = ctypes.c_int(0)
    if library is None or library.cuDriverGetVersion(ctypes.byref(number)):
        return None
    return f"CUDA {number.value // 1000}.{number.value % 1000 // 10}"


def gpu() -> str | None:
    """Return the first GPU's name, and the number of GPUs if there are several; None without a GPU."""
    library, count = _libcuda(), ctypes.c_int(0)
    if library is None or library.cuInit(0) or library.cuDeviceGetCount(ctypes.byref(count)) or not count.value:
        return None
    device, name = ctypes.c_int(0), ctypes.create_string_buffer(256)
    if library.cuDeviceGet(ctypes.byref(device), 0) or library.cuDeviceGetName(name, len(name), device):
        return None
    text = name.value.decode(errors="replace")
    return text if count.value == 1 else f"{text}, first of {count.value}"


def counter_permission(parameters: Path = _DRIVER_PARAMETERS) -> str | None:
    """Return who may read the hardware counters; None if this user may not, or no driver is loaded."""
    if not parameters.is_file():
        return None
    restricted = re.search(r"^RmProfilingAdminOnly:\s*1", parameters.read_text(errors="replace"), re.MULTILINE)
    if restricted is None:
        return "every user"
    return "root, which you are" if os.geteuid() == 0 else None


def _libcuda() -> ctypes.CDLL | None:
    try:
        return ctypes.CDLL("libcuda.so.1")
    except OSError:
        return None


def _cupy() -> str | None:
    """Return CuPy's version from its metadata, because importing it would initialise the driver."""
    for name in _CUPY:
        try:
            return f"{name} {version(name)}"
        except PackageNotFoundError:
            continue
    return None


def _compiler(name: CompilerName) -> str | None:
    try:
        found = find_compiler(name)
    except CannotRun:
        return None
    return f"{found.version} ({found.path})"


def _sources() -> str | None:
    try:
        return str(kernels_folder())
    except CannotRun:
        return None


def _tool(name: str) -> str | None:
    """Return a tool's version and path, or None if it is not on the PATH."""
    path = shutil.which(name)
    if path is None:
        return None
    try:
        said = subprocess.run([path, "--version"], capture_output=True, text=True, check=False, timeout=30).stdout  # noqa: S603 # no user input
    except (OSError, subprocess.TimeoutExpired):
        return path
    stated = re.findall(r"[Vv]ersion\s+([\d.]+)", said)
    return f"{stated[-1]} ({path})" if stated else path


def _ncu_report() -> str | None:
    module = import_ncu_report()
    return None if module is None else str(module.__file__)


def _records() -> str | None:
    folder = measured_folder()
    counts = {gpu.name: len(list(gpu.glob("*.json"))) for gpu in sorted(folder.glob("*")) if gpu.is_dir()}
    return ", ".join(f"{name}: {count}" for name, count in counts.items() if count) or None
