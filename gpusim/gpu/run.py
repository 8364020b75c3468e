"""One scenario on the GPU: its tensors, its launches, its numbers against the reference, its time."""

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from gpusim.cuda import timeline_format, trace_format
from gpusim.cuda.timeline_format import WarpTimeline
from gpusim.cuda.trace import Records
from gpusim.gpu.module import LoadedKernel
from gpusim.records.record import LoopTime, Numerics
from gpusim.tile.operand import Tiling
from gpusim.units import WARP_SIZE

BATCHES, LAUNCHES = 20, 5
"""The warm loop: batches that are timed, launches in each, as in the CUTLASS figures it is compared with."""

_SLACK = 16
"""Records beyond the Python stream's that a traced warp has room for, so that a longer one is seen as such."""


class Recording(NamedTuple):
    """
    What an instrumented build is told.

    Attributes:
        records, counts: Device arrays that it fills.
        capacity: Records or rows of one warp.
        blocks: Linear indices of the CTAs that are recorded, at most ``specialise.RECORDED_BLOCKS``.
    """

    records: Any = None
    counts: Any = None
    capacity: int = 0
    blocks: tuple[int, ...] = ()


class DeviceProblem(ABC):
    """
    A scenario's tensors in GPU memory.

    Attributes:
        cupy: The array module.
        seed: Of the random inputs.
    """

    cupy: Any
    seed: int

    @abstractmethod
    def poison(self) -> None:
        """Fill what a launch stores with NaN or unlikely integers: what is never written cannot pass for a result."""

    @abstractmethod
    def params(self, k_iterations: int, recording: Recording = Recording()) -> npt.NDArray[np.void]:  # noqa: B008
        """The parameters of one launch, shape (); ``k_iterations`` as of its specialisation."""

    @abstractmethod
    def numerics(self) -> Numerics:
        """
        What the launches stored against the float64 reference, computed there, too.

        Elements written where there is no output count as wrong.

        Raises:
            CheckFailed: A launch left something behind that it should not.
        """


def put_pointers(params: Any, arrays: Mapping[str, Any]) -> None:
    """Device addresses of arrays into fields of a ``struct Params``; 0 for None."""
    for name, array in arrays.items():
        params[name] = 0 if array is None else int(array.data.ptr)


def put_recording(params: Any, recording: Recording) -> None:
    """What an instrumented build is told, into a ``struct Params``."""
    put_pointers(params, {"records": recording.records, "record_counts": recording.counts})
    params["record_capacity"] = recording.capacity
    params["recorded_blocks"] = len(recording.blocks)
    params["recorded"][: len(recording.blocks)] = recording.blocks


def check_numerics(kernels: Sequence[LoadedKernel], problem: DeviceProblem) -> Numerics:
    """
    Every kernel launched once on poisoned memory; every element against the reference.

    Raises:
        CheckFailed: A launch left something behind that it should not.
    """
    problem.poison()
    launch_once(kernels, problem)
    return problem.numerics()


def record_trace(kernel: LoadedKernel, problem: DeviceProblem, blocks: tuple[int, ...], longest: int) -> Records:
    """
    What the trace build's warps did in some CTAs.

    Args:
        kernel: The trace build.
        problem: Gives it parameters.
        blocks: Linear block indices; at most ``specialise.RECORDED_BLOCKS``.
        longest: Ops of the longest Python stream of a warp.

    Raises:
        CheckFailed: A warp did more than the schedule has, or its lanes disagree.
    """
    cupy, own = problem.cupy, kernel.specialisation
    warps = own.block_threads // WARP_SIZE
    capacity = longest + _SLACK
    records = cupy.zeros(trace_format.buffer_words(len(blocks), warps, capacity), np.int64)
    counts = cupy.zeros((len(blocks), warps), np.int32)
    kernel.launch(problem.params(own.k_iterations, Recording(records, counts, capacity, blocks)))
    cupy.cuda.runtime.deviceSynchronize()
    return trace_format.decode(cupy.asnumpy(records), cupy.asnumpy(counts))


@dataclass(frozen=True, slots=True)
class TimelineBuffer:
    """
    Room for the stamps of one CTA's warps.

    Attributes:
        records: Device array.
        params: Of the launches that fill it.
    """

    records: Any
    params: npt.NDArray[np.void]


def timeline_buffer(kernel: LoadedKernel, problem: DeviceProblem, tiling: Tiling, block: int) -> TimelineBuffer:
    """
    Make room for the stamps of one CTA.

    Args:
        kernel: The timeline build.
        problem: Gives it parameters.
        tiling: Of its GEMM.
        block: Linear block index.
    """
    iterations = kernel.specialisation.k_iterations
    capacity = timeline_format.least_capacity(iterations, tiling.stages)
    words = timeline_format.buffer_words(1, tiling.threads // WARP_SIZE, tiling.k_groups, capacity)
    records = problem.cupy.empty(words, np.uint32)
    return TimelineBuffer(records, problem.params(iterations, Recording(records, None, capacity, (block,))))


def record_timeline(
    kernel: LoadedKernel, problem: DeviceProblem, tiling: Tiling, buffer: TimelineBuffer
) -> tuple[WarpTimeline, ...]:
    """
    When the warps of one CTA did what; the second of two launches, so that code and data are warm.

    Raises:
        CheckFailed: The CTA did not run.
    """
    cupy = problem.cupy
    for _ in range(2):
        buffer.records.fill(0xFFFFFFFF)
        kernel.launch(buffer.params)
    cupy.cuda.runtime.deviceSynchronize()
    stamps = cupy.asnumpy(buffer.records)
    return timeline_format.decode(stamps, 1, tiling.threads // WARP_SIZE, tiling.k_groups)


def time_loop(
    kernels: Sequence[LoadedKernel], problem: DeviceProblem, params: npt.NDArray[np.void] | None = None
) -> LoopTime:
    """
    Microseconds of one launch, of all kernels together, in a warm loop.

    The launches of a batch are one CUDA graph, so that the time is the GPU's and not Python's.

    Args:
        params: Of the launches, where the build needs more than a plain one.
    """
    params = problem.params(kernels[0].specialisation.k_iterations) if params is None else params
    cupy = problem.cupy
    stream = cupy.cuda.Stream(non_blocking=True)
    begin, end = cupy.cuda.Event(), cupy.cuda.Event()
    cupy.cuda.runtime.deviceSynchronize()
    with stream:
        _launch(kernels, params)
        stream.begin_capture()
        for _ in range(LAUNCHES):
            _launch(kernels, params)
        graph = stream.end_capture()
        graph.launch(stream)
        stream.synchronize()
        times = []
        for _ in range(BATCHES):
            begin.record(stream)
            graph.launch(stream)
            end.record(stream)
            end.synchronize()
            times.append(1000.0 * float(cupy.cuda.get_elapsed_time(begin, end)) / LAUNCHES)
    return LoopTime(BATCHES, LAUNCHES, round(median(times), 3), round(min(times), 3), round(max(times), 3))


def launch_once(kernels: Sequence[LoadedKernel], problem: DeviceProblem) -> None:
    """One plain launch of each kernel, waited for."""
    _launch(kernels, problem.params(kernels[0].specialisation.k_iterations))
    problem.cupy.cuda.runtime.deviceSynchronize()


def _launch(kernels: Sequence[LoadedKernel], params: npt.NDArray[np.void]) -> None:
    """The kernels of a scenario, one after the other; a reduction takes the parameters of the kernel before it."""
    for kernel in kernels:
        kernel.launch(params)


def cubin_digest(kernel: LoadedKernel) -> str:
    """SHA-256 of the machine code."""
    return hashlib.sha256(kernel.cubin.read_bytes()).hexdigest()
