"""One scenario on the GPU, measured part by part, on a double of CuPy whose kernels follow the schedule on the CPU."""

import ctypes
from collections.abc import Callable
from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from gpusim.cuda import timeline_format, trace_format
from gpusim.cuda.compiler import Compiler
from gpusim.cuda.trace import expected_of_all, expected_records, first_difference, longest_stream, stream_digest
from gpusim.errors import CannotRun, CheckFailed
from gpusim.families.gemm.cuda import specialisations
from gpusim.families.gemm.device import upload
from gpusim.families.gemm.execute import run as run_schedule
from gpusim.families.gemm.reduction.cuda import REDUCTION_ENTRY
from gpusim.families.gemm.schedule import TileKernel, kernels
from gpusim.families.gemm.specialise import specialise
from gpusim.families.registry import parse_scenario
from gpusim.gpu import device, run
from gpusim.gpu.module import LoadedKernel, load_kernels
from gpusim.measure import measure
from gpusim.numerics.tensors import make_tensors
from gpusim.records.pipeline import pipeline_rows, steady_k_tile
from gpusim.results.result import PipelineRow

KERNEL = {"threadblock": [64, 64, 32], "warp": [32, 32, 32], "stages": 3}
GEMM = {"kind": "gemm", "m": 72, "n": 40, "k": 104}


def scenario_of(**problem):
    return parse_scenario({"machine": "h200", "problem": GEMM | problem, "kernel": KERNEL}, "test")


SCENARIO = scenario_of()
OURS = TileKernel(SCENARIO)
SPLIT = scenario_of(split_k_slices=2)
PARALLEL = scenario_of(split_k_slices=2, split_k="parallel")


class DeviceArray(np.ndarray):
    """An array that says where it lies, as CuPy's do."""

    @property
    def data(self):
        return SimpleNamespace(ptr=self.ctypes.data)


def on_device(array):
    return np.array(array).view(DeviceArray)


class Timer:
    """Events that see one more millisecond at each record."""

    now = 0.0

    def record(self, _stream=None):
        Timer.now += 1.0
        self.at = Timer.now

    def synchronize(self):
        pass


class Stream:
    def __init__(self, **_):
        self.captured = False

    def __enter__(self):
        return self

    def __exit__(self, *_):
        return None

    def begin_capture(self):
        self.captured = True

    def end_capture(self):
        return SimpleNamespace(launch=lambda _stream: None)

    def synchronize(self):
        pass


@dataclass
class Mistakes:
    """What the kernel double does wrong."""

    output: Callable[[np.ndarray], None] = lambda _: None
    records: Callable[[np.ndarray], None] = lambda _: None
    semaphore: int = 0
    unloadable: tuple[str, ...] = ()


class Cupy:
    """Numpy, with the parts of CuPy that the hardware room uses; kernels are this test's."""

    def __init__(self, mistakes=None):
        self.mistakes = mistakes or Mistakes()
        self.launches = []
        errors = SimpleNamespace(CUDADriverError=RuntimeError, CUDARuntimeError=RuntimeError)
        runtime = SimpleNamespace(
            deviceSynchronize=lambda: None, getDeviceCount=lambda: 1, CUDARuntimeError=RuntimeError
        )
        self.cuda = SimpleNamespace(
            runtime=runtime,
            driver=errors,
            Stream=Stream,
            Event=Timer,
            Device=lambda: SimpleNamespace(compute_capability="90"),
            get_elapsed_time=lambda begin, end: end.at - begin.at,
        )

    def __getattr__(self, name):
        return getattr(np, name)

    def asarray(self, array):
        return on_device(array)

    def zeros(self, shape, dtype=float):
        return on_device(np.zeros(shape, dtype))

    def empty(self, shape, dtype=float):
        return on_device(np.empty(shape, dtype))

    def asnumpy(self, array):
        return np.asarray(array)

    def RawModule(self, path):  # noqa: N802 # CuPy's name
        build = path.rsplit("-", 1)[1]
        if build in self.mistakes.unloadable:
            raise RuntimeError("CUDA_ERROR_INVALID_IMAGE")
        return SimpleNamespace(get_function=lambda name: KernelDouble(self, build, name))


def memory(address, dtype, count):
    size = np.dtype(dtype).itemsize * count
    return np.frombuffer((ctypes.c_char * size).from_address(int(address)), dtype)


class KernelDouble:
    num_regs, local_size_bytes, max_dynamic_shared_size_bytes = 128, 0, 0

    def __init__(self, cupy, build, name):
        self.cupy, self.build, self.reduces = cupy, build, name == REDUCTION_ENTRY

    def __call__(self, grid, block, args, shared_mem):
        (params,) = args
        scenario = self.cupy.scenario
        self.cupy.launches.append((self.build, grid, block, shared_mem))
        if self.build == "trace" and params["recorded_blocks"]:
            write_trace(scenario, params, self.cupy.mistakes, reduces=self.reduces)
        elif self.build == "timeline" and params["recorded_blocks"]:
            write_timeline(scenario, params)
        if scenario.problem.reduces and not self.reduces:
            memory(params["partial"], np.float32, 1)[0] = 1.0
            return
        output = memory(params["output"], np.float32, scenario.problem.output_view.elements)
        scenario.problem.output_view.of(output)[...] = run_schedule(scenario, make_tensors(scenario, 1)).output
        self.cupy.mistakes.output(output)
        memory(params["semaphore"], np.int32, 1)[0] = self.cupy.mistakes.semaphore


def write_trace(scenario, params, mistakes, *, reduces):
    blocks = tuple(params["recorded"][: params["recorded_blocks"]])
    schedule = kernels(scenario)[reduces]
    warps, capacity = schedule.lanes().warps, int(params["record_capacity"])
    expected = expected_records(schedule, blocks)
    mistakes.records(expected)
    words = trace_format.buffer_words(len(blocks), warps, capacity)
    buffer = memory(params["records"], np.int64, words).reshape(len(blocks), warps, capacity, 32, 4)
    counts = memory(params["record_counts"], np.int32, len(blocks) * warps).reshape(len(blocks), warps)
    at = expected["slot"], expected["warp"], expected["position"]
    header = expected["op"] | expected["operand"] << 8 | expected["zfill"].astype(np.int64) << 10
    header |= expected["cg"].astype(np.int64) << 11 | expected["stage"] + 1 << 12 | expected["k_group"] + 1 << 20
    header |= expected["index"] + 1 << 28 | expected["k_tile"] + 1 << 44
    buffer[at] = np.stack(
        [
            np.broadcast_to(header[:, None], (len(expected), 32)),
            expected["shared"],
            expected["global"],
            expected["predicate"],
        ],
        axis=-1,
    )
    np.add.at(counts, at[:2], 1)


def write_timeline(scenario, params):
    """K tile t begins at cycle 1000 + 100 t, the CTA at cycle 900."""
    kernel, warps, capacity = scenario.kernel, scenario.kernel.threads // 32, int(params["record_capacity"])
    words = timeline_format.buffer_words(1, warps, kernel.k_groups, capacity)
    buffer = memory(params["records"], np.uint32, words).reshape(warps, -1)
    k_tiles = int(params["k_iterations"])
    head = [900, 0, 7, 1000, 5000, 6000, k_tiles, int(params["recorded"][0])]
    buffer[:, : timeline_format.HEADER_WORDS] = np.array(head, np.int64).view(np.uint32)
    rows = buffer[:, timeline_format.HEADER_WORDS :].reshape(warps, capacity, -1)
    tile = 1000 + 100 * np.arange(k_tiles, dtype=np.uint32)[:, None]
    rows[:, :k_tiles] = tile + np.arange(rows.shape[2], dtype=np.uint32)


@pytest.fixture
def gpu(tmp_path, monkeypatch):
    """A session on the double: scenario (and mistakes) to a CuPy whose kernels run that scenario."""

    def compile_cubin(kernel, architecture="sm_90", compiler=None):  # noqa: ARG001
        path = tmp_path / f"kernel-{kernel.build}"
        path.write_bytes(b"machine code")
        return path

    def make(scenario=SCENARIO, mistakes=None):
        cupy = Cupy(mistakes)
        cupy.scenario = scenario
        monkeypatch.setattr(device, "import_cupy", lambda: cupy)
        return cupy

    monkeypatch.setattr("gpusim.gpu.module.compile_cubin", compile_cubin)
    monkeypatch.setattr(measure, "find_compiler", lambda: Compiler("nvcc", "13.0.88", tmp_path))
    return make


def loaded(cupy, build="plain"):
    return load_kernels(cupy, specialisations(cupy.scenario, build)), upload(cupy, cupy.scenario, 1)


def traced(cupy, blocks):
    (kernel,), problem = loaded(cupy, "trace")
    return run.record_trace(kernel, problem, blocks, longest_stream(TileKernel(cupy.scenario), blocks))


def test_the_second_kernel_of_a_parallel_split_k_writes_the_output(gpu):
    cupy = gpu(PARALLEL)
    (first, second), problem = loaded(cupy)

    assert run.check_numerics([first], problem).wrong_elements == 72 * 40
    assert run.check_numerics([first, second], problem).wrong_elements == 0
    assert problem.partial.size == 2 * 72 * 40


def test_a_parallel_split_k_is_measured_as_both_its_launches(gpu):
    gpu(PARALLEL)

    found = measure.measure("parallel", PARALLEL, ORIGIN, seed=1)

    assert found.missing == {}
    assert (found.numerics.wrong_elements, found.trace.equal, found.trace.first_difference) == (0, True, None)
    assert found.trace.sha256 == stream_digest(
        expected_of_all(kernels(PARALLEL), [one.traced_blocks for one in kernels(PARALLEL)])
    )
    assert found.trace.records > len(expected_records(TileKernel(PARALLEL), found.trace.ctas))
    assert found.kernel["reduction"]["grid"] == list(kernels(PARALLEL)[1].grid)


def test_a_right_kernel_has_no_element_beyond_its_bound(gpu):
    found = run.check_numerics(*loaded(gpu()))

    assert (found.elements, found.wrong_elements, found.seed) == (72 * 40, 0, 1)
    assert found.max_error_over_bound <= 1


def test_an_element_never_written_is_wrong(gpu):
    def forget(output):
        output[17] = np.nan

    found = run.check_numerics(*loaded(gpu(mistakes=Mistakes(output=forget))))

    assert (found.wrong_elements, found.max_error, found.worst_element) == (1, None, (0, 17))


def test_a_store_between_the_rows_is_wrong(gpu):
    def spill(output):
        output[40] = 1.0

    found = run.check_numerics(*loaded(gpu(scenario_of(ldc=44), Mistakes(output=spill))))

    assert found.wrong_elements == 1


def test_a_semaphore_left_set_is_said(gpu):
    with pytest.raises(CheckFailed, match="left flags of the split-K semaphore set"):
        run.check_numerics(*loaded(gpu(SPLIT, Mistakes(semaphore=3))))


@pytest.mark.parametrize("scenario", [SCENARIO, SPLIT, scenario_of(beta=0.5)], ids=["plain", "split-K", "source"])
def test_parameters_hold_what_the_kernel_reads(gpu, scenario):
    (kernel,), problem = loaded(gpu(scenario))
    params = problem.params(kernel.specialisation.k_iterations, run.Recording(capacity=9, blocks=(1, 2)))

    assert params["a"] == problem.tensors.a.data.ptr
    assert params["output"] == problem.output.data.ptr
    assert (params["source"] == 0) == (scenario.problem.beta == 0)
    assert params["beta"] == np.float32(scenario.problem.beta)
    assert params["recorded"].tolist() == [1, 2, 0, 0, 0, 0, 0, 0]
    assert (params["record_capacity"], params["recorded_blocks"]) == (9, 2)
    assert params["k_iterations"] == specialise(scenario).k_iterations


def test_the_launch_is_the_specialisation_s(gpu):
    cupy = gpu()
    run.launch_once(*loaded(cupy))
    own = specialise(SCENARIO)

    assert cupy.launches == [("plain", own.grid, (own.block_threads, 1, 1), own.shared_bytes)]


def test_a_kernel_that_does_not_load_is_said(gpu):
    with pytest.raises(CannotRun, match=r"the GPU does not load .*kernel-plain: CUDA_ERROR_INVALID_IMAGE"):
        loaded(gpu(mistakes=Mistakes(unloadable=("plain",))))


@pytest.mark.parametrize("scenario", [SCENARIO, SPLIT, scenario_of(beta=2.0)], ids=["plain", "split-K", "source"])
def test_a_trace_that_follows_the_schedule_equals_the_python_stream(gpu, scenario):
    kernel = TileKernel(scenario)
    blocks = kernel.traced_blocks
    found = traced(gpu(scenario), blocks)

    assert first_difference(expected_records(kernel, blocks), found, blocks, kernel.op_kinds) is None
    assert stream_digest(found) == stream_digest(expected_records(kernel, blocks))


def test_the_offset_of_an_access_that_is_off_may_be_any(gpu):
    def elsewhere(records):
        records["global"][~records["predicate"]] = 12345

    blocks = OURS.traced_blocks
    found = traced(gpu(mistakes=Mistakes(records=elsewhere)), blocks)

    assert first_difference(expected_records(OURS, blocks), found, blocks, OURS.op_kinds) is None
    assert stream_digest(found) == stream_digest(expected_records(OURS, blocks))


@pytest.mark.parametrize(
    ("field", "words"),
    [
        ("op", "record 5, op: 0 in the Python stream, 1 on the GPU (copy_async"),
        ("stage", "record 5, stage: 1 in the Python stream, 2 on the GPU"),
        ("k_tile", "record 5, k_tile: 1 in the Python stream, 2 on the GPU"),
        ("shared", "record 5, lane 3, shared: "),
        ("global", "record 5, lane 3, global: "),
    ],
)
def test_the_first_difference_is_named_with_its_coordinates(field, words):
    ours, theirs = (expected_records(OURS, (0, 1)) for _ in range(2))
    at = np.flatnonzero((theirs["slot"] == 0) & (theirs["warp"] == 1) & (theirs["position"] >= 5))
    if theirs[field].ndim == 2:
        theirs[field][at, 3] += 1
    else:
        theirs[field][at] += 1

    difference = first_difference(ours, theirs, (0, 1), OURS.op_kinds)

    assert difference.startswith("CTA 0, warp 1, " + words)


def test_a_stream_that_ends_early_is_named():
    ours = expected_records(OURS, (0,))
    length = int(ours["position"].max()) + 1

    difference = first_difference(ours, ours[:-1], (0,), OURS.op_kinds)

    assert difference == (
        f"CTA 0, warp 3: {length} records in the Python stream, {length - 1} on the GPU; record {length - 1} of the"
        " Python stream is store_global k_tile 3 index 1"
    )


def test_traced_ctas_have_a_tile_and_include_a_later_slice():
    assert TileKernel(SPLIT).traced_blocks == (0, 1, 2, 3)
    assert OURS.traced_blocks == (0, 1)


def test_the_warm_loop_is_the_median_of_its_batches(gpu):
    found = run.time_loop(*loaded(gpu()))

    assert (found.batches, found.launches) == (20, 5)
    assert (found.median, found.least, found.most) == (200.0, 200.0, 200.0)


def test_pipeline_rows_count_from_the_start_of_the_cta(gpu):
    (kernel,), problem = loaded(gpu(), "timeline")
    tiling = SCENARIO.tiling
    warps = run.record_timeline(kernel, problem, tiling, run.timeline_buffer(kernel, problem, tiling, 0))

    rows = pipeline_rows(warps[0], stages=3)

    assert len(warps) == 4
    assert rows[0] == PipelineRow(0, 0, 100, None, 101, 102, 104, 108)
    assert rows[3] == PipelineRow(3, 0, 400, None, 401, 402, 404, 408)


def test_a_steady_k_tile_is_the_median_away_from_both_ends():
    begins = [0, 500, 700, 800, 900, 1000, 1400, 2000]
    rows = [PipelineRow(tile, 0, 0, None, 0, 0, begin, begin + 1) for tile, begin in enumerate(begins)]

    assert steady_k_tile(rows) == 100
    assert steady_k_tile(rows[:5]) is None


ORIGIN = measure.RecordOrigin({"gpu": "NVIDIA H200", "sms": 132}, ("gpusim", "check"), "abc")


def measured(said=None):
    return measure.measure("name", SCENARIO, ORIGIN, seed=1, say=(said if said is not None else []).append)


def test_a_measurement_has_every_part(gpu):
    gpu()
    record = measured()

    assert record.missing == {}
    assert record.numerics.wrong_elements == 0
    assert (record.trace.equal, record.trace.first_difference, record.trace.ctas) == (True, None, (0, 1))
    assert record.time_us.median == 200.0
    assert (record.pipeline.perturbation, record.pipeline.cta_cycles) == (1.0, 5100)
    assert record.kernel["registers"] == 128
    assert record.kernel["compiler"] == "nvcc 13.0.88"
    assert record.scenario_sha256 == SCENARIO.digest()


def test_a_part_that_fails_is_noted_and_the_rest_goes_on(gpu):
    said: list[Any] = []
    gpu(mistakes=Mistakes(unloadable=("trace",)))

    record = measured(said)

    assert list(record.missing) == ["trace"]
    assert record.trace is None
    assert record.numerics is not None
    assert record.pipeline is not None
    assert said == [f"trace: {record.missing['trace']}"]


def test_a_trace_of_another_order_is_recorded_with_its_difference(gpu):
    def swap(records):
        records["k_tile"][7] += 1

    gpu(mistakes=Mistakes(records=swap))
    record = measured()

    assert not record.trace.equal
    assert record.trace.first_difference.startswith("CTA 0, warp 0, record 7, k_tile: ")
    assert record.trace.sha256 != stream_digest(expected_records(OURS, record.trace.ctas))


def test_a_context_that_a_kernel_broke_is_noticed(gpu):
    cupy = gpu()
    assert not measure.context_is_lost(cupy)

    def fail():
        raise RuntimeError("cudaErrorIllegalAddress")

    cupy.cuda.runtime.deviceSynchronize = fail
    assert measure.context_is_lost(cupy)


def test_counters_are_added_or_their_absence_explained(gpu):
    gpu()
    record = measured()
    without = measure.with_counters(record, None, "ncu is not here")
    profile = SimpleNamespace(counters={"a.sum": 1.0}, opcodes={"LDSM": {"executed": 2.0}})

    assert without.missing == {"counters": "ncu is not here"}
    assert measure.with_counters(without, profile) == replace(
        record, counters={"a.sum": 1.0}, opcodes={"LDSM": {"executed": 2.0}}
    )


def test_a_kernel_is_what_the_loader_says(gpu):
    (kernel,), _ = loaded(gpu())
    assert isinstance(kernel, LoadedKernel)
    assert (kernel.registers, kernel.local_bytes) == (128, 0)
    assert len(run.cubin_digest(kernel)) == 64
