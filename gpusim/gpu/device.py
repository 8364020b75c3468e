"""Finds this machine's GPU through CuPy, and describes the GPU, driver and clocks that figures are measured with."""

import importlib
import re
import shutil
import subprocess
from typing import Any

from gpusim.errors import CannotRun

_CLOCKS = ("clocks.sm", "clocks.mem", "clocks.max.sm", "clocks.max.mem")
_QUERY = ("name", "driver_version", *_CLOCKS)


def import_cupy() -> Any:
    """
    Import CuPy and check that it finds a GPU.

    Raises:
        CannotRun: CuPy is not installed, or finds no GPU. The message says what to install.
    """
    try:
        cupy: Any = importlib.import_module("cupy")
    except ImportError as error:
        raise CannotRun(
            "CuPy is not installed: pip install 'gpusim[cuda13]', or 'gpusim[cuda12]' for a driver of CUDA 12"
        ) from error
    try:
        devices = int(cupy.cuda.runtime.getDeviceCount())
    except cupy.cuda.runtime.CUDARuntimeError as error:
        raise CannotRun(f"no GPU can be used: {error}; install NVIDIA's driver, and see `gpusim doctor`") from error
    if devices < 1:
        raise CannotRun("no GPU can be used: the driver lists none; see `gpusim doctor`")
    return cupy


def environment() -> dict[str, Any]:
    """
    Return the environment of a measured figure: GPU, driver, CUDA, CuPy, and current clocks in MHz.

    Raises:
        CannotRun: CuPy or a GPU is missing.
    """
    cupy = import_cupy()
    runtime = cupy.cuda.runtime
    device = cupy.cuda.Device()
    properties = runtime.getDeviceProperties(device.id)
    capability = str(device.compute_capability)
    smi = nvidia_smi(device.pci_bus_id)
    return {
        "gpu": _text(properties["name"]),
        "compute_capability": f"{capability[:-1]}.{capability[-1]}",
        "sms": int(properties["multiProcessorCount"]),
        "memory_bytes": int(properties["totalGlobalMem"]),
        "driver": smi.get("driver_version"),
        "cuda_driver": _cuda_version(int(runtime.driverGetVersion())),
        "cuda_runtime": _cuda_version(int(runtime.runtimeGetVersion())),
        "cupy": str(cupy.__version__),
        "clocks_mhz": {name.removeprefix("clocks."): _number(smi.get(name)) for name in _CLOCKS},
    }


def gpu_slug(name: str) -> str:
    """
    Return the folder name of a GPU's records: h200 for "NVIDIA H200", a100-sxm4-40gb for "NVIDIA A100-SXM4-40GB".
    """
    words = re.findall(r"[a-z0-9]+", name.lower())
    kept = [word for word in words if word not in {"nvidia", "geforce", "tesla", "graphics"}]
    return "-".join(kept or words)


def nvidia_smi(bus: str) -> dict[str, str]:
    """Query nvidia-smi for the GPU with a PCI bus id; return nothing if nvidia-smi is missing or fails."""
    tool = shutil.which("nvidia-smi")
    if tool is None:
        return {}
    command = [tool, "-i", bus, f"--query-gpu={','.join(_QUERY)}", "--format=csv,noheader,nounits"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=30)  # noqa: S603 # no user input
    except (OSError, subprocess.TimeoutExpired):
        return {}
    values = [value.strip() for value in done.stdout.strip().split(",")]
    return dict(zip(_QUERY, values, strict=True)) if done.returncode == 0 and len(values) == len(_QUERY) else {}


def _text(name: Any) -> str:
    return name.decode() if isinstance(name, bytes) else str(name)


def _cuda_version(number: int) -> str:
    return f"{number // 1000}.{number % 1000 // 10}"


def _number(text: str | None) -> int | None:
    return int(text) if text is not None and text.isdigit() else None
