"""Describes one CUDA kernel of a scenario as it is compiled and launched: options, grid, shared memory, parameters."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal, TypeAlias

import numpy as np

import gpusim
from gpusim.cuda.trace_format import operation_names
from gpusim.errors import CannotRun

Build: TypeAlias = Literal["plain", "trace", "timeline"]

SHARED_ALIGNMENT: Final = 1024
"""Alignment of a CTA's dynamic shared memory in bytes, as in kernels_cuda/ptx.cuh."""

RECORDED_BLOCKS: Final = 8
"""Largest number of CTAs that one launch of a trace or timeline build records."""

PARAMS: Final = np.dtype(
    [
        ("a", np.uint64),
        ("b", np.uint64),
        ("source", np.uint64),
        ("output", np.uint64),
        ("semaphore", np.uint64),
        ("alpha", np.float32),
        ("beta", np.float32),
        ("records", np.uint64),
        ("record_counts", np.uint64),
        ("record_capacity", np.int32),
        ("recorded_blocks", np.int32),
        ("recorded", np.int32, RECORDED_BLOCKS),
        ("k_iterations", np.int32),
        ("reserved", np.int32),
        ("bias", np.uint64),
        ("partial", np.uint64),
    ],
    align=True,
)
"""dtype of struct Params in kernels_cuda/params.cuh, which a kernel takes by value. Pointers are device addresses."""


@dataclass(frozen=True, slots=True)
class Specialisation:
    """
    One build of one kernel of a scenario.

    Attributes:
        entry: Name of the ``__global__`` function.
        build: "plain", or one of the instrumented builds: "trace" or "timeline".
        options: Compiler options that specialise ``source`` to this kernel. They include the C++ standard, but not the
            architecture.
        grid: gridDim x, y, z.
        block_threads: Threads of a CTA.
        shared_bytes: Dynamic shared memory of a CTA.
        k_iterations: ``Params.k_iterations``: number of k tiles of split-K slice 0.
        semaphores: Number of int32 flags, zero before the launch, that serial split-K needs; 0 without it.
        source: The file to compile.
        include: The folder of its headers.
        digest: SHA-256 of options and sources. Kernels with equal digests compile to the same code.
    """

    entry: str
    build: Build
    options: tuple[str, ...]
    grid: tuple[int, int, int]
    block_threads: int
    shared_bytes: int
    k_iterations: int
    semaphores: int
    source: Path
    include: Path
    digest: str


def kernels_folder() -> Path:
    """
    Return the folder of the CUDA sources: inside an installed wheel, or at the top of the source tree.

    Raises:
        CannotRun: Neither folder has them, so the installation is damaged.
    """
    package = Path(gpusim.__file__).parent
    folders = (package / "_kernels_cuda", package.parent / "kernels_cuda")
    for folder in folders:
        if (folder / "kernel.cu").is_file():
            return folder
    raise CannotRun(f"no CUDA sources: neither {folders[0]} nor {folders[1]} has kernel.cu; reinstall gpusim")


def options(macros: Mapping[str, int | str]) -> tuple[str, ...]:
    """Return the compiler options that define a kernel's macros. Names in ``macros`` lack their prefix ``GPUSIM_``."""
    return ("-std=c++17", *(f"-DGPUSIM_{name}={value}" for name, value in macros.items()))


def build_macros(build: Build, op_kinds: Sequence[type]) -> dict[str, int | str]:
    """
    Return the macros that select an instrumented build; empty for the plain one.

    A trace build also gets one macro for each kind of op: its number in the records (kernels_cuda/record.cuh).
    """
    macros: dict[str, int | str] = {}
    if build == "trace":
        macros |= {f"OP_{name.upper()}": number for number, name in enumerate(operation_names(op_kinds))}
    return macros if build == "plain" else macros | {build.upper(): 1}


def sources_digest(options: Sequence[str], folder: Path, pattern: str) -> str:
    """
    Return the SHA-256 of a kernel's compiler options and of every source file that it may include.

    Args:
        options: Compiler options.
        folder: Folder of the CUDA sources. All headers directly in it are included.
        pattern: Glob, relative to ``folder``, of the kernel's own files.
    """
    sha = hashlib.sha256("\n".join(options).encode())
    for path in sorted({*folder.glob("*.cuh"), *folder.glob(pattern)}):
        sha.update(f"\n{path.relative_to(folder).as_posix()}\n".encode() + path.read_bytes())
    return sha.hexdigest()
