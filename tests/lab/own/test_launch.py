"""Launching own kernels on a double of CuPy whose kernels write what their oracles say, err, or break the context."""

import json
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from gpusim.lab.own import launch
from gpusim.lab.own.compare import OwnAgreement
from gpusim.lab.own.contents import make_arguments
from gpusim.lab.own.launch import launch_each
from gpusim.lab.own.machine_code import frameworks_folder, read_code
from gpusim.lab.own.table import own_kernel

KERNELS = [own_kernel(name) for name in ("saxpy", "mma_bf16", "scatter")]
KEPT = [own_kernel(name) for name in ("cupy_update_tags", "triton_attention_128")]
BY_ENTRY = {kernel.entry: kernel for kernel in (*KERNELS, *KEPT)}


class DriverError(RuntimeError):
    pass


class Function:
    """A kernel, which launches as CuPy's do."""

    max_dynamic_shared_size_bytes = 48 * 1024

    def __init__(self, cupy, entry):
        self.cupy, self.entry = cupy, entry

    def __call__(self, grid, block, arguments, *, shared_mem):
        kernel, cupy = BY_ENTRY[self.entry], self.cupy
        cupy.launches.append((self.entry, grid, block, shared_mem))
        cupy.broken |= self.entry in cupy.lost
        if self.entry in cupy.breaking | cupy.lost:
            raise DriverError(f"{self.entry} fails")
        given = dict(zip(kernel.small.arguments, arguments, strict=True))
        if self.entry not in cupy.idle:
            for name, answer in kernel.oracle(given).items():
                given[name][...] = answer


class Cupy:
    """Kernels in ``breaking`` raise; those in ``lost`` break the context, too; ``idle`` ones do nothing."""

    def __init__(self, *, breaking=(), lost=(), idle=()):
        self.breaking, self.lost, self.idle = set(breaking), set(lost), set(idle)
        self.launches, self.loaded, self.functions = [], [], {}
        self.broken = False
        self.cuda = SimpleNamespace(
            driver=SimpleNamespace(CUDADriverError=DriverError),
            runtime=SimpleNamespace(CUDARuntimeError=DriverError, deviceSynchronize=self.synchronize),
        )

    def synchronize(self):
        if self.broken:
            raise DriverError("an illegal memory access was encountered")

    def RawModule(self, path):  # noqa: N802 # CuPy's name
        self.loaded.append(path if path == "own.cubin" else Path(path).read_bytes())
        return SimpleNamespace(get_function=self.function)

    def function(self, entry):
        self.functions[entry] = Function(self, entry)
        return self.functions[entry]

    asarray = staticmethod(np.array)
    asnumpy = staticmethod(np.array)

    def get_default_memory_pool(self):
        return SimpleNamespace(free_all_blocks=lambda: None)


@pytest.fixture
def with_cupy(monkeypatch):
    def install(**ways):
        double = Cupy(**ways)
        monkeypatch.setattr(launch, "import_cupy", lambda: double)
        monkeypatch.setattr(launch, "architecture", lambda _: "sm_90")
        monkeypatch.setattr(launch, "compile_cubin", lambda _build, _architecture: "own.cubin")
        return double

    return install


def test_each_kernel_is_launched_once_and_compared(with_cupy):
    double = with_cupy(idle=("scatter",))

    launched, failed = launch_each(KERNELS, "small", check=True)

    assert failed == {}
    assert launched["saxpy"].wrong == launched["mma_bf16"].wrong == 0
    assert launched["scatter"] == OwnAgreement(4000, 4000, launched["scatter"].error)
    assert double.launches[1] == ("mma_bf16", (2, 1, 1), (128, 1, 1), 30720)
    assert len(double.launches) == 3


def test_a_kernel_of_a_framework_is_loaded_from_the_machine_code_that_is_kept(with_cupy):
    double = with_cupy()

    launched, failed = launch_each(KEPT, "small", check=True)

    assert failed == {}
    assert all(agreement.wrong == 0 for agreement in launched.values())
    assert double.loaded == [read_code(frameworks_folder(), kernel.kept) for kernel in KEPT]


def test_a_launch_asks_for_shared_memory_beyond_what_every_kernel_may_have(with_cupy):
    double = with_cupy()

    launch_each([KEPT[1], KERNELS[1]], "small", check=False)

    asked = {entry: function.max_dynamic_shared_size_bytes for entry, function in double.functions.items()}
    assert asked == {"attention": 65536, "mma_bf16": 48 * 1024}


def test_arguments_stay_as_they_are(with_cupy):
    double = with_cupy()
    before = make_arguments(KERNELS[0].small)

    written = launch.launch_own(double, KERNELS[0], "small", before)

    assert before["y"].tobytes() == make_arguments(KERNELS[0].small)["y"].tobytes()
    assert set(written) == {"x", "y"}
    assert (written["y"] != before["y"]).any()


def test_a_kernel_that_fails_stops_no_other(with_cupy):
    with_cupy(breaking=("saxpy",))

    launched, failed = launch_each(KERNELS, "small", check=False)

    assert launched == {"mma_bf16": None, "scatter": None}
    assert failed == {"saxpy": "saxpy fails"}


def test_behind_a_broken_context_nothing_is_launched(with_cupy):
    with_cupy(lost=("mma_bf16",))

    launched, failed = launch_each(KERNELS, "small", check=False)

    assert list(launched) == ["saxpy"]
    assert failed == {"mma_bf16": "mma_bf16 fails"}


def test_the_log_has_agreements_and_failures(with_cupy, tmp_path):
    with_cupy(breaking=("scatter",))
    log = tmp_path / "log.json"

    code = launch.main(["--size", "small", "--check", "--log", str(log), "saxpy", "scatter"])

    assert code == 1
    logged = json.loads(log.read_text())
    assert logged["launched"]["saxpy"]["elements"] == 5000
    assert logged["failed"] == {"scatter": "scatter fails"}


def test_an_unknown_kernel_is_refused(with_cupy, tmp_path, capsys):
    with_cupy()

    assert launch.main(["--size", "small", "--log", str(tmp_path / "log.json"), "saxpi"]) == 2
    assert capsys.readouterr().err == 'no own kernel is called "saxpi"\n'
