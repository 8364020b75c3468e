"""One scenario on the GPU: its tensors, its launches, its numbers against the reference, its time."""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

import numpy as np
import numpy.typing as npt

from gpusim.cuda import timeline_format, trace_format
from gpusim.cuda.specialise import PARAMS, Specialisation
from gpusim.cuda.timeline_format import WarpTimeline
from gpusim.cuda.trace import Records
from gpusim.errors import CheckFailed
from gpusim.gpu.module import LoadedKernel
from gpusim.numerics.elements import decode, is_unwritten, unwritten
from gpusim.numerics.reference import agreement, reference
from gpusim.numerics.tensors import Tensors, fresh_output, fresh_workspace, make_tensors
from gpusim.records.record import LoopTime, Numerics
from gpusim.scenario.gemm import GemmScenario
from gpusim.units import WARP_SIZE

BATCHES, LAUNCHES = 20, 5
"""The warm loop: batches that are timed, launches in each, as in the CUTLASS figures it is compared with."""

_SLACK = 16
"""Records beyond the Python stream's that a traced warp has room for, so that a longer one is seen as such."""


@dataclass(frozen=True, slots=True)
class DeviceProblem:
    """
    A scenario's tensors in GPU memory.

    Attributes:
        tensors: Its inputs, device arrays.
        output: Flat, as ``tensors.fresh_output``.
        semaphore: Flags of serial split-K, zero between launches; empty without split-K.
        partial: Partial sums of a parallel split-K; empty without.
    """

    cupy: Any
    scenario: GemmScenario
    seed: int
    tensors: Tensors
    output: Any
    semaphore: Any
    partial: Any

    def poison(self) -> None:
        """Fill the output with NaN or an unlikely integer: an element never written cannot pass for a result."""
        self.output.fill(unwritten(self.scenario.problem.dtype.output))


def upload(cupy: Any, scenario: GemmScenario, specialisation: Specialisation, seed: int) -> DeviceProblem:
    """Random inputs of a seed and a poisoned output on the GPU."""
    host = make_tensors(scenario, seed)
    source, bias = (None if one is None else cupy.asarray(one) for one in (host.source, host.bias))
    return DeviceProblem(
        cupy=cupy,
        scenario=scenario,
        seed=seed,
        tensors=Tensors(cupy.asarray(host.a), cupy.asarray(host.b), source, bias),
        output=cupy.asarray(fresh_output(scenario)),
        semaphore=cupy.zeros(max(1, specialisation.semaphores), np.int32),
        partial=cupy.asarray(fresh_workspace(scenario)),
    )


def pack_params(
    problem: DeviceProblem,
    specialisation: Specialisation,
    *,
    records: Any = None,
    counts: Any = None,
    capacity: int = 0,
    blocks: tuple[int, ...] = (),
) -> npt.NDArray[np.void]:
    """
    ``struct Params`` of one launch, shape ().

    Args:
        records, counts: Device arrays that an instrumented build fills.
        capacity: Records or rows of one warp.
        blocks: Linear indices of the CTAs that are recorded.
    """
    params = np.zeros((), PARAMS)
    own = problem.tensors
    pointers = {"a": own.a, "b": own.b, "source": own.source, "output": problem.output}
    pointers |= {"bias": own.bias, "partial": problem.partial if problem.partial.size else None}
    put_pointers(params, pointers | {"semaphore": problem.semaphore})
    params["alpha"], params["beta"] = problem.scenario.problem.alpha, problem.scenario.problem.beta
    put_recording(params, records=records, counts=counts, capacity=capacity, blocks=blocks)
    params["k_iterations"] = specialisation.k_iterations
    return params


def put_pointers(params: Any, arrays: Mapping[str, Any]) -> None:
    """Device addresses of arrays into fields of a ``struct Params``; 0 for None."""
    for name, array in arrays.items():
        params[name] = 0 if array is None else int(array.data.ptr)


def put_recording(params: Any, *, records: Any, counts: Any, capacity: int, blocks: tuple[int, ...]) -> None:
    """What an instrumented build is told, into a ``struct Params``; arguments as of ``pack_params``."""
    put_pointers(params, {"records": records, "record_counts": counts})
    params["record_capacity"] = capacity
    params["recorded_blocks"] = len(blocks)
    params["recorded"][: len(blocks)] = blocks


def check_numerics(kernels: Sequence[LoadedKernel], problem: DeviceProblem) -> Numerics:
    """
    Every kernel launched once on poisoned memory; every element against the float64 reference, computed there, too.

    Elements written between the rows of a padded output count as wrong.

    Raises:
        CheckFailed: A flag of the split-K semaphore is not as it was before the launch.
    """
    cupy, scenario = problem.cupy, problem.scenario
    problem.poison()
    launch_once(kernels, problem)
    if bool(problem.semaphore.any()):
        raise CheckFailed("the launch left flags of the split-K semaphore set")
    view = scenario.problem.output_view
    output = decode(problem.output, scenario.problem.dtype.output, cupy)
    found = agreement(view.of(output), reference(scenario, problem.tensors, cupy), cupy)
    padding = output.reshape(view.rows, view.leading)[:, view.columns :]
    stray = int((~is_unwritten(padding, scenario.problem.dtype.output, cupy)).sum()) if padding.size else 0
    return Numerics(
        seed=problem.seed,
        elements=found.elements,
        wrong_elements=found.wrong_elements + stray,
        max_error=found.max_error,
        max_error_over_bound=found.max_error_over_bound,
        worst_element=found.worst_element,
    )


def record_trace(
    cupy: Any,
    kernel: LoadedKernel,
    pack: Callable[..., npt.NDArray[np.void]],
    blocks: tuple[int, ...],
    longest: int,
) -> Records:
    """
    What the trace build's warps did in some CTAs.

    Args:
        kernel: The trace build.
        pack: Its parameters, from ``records``, ``counts``, ``capacity`` and ``blocks`` as of ``pack_params``.
        blocks: Linear block indices; at most ``specialise.RECORDED_BLOCKS``.
        longest: Ops of the longest Python stream of a warp.

    Raises:
        CheckFailed: A warp did more than the schedule has, or its lanes disagree.
    """
    warps = kernel.specialisation.block_threads // WARP_SIZE
    capacity = longest + _SLACK
    records = cupy.zeros(trace_format.buffer_words(len(blocks), warps, capacity), np.int64)
    counts = cupy.zeros((len(blocks), warps), np.int32)
    kernel.launch(pack(records=records, counts=counts, capacity=capacity, blocks=blocks))
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


def timeline_buffer(kernel: LoadedKernel, problem: DeviceProblem, block: int) -> TimelineBuffer:
    """
    Make room for the stamps of one CTA.

    Args:
        kernel: The timeline build.
        block: Linear block index.
    """
    own, shape = kernel.specialisation, problem.scenario.kernel
    capacity = timeline_format.least_capacity(own.k_iterations, shape.stages)
    words = timeline_format.buffer_words(1, shape.threads // WARP_SIZE, shape.k_groups, capacity)
    records = problem.cupy.empty(words, np.uint32)
    return TimelineBuffer(records, pack_params(problem, own, records=records, capacity=capacity, blocks=(block,)))


def record_timeline(kernel: LoadedKernel, problem: DeviceProblem, buffer: TimelineBuffer) -> tuple[WarpTimeline, ...]:
    """
    When the warps of one CTA did what; the second of two launches, so that code and data are warm.

    Raises:
        CheckFailed: The CTA did not run.
    """
    cupy, shape = problem.cupy, problem.scenario.kernel
    for _ in range(2):
        buffer.records.fill(0xFFFFFFFF)
        kernel.launch(buffer.params)
    cupy.cuda.runtime.deviceSynchronize()
    stamps = cupy.asnumpy(buffer.records)
    return timeline_format.decode(stamps, 1, shape.threads // WARP_SIZE, shape.k_groups)


def time_loop(
    kernels: Sequence[LoadedKernel], problem: DeviceProblem, params: npt.NDArray[np.void] | None = None
) -> LoopTime:
    """
    Microseconds of one launch, of all kernels together, in a warm loop.

    The launches of a batch are one CUDA graph, so that the time is the GPU's and not Python's.

    Args:
        params: Of the launches, where the build needs more than a plain one.
    """
    given = pack_params(problem, kernels[0].specialisation) if params is None else params
    return time_launches(problem.cupy, kernels, given)


def time_launches(cupy: Any, kernels: Sequence[LoadedKernel], params: npt.NDArray[np.void]) -> LoopTime:
    """``time_loop`` of kernels that all take ``params``."""
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
    _launch(kernels, pack_params(problem, kernels[0].specialisation))
    problem.cupy.cuda.runtime.deviceSynchronize()


def _launch(kernels: Sequence[LoadedKernel], params: npt.NDArray[np.void]) -> None:
    """The kernels of a scenario, one after the other; a reduction takes the parameters of the kernel before it."""
    for kernel in kernels:
        kernel.launch(params)


def cubin_digest(kernel: LoadedKernel) -> str:
    """SHA-256 of the machine code."""
    return hashlib.sha256(kernel.cubin.read_bytes()).hexdigest()
