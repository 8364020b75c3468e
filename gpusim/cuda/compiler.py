"""Compiles a specialised kernel to a cubin with NVRTC or nvcc, and caches it; needs no GPU and runs nothing."""

import ctypes
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal, TypeAlias

from gpusim.cuda.specialise import Specialisation
from gpusim.errors import CannotRun

CompilerName: TypeAlias = Literal["nvrtc", "nvcc"]

CACHE_VARIABLE = "GPUSIM_KERNEL_CACHE"
"""Environment variable that names the folder of compiled kernels; without it, gpusim/kernels in the user's cache."""

_SECONDS = 600


@dataclass(frozen=True, slots=True)
class Compiler:
    """
    An installed CUDA compiler.

    Attributes:
        name: "nvrtc" or "nvcc".
        version: Version it reports: "13.0.88" for nvcc, "13.0" for NVRTC.
        path: The nvcc executable, or the NVRTC shared library.
    """

    name: CompilerName
    version: str
    path: Path


def find_compiler(wanted: CompilerName | None = None) -> Compiler:
    """
    Return the compiler to use: NVRTC if it is installed, otherwise nvcc.

    Args:
        wanted: Accept only this compiler; None accepts either.

    Raises:
        CannotRun: No such compiler is installed. The message says what to install.
    """
    for name, find in (("nvrtc", _find_nvrtc), ("nvcc", _find_nvcc)):
        if wanted in {None, name}:
            found = find()
            if found is not None:
                return found
    what = "no CUDA compiler is installed" if wanted is None else f"{wanted} is not installed"
    raise CannotRun(f"{what}: pip install 'gpusim[compiler]' brings NVRTC, the CUDA toolkit has nvcc")


def cache_folder() -> Path:
    """Return the folder of compiled kernels. It may not exist yet: the first compilation creates it."""
    named = os.environ.get(CACHE_VARIABLE)
    if named:
        return Path(named)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "gpusim" / "kernels"


def compile_cubin(kernel: Specialisation, architecture: str = "sm_90", compiler: Compiler | None = None) -> Path:
    """
    Return the path of a kernel's cubin in the cache, after compiling it if it is not there yet.

    The file's name is a hash of everything that determines the machine code: options, sources, compiler, architecture.

    Args:
        kernel: The kernel to compile.
        architecture: Target as in ``-arch``, such as "sm_90".
        compiler: The compiler to use; None takes ``find_compiler()``.

    Raises:
        CannotRun: No compiler is installed, it rejects the source (the message quotes its first error), or the cache
            cannot be written.
    """
    chosen = compiler or find_compiler()
    path = kept_path(f"{kernel.digest} {chosen.name} {chosen.version} {architecture}")
    if path.is_file():
        return path
    options = [*kernel.options, f"-I{kernel.include}", f"-arch={architecture}"]
    keep(path, _with_nvrtc(chosen, kernel, options) if chosen.name == "nvrtc" else _with_nvcc(chosen, kernel, options))
    return path


def kept_path(key: str) -> Path:
    """Return the path of a cubin in the cache by the text of everything that determines it."""
    return cache_folder() / f"{hashlib.sha256(key.encode()).hexdigest()[:32]}.cubin"


def keep(path: Path, image: bytes) -> None:
    """
    Write a file of the cache.

    Raises:
        CannotRun: The cache cannot be written.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        # Several processes may compile the same kernel: each writes a file of its own, and the last name wins.
        with tempfile.NamedTemporaryFile(dir=path.parent, suffix=".part", delete=False) as part:
            part.write(image)
        Path(part.name).replace(path)
    except OSError as error:
        raise CannotRun(f"{path}: the compiled kernel cannot be kept ({error.strerror or error})") from error


def _with_nvcc(compiler: Compiler, kernel: Specialisation, options: list[str]) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "kernel.cubin"
        command = [str(compiler.path), "-cubin", *options, "-o", str(out), str(kernel.source)]
        return written_by(command, out, f"nvcc {compiler.version}", "compile", str(kernel.source))


def written_by(command: Sequence[str], out: Path, tool: str, verb: str, what: str, *, unsaid: str = "") -> bytes:
    """
    Run a compiler, and return the file that it writes.

    Args:
        command: The command.
        out: The file.
        tool, verb, what: In messages: name and version of the compiler, what it does, and its source.
        unsaid: Part of the compiler's messages that is left out.

    Raises:
        CannotRun: It does not run, or it rejects the source (the message quotes its first error).
    """
    try:
        done = subprocess.run(  # noqa: S603 # the command is built here, never by a shell
            command, capture_output=True, text=True, check=False, timeout=_SECONDS
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise CannotRun(f"{tool} cannot {verb} {what}: {error}") from error
    if done.returncode != 0 or not out.is_file():
        raise CannotRun(f"{tool} refuses {what}: {first_error(done.stderr + done.stdout).replace(unsaid, '')}")
    return out.read_bytes()


def said_version(path: str | Path) -> str:
    """Return what a compiler says of its version; empty if it does not run."""
    try:
        return subprocess.run([path, "--version"], capture_output=True, text=True, check=False, timeout=60).stdout  # noqa: S603 # no user input
    except (OSError, subprocess.TimeoutExpired):
        return ""


def _with_nvrtc(compiler: Compiler, kernel: Specialisation, options: list[str]) -> bytes:
    library = _library(compiler.path)
    program = ctypes.c_void_p()
    source = kernel.source.read_bytes()
    name = str(kernel.source).encode()
    _checked(
        library, library.nvrtcCreateProgram(ctypes.byref(program), source, name, 0, None, None), "create a program"
    )
    try:
        encoded = [option.encode() for option in (*options, *(f"-I{folder}" for folder in _toolkit_headers(compiler)))]
        array = (ctypes.c_char_p * len(encoded))(*encoded)
        if library.nvrtcCompileProgram(program, len(encoded), array) != 0:
            log = _sized(library, "nvrtcGetProgramLogSize", "nvrtcGetProgramLog", program).decode(errors="replace")
            raise CannotRun(f"NVRTC {compiler.version} refuses {kernel.source}: {first_error(log)}")
        return _sized(library, "nvrtcGetCUBINSize", "nvrtcGetCUBIN", program)
    finally:
        library.nvrtcDestroyProgram(ctypes.byref(program))


def _sized(library: ctypes.CDLL, size_of: str, get: str, program: ctypes.c_void_p) -> bytes:
    size = ctypes.c_size_t()
    if not hasattr(library, size_of):
        raise CannotRun(f"NVRTC is too old: it has no {size_of}")
    _checked(library, getattr(library, size_of)(program, ctypes.byref(size)), size_of)
    data = ctypes.create_string_buffer(size.value)
    _checked(library, getattr(library, get)(program, data), get)
    return data.raw[: size.value]


def _checked(library: ctypes.CDLL, status: int, what: str) -> None:
    if status != 0:
        library.nvrtcGetErrorString.restype = ctypes.c_char_p
        raise CannotRun(f"NVRTC cannot {what}: {library.nvrtcGetErrorString(status).decode()}")


def first_error(log: str) -> str:
    """Return the first error of a compiler's log."""
    lines = [line.strip() for line in log.replace("\0", "").splitlines() if line.strip()]
    return next((line for line in lines if "error" in line), lines[-1] if lines else "it says nothing")


def _find_nvcc() -> Compiler | None:
    executable = shutil.which("nvcc")
    if executable is None:
        return None
    words = said_version(executable).split()
    version = next((word[1:] for word in words if word.startswith("V") and word[1:2].isdigit()), "")
    return Compiler("nvcc", version, Path(executable)) if version else None


def _find_nvrtc() -> Compiler | None:
    for path in _nvrtc_libraries():
        try:
            library = _library(path)
            major, minor = ctypes.c_int(), ctypes.c_int()
            if library.nvrtcVersion(ctypes.byref(major), ctypes.byref(minor)) == 0:
                return Compiler("nvrtc", f"{major.value}.{minor.value}", path)
        except OSError:
            continue
    return None


def _toolkit_headers(compiler: Compiler) -> list[Path]:
    """Return the folder of cuda_fp16.h and its like, which NVRTC does not know: that beside it, or another, or none."""
    folders = (compiler.path.parent.parent, *_wheels(), *toolkits())
    return [one / "include" for one in folders if (one / "include" / "cuda_fp16.h").is_file()][:1]


def _nvrtc_libraries() -> Iterator[Path]:
    """Yield candidate NVRTC libraries: those of pip wheels first, then those of toolkits, the newest of each first."""
    for folder in _wheels():
        yield from sorted(folder.glob("lib/libnvrtc.so.*"), reverse=True)
    for root in toolkits():
        yield from sorted(root.glob("lib64/libnvrtc.so.*"), reverse=True)


def _wheels() -> Iterator[Path]:
    """Yield the folders of NVIDIA's wheels, the newest first."""
    for folder in map(Path, sys.path):
        yield from sorted(folder.glob("nvidia/*"), reverse=True)


def toolkits() -> Iterator[Path]:
    """Yield the folders of CUDA toolkits: those that the environment names, then those installed, the newest first."""
    yield from (Path(os.environ[name]) for name in ("CUDA_HOME", "CUDA_PATH") if os.environ.get(name))
    yield from sorted(Path("/usr/local").glob("cuda*"), reverse=True)


@cache
def _library(path: Path) -> ctypes.CDLL:
    # NVRTC opens its builtins library by bare name. In a wheel's folder that succeeds only if it is loaded already.
    for builtins in sorted(path.parent.glob("libnvrtc-builtins.so.*")):
        ctypes.CDLL(str(builtins), mode=ctypes.RTLD_GLOBAL)
    return ctypes.CDLL(str(path))
