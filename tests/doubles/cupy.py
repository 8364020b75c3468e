"""A double of CuPy on the CPU: kernels that follow the schedule, write its trace, and err where they are told to."""

import ctypes
from collections.abc import Callable
from dataclasses import dataclass
from types import SimpleNamespace

import numpy as np

from gpusim.cuda import timeline_format, trace_format
from gpusim.cuda.trace import expected_records
from gpusim.families.gemm.cuda import specialisations
from gpusim.families.gemm.device import upload
from gpusim.families.gemm.execute import run as run_schedule
from gpusim.families.gemm.reduction.cuda import REDUCTION_ENTRY
from gpusim.families.gemm.schedule import kernels
from gpusim.gpu.module import load_kernels
from gpusim.numerics.tensors import make_tensors


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
    """Numpy, with the parts of CuPy that the hardware room uses; kernels are ``KernelDouble``."""

    def __init__(self, mistakes=None):
        self.mistakes = mistakes or Mistakes()
        self.launches, self.extents = [], []
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

    def get_default_memory_pool(self):
        return SimpleNamespace(free_all_blocks=lambda: None)

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
        params, *extents = args
        self.cupy.extents += [one.tolist() for one in extents]
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


def loaded(cupy, build="plain"):
    """The kernels of the double's scenario in one build, and its tensors on the double."""
    return load_kernels(cupy, specialisations(cupy.scenario, build)), upload(cupy, cupy.scenario, 1)
