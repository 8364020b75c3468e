"""Runs one scenario on the GPU: launches its kernels, checks their numbers against the reference, and times them."""

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
from gpusim.schedule.kernel import Stamped
from gpusim.units import WARP_SIZE

BATCHES, LAUNCHES = 20, 5
"""Timed batches of the warm loop, and launches in each. CUTLASS's figures were measured with the same numbers."""

_SLACK = 16
"""Records of a traced warp beyond the expected number, to recognise a trace that is too long."""


class Recording(NamedTuple):
    """
    The parameters of a trace or timeline build that a plain build does not have.

    Attributes:
        records, counts: Device arrays that the launch fills.
        capacity: Capacity for one warp, in records (trace) or rows (timeline).
        blocks: Linear indices of the CTAs to record, at most ``specialise.RECORDED_BLOCKS``.
    """

    records: Any = None
    counts: Any = None
    capacity: int = 0
    blocks: tuple[int, ...] = ()


class DeviceProblem(ABC):
    """
    A scenario's tensors in GPU memory.

    Attributes:
        cupy: The CuPy module.
        seed: Seed of the random inputs.
    """

    cupy: Any
    seed: int

    @abstractmethod
    def poison(self) -> None:
        """Fill the outputs with NaN or unlikely integers, so that an element never written cannot look correct."""

    @abstractmethod
    def params(self, k_iterations: int, recording: Recording = Recording()) -> npt.NDArray[np.void]:  # noqa: B008
        """Return the parameters of one launch, shape (). ``k_iterations`` is ``Specialisation.k_iterations``."""

    @abstractmethod
    def numerics(self) -> Numerics:
        """
        Compare the stored outputs with a float64 reference, which is also computed on the GPU.

        Elements written outside the output count as wrong.

        Raises:
            CheckFailed: A launch left memory in a wrong state, such as a semaphore that is not zero.
        """


def put_pointers(params: Any, arrays: Mapping[str, Any]) -> None:
    """Write device addresses of arrays into the fields of ``params`` that have their names; 0 for None."""
    for name, array in arrays.items():
        params[name] = 0 if array is None else int(array.data.ptr)


def put_recording(params: Any, recording: Recording) -> None:
    """Write the fields of ``params`` that an instrumented build reads."""
    put_pointers(params, {"records": recording.records, "record_counts": recording.counts})
    params["record_capacity"] = recording.capacity
    params["recorded_blocks"] = len(recording.blocks)
    params["recorded"][: len(recording.blocks)] = recording.blocks


def check_numerics(kernels: Sequence[LoadedKernel], problem: DeviceProblem) -> Numerics:
    """
    Launch every kernel once on poisoned memory, and compare every output element with the reference.

    Raises:
        CheckFailed: A launch left memory in a wrong state.
    """
    problem.poison()
    launch_once(kernels, problem)
    return problem.numerics()


def record_trace(kernel: LoadedKernel, problem: DeviceProblem, blocks: tuple[int, ...], longest: int) -> Records:
    """
    Launch a trace build, and return the records of the warps of some CTAs.

    Args:
        kernel: The trace build.
        problem: The tensors, which supply the parameters.
        blocks: Linear block indices, at most ``specialise.RECORDED_BLOCKS``.
        longest: Largest number of records expected of a warp.

    Raises:
        CheckFailed: A warp made more records than the buffer holds, or its lanes recorded different operations.
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
    A buffer for the time stamps of one CTA's warps.

    Attributes:
        records: Device array of uint32.
        params: Parameters of the launches that fill it.
    """

    records: Any
    params: npt.NDArray[np.void]


def timeline_buffer(kernel: LoadedKernel, problem: DeviceProblem, stamped: Stamped) -> TimelineBuffer:
    """
    Allocate a buffer for the time stamps of one CTA.

    Args:
        kernel: The timeline build.
        problem: The tensors, which supply the parameters.
        stamped: The events that the build stamps.
    """
    iterations = kernel.specialisation.k_iterations
    capacity = timeline_format.least_capacity(iterations, stamped.beyond)
    words = timeline_format.buffer_words(1, stamped.warps, stamped.k_groups, capacity)
    records = problem.cupy.empty(words, np.uint32)
    return TimelineBuffer(records, problem.params(iterations, Recording(records, None, capacity, (stamped.block,))))


def record_timeline(
    kernel: LoadedKernel, problem: DeviceProblem, stamped: Stamped, buffer: TimelineBuffer, *, launches: int = 2
) -> tuple[WarpTimeline, ...]:
    """
    Return the timelines of one CTA's warps, from the last of several launches.

    From the second launch on, code and data are warm, unless another launch comes between.

    Raises:
        CheckFailed: The CTA did not run, or the buffer is too small for its k tiles.
    """
    cupy = problem.cupy
    for _ in range(launches):
        buffer.records.fill(0xFFFFFFFF)
        kernel.launch(buffer.params)
    cupy.cuda.runtime.deviceSynchronize()
    stamps = cupy.asnumpy(buffer.records)
    return timeline_format.decode(stamps, 1, stamped.warps, stamped.k_groups)


def time_loop(
    kernels: Sequence[LoadedKernel], problem: DeviceProblem, params: npt.NDArray[np.void] | None = None
) -> LoopTime:
    """
    Time one launch of all kernels together in a warm loop, in microseconds.

    The launches of a batch are one CUDA graph, so the time does not include Python's launch overhead.

    Args:
        kernels: Kernels of a scenario, in launch order.
        problem: The tensors, which supply the parameters.
        params: Parameters of the launches; None takes those of a plain build.
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
    """Launch each kernel of a plain build once, and wait for the GPU."""
    _launch(kernels, problem.params(kernels[0].specialisation.k_iterations))
    problem.cupy.cuda.runtime.deviceSynchronize()


def _launch(kernels: Sequence[LoadedKernel], params: npt.NDArray[np.void]) -> None:
    """Launch the kernels of a scenario in order. A reduction takes the parameters of the kernel before it."""
    for kernel in kernels:
        kernel.launch(params)


def cubin_digest(kernel: LoadedKernel) -> str:
    """Return the SHA-256 of a kernel's cubin."""
    return hashlib.sha256(kernel.cubin.read_bytes()).hexdigest()
