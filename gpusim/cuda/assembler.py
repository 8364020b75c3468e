"""
Makes machine code of PTX (ptxas, nvJitLink) and of LTO-IR (nvJitLink), and caches it; needs no GPU and runs nothing.
"""

import ctypes
import hashlib
import re
import shutil
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Literal, TypeAlias

from gpusim.cuda.compiler import first_error, keep, kept_path, said_version, toolkits, written_by
from gpusim.errors import CannotRun

AssemblerName: TypeAlias = Literal["ptxas", "nvJitLink"]

_PTX, _LTO_IR = 2, 3
"""Kinds of input of nvJitLinkAddData. Source: nvJitLink.h, nvJitLinkInputType."""


@dataclass(frozen=True, slots=True)
class Assembler:
    """
    An installed assembler of PTX.

    Attributes:
        name: "ptxas" or "nvJitLink".
        version: Major and minor version; it takes PTX of this and of earlier CUDA versions.
        path: The executable, or the shared library.
    """

    name: AssemblerName
    version: tuple[int, int]
    path: Path


def find_assembler() -> Assembler:
    """
    Return the installed ptxas of the latest version, and nvJitLink if there is none.

    ptxas puts what a kernel calls into the kernel's own section; nvJitLink leaves it apart.

    Raises:
        CannotRun: None is installed. The message says what to install.
    """
    for find in (_ptxas, _nvjitlink):
        found = max(find(), key=lambda one: one.version, default=None)
        if found is not None:
            return found
    raise CannotRun(
        "no assembler of PTX is installed: the CUDA toolkit and Triton have ptxas, nvidia-nvjitlink has another"
    )


def assemble(ptx: bytes, where: str, architecture: int) -> Path:
    """
    Return the path of the machine code of PTX in the cache, after assembling it if it is not there yet.

    Args:
        ptx: The text.
        where: Name of the text in messages.
        architecture: Compute capability of the target as 10 * major + minor.

    Raises:
        CannotRun: No assembler is installed, it rejects the text (the message quotes its first error), or the cache
            cannot be written.
    """
    assembler = find_assembler()
    # Code for "sm_90a" is assembled for that alone.
    special = re.search(rb"^\s*\.target\s+(sm_%da)" % architecture, ptx, re.MULTILINE)
    target = special[1].decode() if special else f"sm_{architecture}"
    path = kept_path(f"{hashlib.sha256(ptx).hexdigest()} {_named(assembler)} {target}")
    if not path.is_file():
        if assembler.name == "ptxas":
            keep(path, _with_ptxas(assembler, ptx, where, target))
        else:
            keep(path, _with_nvjitlink(assembler, ptx, _PTX, where, (f"-arch={target}",)))
    return path


def link(code: bytes, where: str, architecture: int) -> Path:
    """
    Return the path of the machine code of LTO-IR in the cache, after linking it if it is not there yet.

    Args:
        code: The LTO-IR of a kernel.
        where: Name of the kernel in messages.
        architecture: Compute capability of the target as 10 * major + minor.

    Raises:
        CannotRun: nvJitLink is not installed, it rejects the code (the message quotes its first error), or the cache
            cannot be written.
    """
    linker = max(_nvjitlink(), key=lambda one: one.version, default=None)
    if linker is None:
        raise CannotRun("nvJitLink is not installed: pip install nvidia-nvjitlink brings it")
    path = kept_path(f"{hashlib.sha256(code).hexdigest()} {_named(linker)} lto {architecture}")
    if not path.is_file():
        keep(path, _with_nvjitlink(linker, code, _LTO_IR, where, (f"-arch=sm_{architecture}", "-lto")))
    return path


def _with_ptxas(assembler: Assembler, ptx: bytes, where: str, target: str) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        text, out = Path(folder) / "kernel.ptx", Path(folder) / "kernel.cubin"
        text.write_bytes(ptx)
        command = [str(assembler.path), "-lineinfo", f"-arch={target}", str(text), "-o", str(out)]
        return written_by(command, out, _named(assembler), "assemble", where, unsaid=f"{text}, ")


def _with_nvjitlink(linker: Assembler, data: bytes, kind: int, where: str, options: tuple[str, ...]) -> bytes:
    library = ctypes.CDLL(str(linker.path))
    handle = ctypes.c_void_p()
    given = [*(one.encode() for one in options), b"-lineinfo"]
    if library.nvJitLinkCreate(ctypes.byref(handle), len(given), (ctypes.c_char_p * len(given))(*given)) != 0:
        raise CannotRun(f"{_named(linker)} does not take {' '.join(options)}")
    try:
        if (
            library.nvJitLinkAddData(handle, kind, data, ctypes.c_size_t(len(data)), where.encode()) != 0
            or library.nvJitLinkComplete(handle) != 0
        ):
            said = first_error(_sized(library, "ErrorLog", handle).decode(errors="replace"))
            raise CannotRun(f"{_named(linker)} refuses {where}: {said}")
        return _sized(library, "LinkedCubin", handle)
    finally:
        library.nvJitLinkDestroy(ctypes.byref(handle))


def _sized(library: ctypes.CDLL, what: str, handle: ctypes.c_void_p) -> bytes:
    size = ctypes.c_size_t()
    library[f"nvJitLinkGet{what}Size"](handle, ctypes.byref(size))
    data = ctypes.create_string_buffer(size.value)
    library[f"nvJitLinkGet{what}"](handle, data)
    return data.raw


def _named(assembler: Assembler) -> str:
    return f"{assembler.name} {'.'.join(map(str, assembler.version))}"


def _ptxas() -> Iterator[Assembler]:
    for path in _ptxas_paths():
        version = re.search(r"release (\d+)\.(\d+)", said_version(path))
        if version:
            yield Assembler("ptxas", (int(version[1]), int(version[2])), path)


def _ptxas_paths() -> Iterator[Path]:
    on_path = shutil.which("ptxas")
    if on_path:
        yield Path(on_path)
    for root in toolkits():
        yield from root.glob("bin/ptxas")
    triton = find_spec("triton")
    for folder in (triton and triton.submodule_search_locations) or ():
        yield from Path(folder).glob("backends/nvidia/bin/ptxas*")


def _nvjitlink() -> Iterator[Assembler]:
    for folder in map(Path, sys.path):
        for path in folder.glob("nvidia/*/lib/libnvJitLink.so.*"):
            major, minor = ctypes.c_uint(), ctypes.c_uint()
            try:
                status = ctypes.CDLL(str(path)).nvJitLinkVersion(ctypes.byref(major), ctypes.byref(minor))
            except (OSError, AttributeError):
                continue
            if status == 0:
                yield Assembler("nvJitLink", (major.value, minor.value), path)
