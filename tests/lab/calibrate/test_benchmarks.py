"""The microbenchmarks on a GPU that runs nothing: every launch they make, every figure that follows from their rows."""

import functools
import json
import re
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from gpusim.cuda.specialise import kernels_folder
from gpusim.errors import CannotRun
from gpusim.gpu import ncu
from gpusim.lab.calibrate import benchmarks as microbench
from gpusim.lab.calibrate import profiled
from gpusim.lab.calibrate.derive import derive
from gpusim.lab.calibrate.hopper import tensor_maps
from gpusim.lab.calibrate.runner import Device, write_rows
from gpusim.machine import load

SMS = 4
SPAN = 96_000


class Array(np.ndarray):
    """
    A numpy array with CuPy's ``data.ptr``.
    """

    @property
    def data(self):
        return SimpleNamespace(ptr=1 << 20)


class Buffer:
    """
    Gigabytes that nobody reads.
    """

    data = SimpleNamespace(ptr=1 << 20)
    nbytes = 1 << 30

    def fill(self, value):
        pass

    def max(self):
        return 0

    def __setitem__(self, index, value):
        pass

    def __getitem__(self, index):
        return self


def fits(argument, parameter):
    """
    Return whether an argument has a parameter's type in C; a null pointer is passed as a 64-bit integer.
    """
    if type(argument) is np.void:  # a structure
        return parameter[0].isupper()
    types = {np.int32: "int", np.uint32: "u32", np.uint64: "u64", np.float32: "float", Array: "*", Buffer: "*"}
    null = type(argument) is np.uint64 and argument == 0
    return types[type(argument)] == parameter or (null and parameter == "*")


@functools.cache
def parameter_types(source, kernel):
    """
    Return the types of a kernel's parameters, "*" for pointers, as its source states them or a macro that defines it.
    """
    text = (kernels_folder() / "microbench" / f"{source}.cu").read_text().replace("\\\n", "")
    defined = {}
    for found in re.finditer(r"__global__\s+void\s+(?:__launch_bounds__\([^)]*\)\s+)?([\w#]+)\(([^)]*)\)", text):
        parts = [r"\w+" if part.isupper() else part for part in found[1].split("##")]
        if re.fullmatch("".join(parts), kernel):
            spelt = sum(len(part) for part in parts if part.islower())
            defined[spelt] = [parameter.strip() for parameter in found[2].split(",") if parameter.strip()]
    parameters = [parameter.removeprefix("const __grid_constant__ ") for parameter in defined[max(defined)]]
    return ["*" if "*" in parameter else parameter.split()[0] for parameter in parameters]


class Event:
    def record(self):
        pass

    def synchronize(self):
        pass


def zeros(shape, dtype):
    return np.zeros(shape, dtype=dtype).view(Array) if np.prod(shape) < 1 << 22 else Buffer()


class DoubleDevice(Device):
    """
    Numpy in place of CuPy, spans of one length in place of kernels.
    """

    def __init__(self):
        runtime = SimpleNamespace(memGetInfo=lambda: (1 << 36, 1 << 37))
        cuda = SimpleNamespace(Event=Event, get_elapsed_time=lambda _begin, _end: 2.0, runtime=runtime)
        cuda.alloc_pinned_memory = lambda _: SimpleNamespace(ptr=1 << 32)
        self.cupy = SimpleNamespace(
            zeros=zeros, asnumpy=np.array, asarray=lambda a: np.asarray(a).view(Array), cuda=cuda
        )
        self.sms = SMS
        self.launches = []
        self.crosses = True

    def launch(self, source, kernel, arguments, *, ctas=1, threads=32, shared=0, architecture=""):  # noqa: C901, PLR0912 - a case a kernel
        assert architecture in {"", "sm_90a"}
        assert threads % 32 == 0
        assert threads <= 1024
        assert shared <= 227 * 1024
        self.launches.append((source, kernel))
        parameters = parameter_types(source, kernel)
        assert len(arguments) == len(parameters), kernel
        assert all(map(fits, arguments, parameters)), kernel
        if not arguments or not isinstance(arguments[0], Array):
            return
        first = arguments[0]
        if first.dtype == np.uint8:  # data, which no clock is written to
            return
        if source == "cp_async" and kernel.startswith("burst_"):
            copies = int(kernel.rsplit("_", 1)[1])
            first[...] = np.array([0, 4 * copies, 4 * copies + 5, 6 * copies + 45])
        elif kernel == "cta_starts":
            cta = np.arange(ctas)
            first[...] = np.stack([cta % SMS, 2 * cta, cta, 2 * cta + 40_000], axis=-1)
        elif kernel == "random_lines":
            first[...] = 700, 300
            first[::4, 0] = 890
        elif kernel == "together":  # every third event has a late line
            first[...] = 800
            first[::3, 0] = 1300
        elif kernel == "line_latencies":
            first[...] = np.where(np.arange(len(first)) % 4 == 0, 420, 260)
        elif kernel.startswith("chase"):
            first[:2] = 1, 1 + 250 * int(arguments[3])
        elif kernel == "in_turn":  # SMs of odd numbers are of the other side, and every second line crosses
            lines, (count, only) = arguments[3], map(int, arguments[4:6])
            own = np.zeros((SMS, 1), dtype=int) if only >= 0 else np.arange(SMS)[:, None] % 2
            first[...] = 1000 * np.arange(count)
            arguments[1][...] = 300 + 200 * (own[: len(lines)] * (self.crosses and only < 0) * (np.asarray(lines) & 1))
            self.crosses = only >= 0
        elif kernel.startswith("clocks_"):
            sm = np.arange(ctas)
            first[...] = np.stack([sm, 39_600 + 4 * sm, np.full(ctas, 20_000)], axis=-1)
        elif kernel.startswith("domains_"):  # a fifth slower beside mma.sync, which a hop waits two cycles for
            trips, multiplies = int(arguments[3]), int(arguments[5])
            hops, own = {16_384: (50, 0), 1024: (300, 200), 256: (700, 500)}.get(trips, (900, 0))
            cycles = trips * (hops + (2 - own // 5) * multiplies)
            first[...] = cycles, cycles * (5 if multiplies else 4) // 8, 100 * multiplies, 0
        elif kernel.startswith("gaps_"):  # two registers of a store in two mma.sync of seven cycles
            count, multiplies = (int(part) for part in kernel.split("_")[2:])
            registers = {0: 2, 1: 3, 2: 5}.get(int(kernel[5]), 1)
            first[...] = 70 + count * registers * (7 if multiplies else 2)
            first[-4:] = 100 * 128 * 7
        elif kernel != "read_through":
            first[..., 0], first[..., -1] = 1, 1 + SPAN
            if isinstance(arguments[1], Array) and len(arguments[1]) == ctas:
                arguments[1][...] = np.arange(ctas) % SMS


def profile(command, metrics, *, kernels):
    """
    Stand in for ncu: each launch of the plan has the counts of its CTAs, and clocks of one length.

    CTAs of ``places`` go to the SMs in turn, which take 690 cycles for each and 310 more until the next one.
    """
    plan = profiled.PLANS[command[command.index("--plan") + 1]](SMS, "--quick" in command)
    assert all(re.match(kernels, launch.kernel) for launch in plan)
    clocks = [
        placed(launch) if launch.kernel == "places" else [[SPAN] * max(1, launch.clocks)] * launch.ctas
        for launch in plan
    ]
    Path(command[command.index("--clocks") + 1]).write_text(json.dumps(clocks), encoding="utf-8")
    return [
        ncu.KernelCounters(launch.kernel, (launch.ctas, 1, 1), (launch.threads, 1, 1), counters(launch, metrics))
        for launch in plan
    ], []


def placed(launch):
    """
    Return SM, begin, end and nanoseconds of each CTA.
    """
    rounds = [cta // (SMS * launch.columns["per_sm"]) for cta in range(launch.ctas)]
    return [[cta % SMS, 1000 * turn, 1000 * turn + 690, 500 * turn] for cta, turn in enumerate(rounds)]


def counters(launch, metrics):
    """
    Return 300 active cycles and one for each 2048 bytes stored, 4200 cycles more elapsed and 500 more with stores.
    """
    stored = launch.columns.get("bytes", 0) if launch.kernel == "stores" else 0
    active = 300 + stored / 2048
    stored = stored or (launch.kernel.startswith("ends_") and launch.columns["per"])
    values = {
        "sm__cycles_active.max": active,
        "sm__cycles_elapsed.max": active + 4200 + (500 if stored else 0),
        "l1tex__m_xbar2l1tex_read_sectors.sum": 8000,
        "lts__t_sectors_srcunit_tex.sum": 4000 if launch.columns.get("stagger") else 2000,
    }
    return {metric: values.get(metric, 1) for metric in metrics}


def no_map(boxes):
    """
    Stand in for the driver: a tensor map of zeros, of boxes that it would take.
    """
    assert boxes.pitch % 16 == 0
    assert boxes.box_columns <= 256 >= boxes.box_rows
    assert boxes.swizzle == 0 or boxes.box_columns * boxes.element <= boxes.swizzle
    return np.zeros(1, dtype=[("words", np.uint64, 16)])[0]


@pytest.fixture
def device(monkeypatch):
    monkeypatch.setattr(ncu, "profile", profile)
    monkeypatch.setattr(tensor_maps, "encode", no_map)
    return DoubleDevice()


@pytest.fixture(scope="module")
def measured(tmp_path_factory):
    """
    A folder with the CSV of a full run on the double, to be read only.
    """
    folder, device = tmp_path_factory.mktemp("measured"), DoubleDevice()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ncu, "profile", profile)
        patch.setattr(tensor_maps, "encode", no_map)
        for name, measure in microbench.BENCHMARKS.items():
            write_rows(folder / f"{name}.csv", measure(device, quick=False), {"GPU": "double"})
    return folder


def figure_keys(text):
    return {record.key for record in load.parse_machine(text, "h200", "h200.toml").figures}


MACHINE = (load.resources.files("gpusim.machine") / "h200.toml").read_text()


@pytest.mark.parametrize("quick", [True, False], ids=["quick", "full"])
def test_every_kernel_a_benchmark_launches_is_in_its_source(quick, device, tmp_path, monkeypatch):
    """
    The macros paste names together: their parts must all stand in the source.
    """
    for measure in microbench.BENCHMARKS.values():
        assert measure(device, quick=quick)
    monkeypatch.setattr(profiled, "Device", lambda: device)
    for plan in profiled.PLANS:
        profiled.launch_plan(plan, tmp_path / "clocks.json", quick=quick)
    launched = set(device.launches)
    for source in {source for source, _ in launched}:
        text = (kernels_folder() / "microbench" / f"{source}.cu").read_text()
        words = set(re.findall(r"[A-Za-z0-9]+", text.replace("_", " ")))
        for kernel in {kernel for of, kernel in launched if of == source}:
            assert set(kernel.split("_")) <= words | {str(number) for number in range(33)}


def test_every_figure_of_the_issue_is_derived(measured):
    derived = derive(measured)

    wanted = ("tensor.", "pipes.", "mio.", "shared.", "async_copy.", "l1.", "l2.", "dram.", "barrier.", "launch.")
    wanted = (*wanted, "instruction_cache.line_interval")
    given = {key for key in figure_keys(MACHINE) if key.startswith(wanted)}
    not_measured = {
        "pipes.branch.interval",
        "pipes.branch.latency",
        "pipes.uniform.interval",
        "pipes.uniform.latency",
        "mio.queue_depth",  # the double's bursts take one time whatever their length: no queue shows
        "async_copy.pace.interval",  # nor do more copies take longer
        "async_copy.pace.outstanding",  # nor do any wait for those before them
        "async_copy.pace.outstanding_through",
        "async_copy.pace.fill_bytes",  # nor do copies cost stores more than loads
        "async_copy.look_ups",
        "l1.lines.look_ups",
        "async_copy.queue_percent",
        "async_copy.stage",  # fitted to main loops
        "l1.store_buffer_bytes",  # nor do its stores wait
        "l1.stores.bytes_per_cycle",  # nor hold what follows them in a step
        "shared.banks",
        "shared.bank_bytes",
        "shared.atomic_wavefronts",  # nor an atomic of many lanes at a word more than one of few
        "l1.bytes",
        "l1.line_bytes",
        "l1.sector_bytes",
        "l2.bytes",
        "l2.partitions",
        "l2.line_bytes",
        "dram.bandwidth_gb_s",
        "dram.banks.channels",
        "dram.banks.per_channel",
        "dram.late.cycles",  # nor does its DRAM stand still
        "dram.late.period",
        "dram.late.region_bytes",
        "dram.late.part_masks",
        "dram.banks.busy_ns",  # chosen for what rows.csv has, not derived from it
        "dram.turns.meanwhile",  # nor do its streams of reads lose anything to stores
        "launch.idle_clock_percent",  # nor do the double's few CTAs leave a GPC idle
        "launch.cpcs.tpcs",  # nor does one of its SMs bring more than the others
        "launch.cpcs.beside",
        "launch.cpcs.percent",
        "launch.units.ahead",  # nor show 16 CTAs on its four SMs any groups of them
        "launch.units.others",
        "launch.units.between",
        "launch.units.gpcs",
        "launch.units.sides",
        "tensor.m8n8k16.s8.s32.interval",  # an instruction of Turing's that no benchmark issues
        "tensor.m8n8k16.s8.s32.latency",
        "tensor.m16n8k8.bf16.f32.interval",
        "tensor.m16n8k8.bf16.f32.latency",
    }
    assert given - set(derived) == not_measured


def test_figures_follow_from_the_rows(measured):
    derived = {key: figure.value for key, figure in derive(measured).items()}

    # 64 iterations of two k groups of 4x8 mma by two warps: 96000 / (4096 * 2).
    assert derived["tensor.m16n8k16.f16.f32.interval"] == round(96_000 / 8192)
    assert derived["tensor.m16n8k8.f16.f32.latency"] == round(96_000 / (64 * 48))
    # A loop takes one time with a copy and without: 3 cycles are hidden, and 1 of them is the way to the queue.
    assert derived["async_copy.source_release"] == 3 - 1
    assert derived["async_copy.l1_latency"] == 6
    assert derived["l2.far_fraction_percent"] == 25
    assert derived["l1.hit_latency"] == 250
    assert derived["launch.overhead"] == 4200
    # Clocks of 0, 0, 1 and SPAN + 1: the median step.
    assert derived["l2.semaphore"] == 1
    assert derived["launch.cta_setup"] == 310
    # Elapsed less active cycles, and a cycle for each GPC's.
    assert derived["launch.gpc_clocks.besides"] == (4200,) * len(derived["launch.gpc_clocks.sms"])
    assert derived["launch.gpc_clocks.cycles"] == (40_000, 320_000)
    # CTAs two cycles apart over four SMs.
    assert derived["launch.cta_interval"] == 2
    assert derived["l2.write_latency"] == 500
    assert derived["l2.write_bytes_per_cycle"] == 2048
    assert derived["l2.merging.most"] == 4
    # Four at once, and two 20 cycles apart.
    assert derived["l2.merging.window"] == 20
    # Three of four misses lie in the bin of 696, the others in that of 888, all hits in that of 296; a hit of the chase
    # takes 250. The medians are 696 + 8 * 2 / 3 and 300. The bins of near and far lines are 192 apart.
    assert derived["dram.latency"] == 250 + 401
    assert derived["l2.crossing.first"] == 192
    assert derived["dram.late.on_time"] == 250 + 400
    assert derived["instruction_cache.line_interval"] == SPAN / 128


def test_a_plan_that_ncu_did_not_see_whole_is_refused(monkeypatch):
    monkeypatch.setattr(ncu, "profile", lambda *_a, **_k: ([], []))
    with pytest.raises(CannotRun, match="ncu profiled 0 launches, which are not the 4 of plan merge"):
        profiled.measure_merge(DoubleDevice(), quick=True)


def test_a_plan_launches_its_kernels_in_order_and_keeps_their_clocks(tmp_path, monkeypatch):
    double = DoubleDevice()
    monkeypatch.setattr(profiled, "Device", lambda: double)

    profiled.launch_plan("fetch", tmp_path / "clocks.json", quick=True)

    assert double.launches == [("fetch", "straight_1024")] * 2
    clocks = json.loads((tmp_path / "clocks.json").read_text(encoding="utf-8"))
    assert clocks == [[[1, 0, 1 + SPAN]], [[1, 0, 1 + SPAN]] * SMS]


@pytest.mark.parametrize(
    ("capability", "only", "measured"),
    [
        ("80", (), {"launch"}),
        ("90", (), {"launch", "wgmma_queue"}),
        ("80", ("wgmma_queue",), {"wgmma_queue"}),
        ("90", ("launch",), {"launch"}),
    ],
)
def test_what_only_hopper_has_is_measured_there_or_where_it_is_asked_for(
    capability, only, measured, tmp_path, monkeypatch
):
    found = set()
    device = SimpleNamespace(capability=capability, provenance=dict)
    monkeypatch.setattr(microbench, "Device", lambda: device)
    benches = {
        name: lambda _device, *, quick, name=name: found.add(name) or [{"quick": int(quick)}]
        for name in ("launch", "wgmma_queue")
    }
    monkeypatch.setattr(microbench, "BENCHMARKS", benches)
    monkeypatch.setattr(microbench, "derive", lambda _: {})

    microbench.calibrate(tmp_path, only=only)

    assert found == measured


def test_without_cupy_the_driver_says_what_to_install(tmp_path, monkeypatch, capsys):
    monkeypatch.setitem(__import__("sys").modules, "cupy", None)
    assert microbench.main([str(tmp_path / "out")]) == 1
    assert "CuPy is not installed" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()
