"""One CUDA kernel of a scenario as it is compiled and launched: options, sources, grid, shared memory, parameters."""

import hashlib
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final, Literal, TypeAlias

import numpy as np

import gpusim
from gpusim.cuda.trace_format import operation_names
from gpusim.errors import CannotRun
from gpusim.schedule.ops import WarpOp

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


_INCLUDE: Final = re.compile(r'^\s*#include (?:"([^"]+)"|GPUSIM_HEADER\((\w+)\))', re.MULTILINE)
"""A header by its name, or by the macro that names it (kernels_cuda/global_iterators.cuh)."""

OWN_KERNEL_ONLY: Final = (
    'kernel.code must be "gpusim" where gpusim\'s own kernel is compiled or run, got "cutlass": set it, or give --cubin'
)
"""Message for a request for CUTLASS's kernel when only gpusim's exists."""


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
        extents: ``struct Extents`` of kernels_cuda/extents.cuh, passed after the parameters; empty if extents are
            compiled in.
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
    extents: tuple[int, ...] = ()

    @property
    def sources(self) -> str:
        """SHA-256 over ``source`` and every header of ``include`` that it includes, as they are now."""
        if self.include == kernels_folder():
            return _kept_digest(self.source, self.include, self.options)
        return sources_digest(self.source, self.include, self.options, complete=False)

    @property
    def digest(self) -> str:
        """SHA-256 over options and sources: equal for kernels that compile to equal code."""
        return hashlib.sha256("\n".join((*self.options, self.sources)).encode()).hexdigest()


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


def specialised(
    file: str,
    entry: str,
    build: Build,
    macros: Mapping[str, int | str],
    grid: tuple[int, int, int],
    *,
    block_threads: int,
    shared_bytes: int = 0,
    k_iterations: int = 0,
    semaphores: int = 0,
    extents: tuple[int, ...] = (),
) -> Specialisation:
    """
    Return the build and launch of a kernel with given macros; see the attributes of ``Specialisation``.

    Args:
        file: Path of the source below the folder of the CUDA sources.
        entry: Name of the ``__global__`` function.
        build: "plain", "trace" or "timeline".
        macros: Values in the order of the options. Their names lack the prefix ``GPUSIM_``.
        grid: gridDim x, y, z.
        block_threads: Threads of a CTA.
        shared_bytes: Dynamic shared memory of a CTA.
        k_iterations: Number of k tiles of split-K slice 0.
        semaphores: Number of int32 flags.
        extents: Extents that the launch passes.

    Raises:
        CannotRun: The CUDA sources are missing.
    """
    folder = kernels_folder()
    return Specialisation(
        entry=entry,
        build=build,
        options=("-std=c++17", *(f"-DGPUSIM_{name}={value}" for name, value in macros.items())),
        grid=grid,
        block_threads=block_threads,
        shared_bytes=shared_bytes,
        k_iterations=k_iterations,
        semaphores=semaphores,
        source=folder / file,
        include=folder,
        extents=extents,
    )


def build_macros(build: Build, op_kinds: Sequence[type[WarpOp]]) -> dict[str, int | str]:
    """
    Return the macros that select an instrumented build; empty for the plain one.

    A trace build also gets one macro for each kind of op that it records: its number there (kernels_cuda/record.cuh).
    """
    macros: dict[str, int | str] = {}
    if build == "trace":
        macros |= {f"OP_{name.upper()}": number for number, name in operation_names(op_kinds).items()}
    return macros if build == "plain" else macros | {build.upper(): 1}


def included(source: Path, folder: Path, options: tuple[str, ...], *, complete: bool = True) -> tuple[Path, ...]:
    """
    Return a source and every header that it includes, directly or through another, sorted.

    Preprocessor conditions are ignored: a header counts if any build of the source would read it. For a header that a
    macro names, the options give the name.

    Args:
        source: The file to compile.
        folder: Folder of quoted includes. Those of the including file and of ``-I`` options are tried after it.
        options: Compiler options.
        complete: Every header must be found. Otherwise the compiler may know another folder, as of "cuda_runtime.h".

    Raises:
        CannotRun: A header that must be there is missing, so the installation is damaged.
    """
    macros = {name: value for name, _, value in (one[2:].partition("=") for one in options if one.startswith("-D"))}
    folders = [Path(option[2:]) for option in options if option.startswith("-I")]
    found, ahead = {source}, [source]
    while ahead:
        path = ahead.pop()
        for name, macro in _INCLUDE.findall(path.read_text(encoding="utf-8", errors="replace")):
            wanted = name or f"{macros.get(macro, macro)}.cuh"
            places = [Path(os.path.normpath(one / wanted)) for one in (folder, path.parent, *folders)]
            header = next((place for place in places if place.is_file()), None)
            if header is None and complete:
                raise CannotRun(f"{path}: no {places[0]} to include; reinstall gpusim")
            if header is not None and header not in found:
                found.add(header)
                ahead.append(header)
    return tuple(sorted(found))


def sources_digest(source: Path, folder: Path, options: tuple[str, ...], *, complete: bool = True) -> str:
    """Return the SHA-256 over the files that ``included`` returns, names and bytes."""
    sha = hashlib.sha256()
    for path in included(source, folder, options, complete=complete):
        name = path.relative_to(folder) if path.is_relative_to(folder) else path
        sha.update(f"{name.as_posix()}\n".encode() + path.read_bytes() + b"\n")
    return sha.hexdigest()


@cache
def _kept_digest(source: Path, folder: Path, options: tuple[str, ...]) -> str:
    """Return the digest of gpusim's own sources, which do not change while it runs."""
    return sources_digest(source, folder, options)
