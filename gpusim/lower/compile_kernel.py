"""Compiles a scenario's kernel to a cubin, on a machine that needs no GPU: with NVRTC or nvcc, whichever is there."""

import hashlib
import importlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from gpusim.errors import CannotRun
from gpusim.hardware.specialise import Specialisation, specialise
from gpusim.scenario import Scenario

KERNEL = "gpusim_kernel"
"""The entry point of every specialised kernel."""

MISSING = (
    "no CUDA compiler: pip install 'gpusim[compiler]' brings NVRTC (cuda-bindings, nvidia-cuda-nvrtc), or put nvcc of"
    " the CUDA toolkit on PATH; neither needs a GPU"
)


@dataclass(frozen=True, slots=True)
class Compiler:
    """
    A compiler that is here.

    Attributes:
        name: Which.
        version: "13.0".
        path: Of nvcc; empty for NVRTC.
    """

    name: Literal["nvrtc", "nvcc"]
    version: str
    path: str = ""


@dataclass(frozen=True, slots=True)
class CompiledKernel:
    """
    A kernel's cubin.

    Attributes:
        cubin: The file's bytes.
        compiler: "nvrtc 13.0" or "nvcc 13.0".
        specialisation: What it was compiled with.
    """

    cubin: bytes
    compiler: str
    specialisation: Specialisation


def find_compiler() -> Compiler | None:
    """NVRTC where cuda-bindings and the library are installed, else nvcc on PATH, else None."""
    nvrtc = _nvrtc()
    if nvrtc is not None:
        _, major, minor = nvrtc.nvrtcVersion()
        return Compiler("nvrtc", f"{major}.{minor}")
    path = shutil.which("nvcc")
    if path is None:
        return None
    asked = subprocess.run([path, "--version"], capture_output=True, text=True, check=False)  # noqa: S603 # no input
    release = re.search(r"release (\S+),", asked.stdout)
    return Compiler("nvcc", release[1] if release else "unknown", path)


def compile_kernel(scenario: Scenario, architecture: int) -> CompiledKernel:
    """
    The cubin of a scenario's plain kernel, from the cache where the same sources were compiled before.

    Args:
        scenario: A multistage scenario.
        architecture: 10 * major + minor of the target.

    Raises:
        CannotRun: No compiler is here, or it fails; says what to install, or the compiler's first complaint.
    """
    compiler = find_compiler()
    if compiler is None:
        raise CannotRun(MISSING)
    specialisation = specialise(scenario, "plain")
    key = f"{specialisation.digest} sm_{architecture} {compiler.name} {compiler.version}"
    cached = cache_folder() / "cubin" / f"{hashlib.sha256(key.encode()).hexdigest()}.cubin"
    name = f"{compiler.name} {compiler.version}"
    if cached.is_file():
        return CompiledKernel(cached.read_bytes(), name, specialisation)
    compile_with = _with_nvrtc if compiler.name == "nvrtc" else _with_nvcc
    cubin = compile_with(compiler, specialisation, architecture)
    _write(cached, cubin)
    return CompiledKernel(cubin, name, specialisation)


def cache_folder() -> Path:
    """
    Where compiled kernels are kept: GPUSIM_CACHE, or gpusim in the user's cache directory of this platform.
    """
    override = os.environ.get("GPUSIM_CACHE")
    if override:
        return Path(override)
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "gpusim"
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA", str(Path.home() / "AppData" / "Local"))) / "gpusim" / "Cache"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "gpusim"


def _write(path: Path, data: bytes) -> None:
    """Whole or not at all; a cache that cannot be written is done without."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=path.parent, delete=False) as file:
            file.write(data)
        Path(file.name).replace(path)
    except OSError:
        return


def _with_nvcc(compiler: Compiler, specialisation: Specialisation, architecture: int) -> bytes:
    # nvcc splits the values of its own options at commas.
    options = [option.replace(",", "\\,") for option in specialisation.options]
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder) / "kernel.cubin"
        command = [compiler.path, "-cubin", f"-arch=sm_{architecture}", *options, f"-I{specialisation.include}"]
        command += ["-o", str(output), str(specialisation.source)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 # our own options
        if done.returncode:
            raise CannotRun(f"nvcc could not compile {specialisation.source}: {_first_error(done.stderr)}")
        return output.read_bytes()


def _nvrtc() -> Any | None:
    """The module cuda.bindings.nvrtc with its library behind it, or None."""
    try:
        nvrtc: Any = importlib.import_module("cuda.bindings.nvrtc")
        nvrtc.nvrtcVersion()
    except (ImportError, RuntimeError):
        return None
    return nvrtc


def _with_nvrtc(_: Compiler, specialisation: Specialisation, architecture: int) -> bytes:
    nvrtc = _nvrtc()
    if nvrtc is None:
        raise CannotRun(MISSING)
    source = specialisation.source.read_bytes()
    options = [f"--gpu-architecture=sm_{architecture}", *specialisation.options, f"-I{specialisation.include}"]
    _, program = nvrtc.nvrtcCreateProgram(source, specialisation.source.name.encode(), 0, [], [])
    (failed,) = nvrtc.nvrtcCompileProgram(program, len(options), [option.encode() for option in options])
    if int(failed):
        _, size = nvrtc.nvrtcGetProgramLogSize(program)
        log = b" " * size
        nvrtc.nvrtcGetProgramLog(program, log)
        raise CannotRun(f"NVRTC could not compile {specialisation.source}: {_first_error(log.decode())}")
    _, size = nvrtc.nvrtcGetCUBINSize(program)
    cubin: bytes = b" " * size
    nvrtc.nvrtcGetCUBIN(program, cubin)
    nvrtc.nvrtcDestroyProgram(program)
    return cubin


def _first_error(log: str) -> str:
    lines = [line.strip() for line in log.splitlines() if line.strip()]
    return next((line for line in lines if "error" in line), lines[0] if lines else "it says nothing")
