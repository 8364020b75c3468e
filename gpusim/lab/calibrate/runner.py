"""Runs the microbenchmark kernels through CuPy and reads back their spans; knows no figure of a machine file."""

import csv
import platform
import shlex
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal, TypeAlias

import numpy as np

import gpusim
from gpusim.arrays import IntArray
from gpusim.cuda.compiler import compile_cubin
from gpusim.cuda.specialise import Specialisation, kernels_folder
from gpusim.errors import CannotRun
from gpusim.gpu.device import environment, import_cupy
from gpusim.results.provenance import commit

MeasuredRow: TypeAlias = dict[str, str | int | float]

KernelArgument: TypeAlias = Literal["clocks", "no clocks", "data", "flags", "words"] | int | float

WARP = 32


@dataclass(frozen=True, slots=True)
class ProfiledLaunch:
    """
    A launch that ncu profiles.

    Attributes:
        source: Name of the source, without ".cu".
        kernel: Name of the kernel.
        ctas: Number of CTAs.
        threads: Threads of a CTA.
        arguments: Arguments. "clocks" is a buffer that the kernel writes its clocks to, "no clocks" a null pointer,
            "data" zeroed memory, "flags" zeroed integers, "words" those of ``words``; integers are passed as int,
            floats as float.
        columns: Columns that describe the launch in its row.
        clocks: Clocks that each CTA writes.
        data_bytes: Bytes of the zeroed memory.
        shared: Dynamic shared memory of a CTA, bytes.
        words: Integers that the kernel reads.
    """

    source: str
    kernel: str
    ctas: int
    threads: int
    arguments: tuple[KernelArgument, ...] = ()
    columns: MeasuredRow = field(default_factory=dict)
    clocks: int = 0
    data_bytes: int = 0
    shared: int = 0
    words: tuple[int, ...] = ()


class Device:
    """
    The current GPU: compiles each microbenchmark once, launches its kernels and returns their records.

    Attributes:
        cupy: The CuPy module.
        sms: Number of SMs.
        capability: Compute capability without its point, such as "90".
    """

    def __init__(self) -> None:
        self.cupy: Any = import_cupy()
        self.sms = int(self.cupy.cuda.Device().attributes["MultiProcessorCount"])
        self.capability = str(self.cupy.cuda.Device().compute_capability)
        self._modules: dict[str, Any] = {}

    def module(self, name: str, architecture: str = "") -> Any:
        """
        Return the CuPy module of source ``<name>.cu``, compiled on first use.

        Args:
            name: Name of the source, without ".cu".
            architecture: Target as in ``-arch``, such as "sm_90a"; empty is what CuPy compiles for on this GPU.
        """
        if name not in self._modules:
            folder = kernels_folder() / "microbench"
            if architecture:
                cubin = compile_cubin(microbench_source(name), architecture)
                self._modules[name] = self.cupy.RawModule(path=str(cubin))
            else:
                source = (folder / f"{name}.cu").read_text(encoding="utf-8")
                options = ("-std=c++17", f"-I{folder}")
                self._modules[name] = self.cupy.RawModule(code=source, options=options, backend="nvrtc")
        return self._modules[name]

    def launch(
        self,
        source: str,
        kernel: str,
        arguments: Sequence[object],
        *,
        ctas: int = 1,
        threads: int = WARP,
        shared: int = 0,
        architecture: str = "",
    ) -> None:
        """
        Launch one kernel.

        Args:
            source: Name of the source, without ".cu".
            kernel: Name of the kernel.
            arguments: Its arguments. Integers must be numpy scalars of the parameter's type.
            ctas: Number of CTAs.
            threads: Threads of a CTA.
            shared: Dynamic shared memory of a CTA, bytes.
            architecture: Target of the source, see ``module``.
        """
        function = self.module(source, architecture).get_function(kernel)
        if shared > 48 * 1024:
            function.max_dynamic_shared_size_bytes = shared
        function((ctas,), (threads,), tuple(arguments), shared_mem=shared)

    def spans(
        self,
        source: str,
        kernel: str,
        arguments: Sequence[object],
        *,
        ctas: int = 1,
        threads: int = WARP,
        shared: int = 0,
        repeats: int = 3,
    ) -> IntArray:
        """
        Launch a kernel several times, and return the spans of its shortest launch.

        The kernel's first parameter is the buffer of the spans; ``arguments`` are the others.

        Returns:
            SM cycles at begin and end of every warp that took part, shape [warps, 2].

        Raises:
            ValueError: ``repeats`` is less than 1.
        """
        best: IntArray | None = None
        for _ in range(repeats):
            buffer = self.cupy.zeros((ctas * (threads // WARP), 2), dtype=np.uint64)
            self.launch(source, kernel, (buffer, *arguments), ctas=ctas, threads=threads, shared=shared)
            found: IntArray = self.cupy.asnumpy(buffer).astype(np.int64)
            if best is None or _longest(found) < _longest(best):
                best = found
        if best is None:
            raise ValueError("a kernel must be launched at least once")
        took_part: IntArray = best[best[:, 1] != 0]
        return took_part

    def milliseconds(self, launch: Any) -> float:
        """Return the milliseconds of one call of ``launch`` on the GPU, measured by CUDA events."""
        begin, end = self.cupy.cuda.Event(), self.cupy.cuda.Event()
        begin.record()
        launch()
        end.record()
        end.synchronize()
        return float(self.cupy.cuda.get_elapsed_time(begin, end))

    def provenance(self) -> dict[str, str]:
        """Return the origin of measured figures: GPU, driver, CUDA, CuPy, clocks, commit, date, command."""
        found = environment()
        clocks = ", ".join(f"{name} {mhz}" for name, mhz in found["clocks_mhz"].items())
        nvrtc = ".".join(map(str, self.cupy.cuda.nvrtc.getVersion()))
        return {
            "GPU": f"{found['gpu']}, {self.sms} SMs",
            "driver": str(found["driver"]),
            "CUDA": f"driver {found['cuda_driver']}, runtime {found['cuda_runtime']}, NVRTC {nvrtc}",
            "CuPy": str(found["cupy"]),
            "clocks in MHz, not locked": clocks,
            "gpusim": f"{gpusim.__version__}, commit {commit() or 'unknown'}",
            "Python": platform.python_version(),
            "date": datetime.now(tz=UTC).isoformat(timespec="seconds"),
            "command": shlex.join([Path(sys.executable).name, *sys.orig_argv[1:]]),
        }


def microbench_source(name: str) -> Specialisation:
    """Return source ``<name>.cu`` of the microbenchmarks as something to compile; its launches are the benchmarks'."""
    folder = kernels_folder() / "microbench"
    return Specialisation(
        entry=name,
        build="plain",
        options=("-std=c++17",),
        grid=(1, 1, 1),
        block_threads=WARP,
        shared_bytes=0,
        k_iterations=0,
        semaphores=0,
        source=folder / f"{name}.cu",
        include=folder,
    )


def _longest(spans: IntArray) -> int:
    took_part = spans[spans[:, 1] != 0]
    return int((took_part[:, 1] - took_part[:, 0]).max()) if len(took_part) else sys.maxsize


def say(text: str) -> None:
    """Write a line of progress or an error to stderr, at once."""
    sys.stderr.write(f"{text}\n")
    sys.stderr.flush()


def elapsed(spans: IntArray) -> int:
    """Return the cycles from the first begin to the last end of warps on one SM; ``spans`` has shape [warps, 2]."""
    return int(spans[:, 1].max() - spans[:, 0].min())


def write_rows(path: Path, rows: Sequence[MeasuredRow], provenance: dict[str, str]) -> None:
    """
    Write rows as CSV, below comment lines with their provenance.

    The columns are the keys of all rows, in order of first appearance. A row that lacks a key has an empty field.
    """
    columns = list(dict.fromkeys(key for row in rows for key in row))
    with path.open("w", encoding="utf-8", newline="") as file:
        for key, value in provenance.items():
            file.write(f"# {key}: {value}\n")
        writer = csv.DictWriter(file, columns, restval="", lineterminator="\n")
        writer.writeheader()
        writer.writerows({key: _printed(value) for key, value in row.items()} for row in rows)


def read_rows(path: Path, what: str = "rows") -> list[dict[str, str]]:
    """
    Read the rows of a CSV file that ``write_rows`` wrote; lines with "#" are comments. Values are text.

    Args:
        path: The file.
        what: Its content, for the message of an error.

    Raises:
        CannotRun: The file cannot be read.
    """
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except OSError as error:
        raise CannotRun(f"{path}: {what} cannot be read ({error.strerror or error})") from error
    return list(csv.DictReader(line for line in lines if not line.startswith("#")))


def _printed(value: str | float) -> str:
    return f"{value:.4f}".rstrip("0").rstrip(".") if isinstance(value, float) else str(value)
