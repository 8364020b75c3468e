"""Compiled streams: the kernel executes the schedule, address by address, and a kernel that does not is refused."""

import gzip
import re
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from slow import one_in

from gpusim.cuda.compiled_kernel import CompiledKernel, compile_kernel
from gpusim.cuda.compiler import CACHE_VARIABLE
from gpusim.errors import BadInput, CannotRun, CheckFailed
from gpusim.families.gemm.program import program
from gpusim.families.gemm.specialise import specialise, specialise_any_extents
from gpusim.families.gemm.timed import TimedTileKernel
from gpusim.families.registry import load_scenario
from gpusim.lower.compiled import annotated, lower
from gpusim.lower.runner import KernelRunner
from gpusim.lower.stream import shifted
from gpusim.lower.stream_file import load_stream, save_stream
from gpusim.machine.load import load_machine
from gpusim.schedule.ops import CopyAsync, Ldmatrix, LoadSource, WarpMma

FOLDER = Path(__file__).parent / "sass" / "data"
LONG_FOLDER = Path(__file__).parent / "data"
SCENARIOS = Path(__file__).parents[3] / "scenarios"
F32 = ("problem.dtype.output='f32'", "kernel.threadblock=[128, 128, 32]", "kernel.warp=[64, 64, 32]")
COMMITTED = {
    "gemm_ragged_sm90": ("gemm_ragged", ()),
    "gemm_split_k_sm90": ("gemm_ragged", ("problem.split_k_slices=3",)),
    "conv_9_k_tiles_sm90": ("conv_9_k_tiles", ()),
    "conv_s6_swizzle_sm80": ("conv_s6_swizzle", ()),
    "gemm_pipelined_sm90": ("recorded/gemm_pipelined_ragged_alignment4", ()),
    "conv_pipelined_sm75": (
        "recorded/conv_pipelined_optimized_stride2",
        ("machine='t4'", "kernel.instruction=[16, 8, 8]"),
    ),
    "turing_int4_conv_sm75": ("turing_int4_conv", ()),
    "gemm_f32_sm75": (
        "gemm_ragged",
        (*("machine='t4'", *F32), "kernel.mainloop='pipelined'", "kernel.stages=2", "kernel.instruction=[16, 8, 8]"),
    ),
    "gemm_f32_sm80": ("gemm_ragged", ("machine='a100'", *F32)),
    "gemm_f32_sm86": ("gemm_ragged", ("machine='rtx3090'", *F32)),
    "gemm_f32_sm89": ("gemm_ragged", ("machine='rtx4090'", *F32)),
}
"""Committed kernels, and the scenarios they were compiled for."""

LONG = {
    "gemm_long_k_sm90": ("gemm_ragged", ("problem.k=3080",)),
    "conv_many_channels_sm90": ("conv_9_k_tiles", ("problem.c=640",)),
}
"""Committed kernels whose mainloop repeats for so long that most of its trips are skipped."""


def committed(name, *overrides):
    """
    A committed kernel and its scenario, or another one that it was not compiled for.

    Those of f32 outputs are of the build for all extents: up to sm_89 it keeps numbers of 64 bits in constant bank 2.
    """
    file, own = (COMMITTED | LONG)[name]
    scenario = load_scenario(SCENARIOS / f"{file}.toml", (*own, *overrides))
    cubin = gzip.decompress(((FOLDER if name in COMMITTED else LONG_FOLDER) / f"{name}.cubin.gz").read_bytes())
    own = specialise_any_extents(scenario) if name.startswith("gemm_f32") else specialise(scenario)
    assert own is not None
    return scenario, CompiledKernel(cubin, "nvcc 13.0", own)


def timed(scenario):
    return TimedTileKernel(scenario, load_machine(scenario.machine))


def lower_kernel(scenario, compiled, slice_=0):
    kernel = timed(scenario)
    return lower(kernel, compiled, kernel.slice_blocks[slice_])


@pytest.fixture(scope="module", params=COMMITTED)
def lowered(request):
    scenario, kernel = committed(request.param)
    return scenario, kernel, lower_kernel(scenario, kernel)


@pytest.mark.parametrize("name", [*LONG, "gemm_pipelined_sm90"])
def test_a_stream_whose_repeating_trips_were_skipped_is_that_of_all_trips(name):
    scenario, compiled = committed(name)
    kernel = timed(scenario)
    runner = KernelRunner(kernel, compiled)
    path = runner.run(0, 0, runner.loop(0))

    assert path.skips
    assert len(path.steps) < len(runner.run(0, 0).steps)
    assert lower(kernel, compiled, 0) == lower(kernel, compiled, 0, every_trip=True)


def test_where_skipping_does_not_align_every_trip_is_executed(monkeypatch):
    """Here the repetition lacks the prologue, whose instructions are then none of the schedule's."""
    scenario, compiled = committed("gemm_long_k_sm90")
    kernel = timed(scenario)
    wanted = lower(kernel, compiled, 0, every_trip=True)
    own, runs = TimedTileKernel.repetition, []
    run = KernelRunner.run
    monkeypatch.setattr(KernelRunner, "run", lambda *which: runs.append(run(*which)) or runs[-1])
    monkeypatch.setattr(TimedTileKernel, "repetition", lambda *which: own(*which)._replace(prologue=()))

    assert lower(kernel, compiled, 0) == wanted
    assert [bool(path.skips) for path in runs] == [True, False]


@pytest.mark.slow
@pytest.mark.compiler("nvcc")
@settings(max_examples=5, deadline=None)
@given(
    kernel=st.sampled_from(
        [
            ("gemm_ragged", "k", 8),
            ("recorded/gemm_split_k_f16", "k", 8),
            ("recorded/gemm_nt_pipelined", "k", 8),
            ("conv_9_k_tiles", "c", 64),
            ("dgrad_3x3", "k", 64),
            ("turing_int4_conv", "c", 128),
        ]
    ),
    steps=st.integers(1, 24),
)
def test_any_length_of_k_lowers_to_the_stream_of_all_trips(kernel, steps):
    name, extent, step = kernel
    scenario = load_scenario(SCENARIOS / f"{name}.toml", (f"problem.{extent}={4 * step * steps}",))
    one = timed(scenario)
    compiled = compile_kernel(one.specialisation, one.machine.compute_capability)

    for block in one.slice_blocks:
        assert lower(one, compiled, block) == lower(one, compiled, block, every_trip=True)


ONE_BUILD = {
    "multistage": "gemm_ragged",
    "multistage nn": "recorded/gemm_nt",
    "pipelined": "recorded/gemm_nt_pipelined",
    "serial split-K": "recorded/gemm_split_k_f16",
    "tf32, plain loads": "recorded/gemm_tf32_nt",
}
"""GEMMs whose other extents are compiled to the same machine code."""


def times(stream, opcode):
    """How often a warp executes an opcode."""
    named = ((segment.trips, one) for segment in stream.segments for one in segment.instructions)
    return sum(trips for trips, one in named if one.opcode.split(".")[0] == opcode)


@pytest.mark.compiler("nvcc")
@pytest.mark.parametrize("file", one_in(5, ONE_BUILD.values()), ids=ONE_BUILD)
def test_other_extents_of_a_configuration_need_no_compiler(file, tmp_path, monkeypatch):
    """
    Each lowers to its own stream, which is aligned with the schedule and does what that of the build with its extents
    compiled in does.
    """
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path))
    made = []
    for extents in ((264, 136, 520), (1024, 648, 1160)):
        overrides = [f"problem.{name}={extent}" for name, extent in zip("mnk", extents, strict=True)]
        one = timed(load_scenario(SCENARIOS / f"{file}.toml", overrides))
        made.append((one, [one.compiled(slice_).stream for slice_ in range(len(one.slice_blocks))]))

    assert len(list(tmp_path.glob("*.cubin"))) == 1
    for one, streams in made:
        one.own_build = True
        for slice_, stream in enumerate(streams):
            own = one.compiled(slice_).stream
            assert (stream.run_time_extents, own.run_time_extents) == (True, False)
            for opcode in ("HMMA", "LDSM", "LDGSTS", "LDG", "STG", "STS", "BAR"):
                assert times(stream, opcode) == times(own, opcode), opcode
    assert len(list(tmp_path.glob("*.cubin"))) == 3


def executed_ops(scenario, stream):
    """
    Every named instruction of a stream, all trips unrolled: (op, part).
    """
    return [
        (shifted(one.op, trip * segment.tiles_per_trip, scenario.kernel.stages), one.part)
        for segment in stream.segments
        for trip in range(segment.trips)
        for one in segment.instructions
        if one.op is not None
    ]


def test_the_stream_executes_every_op_of_the_schedule_once(lowered):
    """
    Up to the epilogue's accesses that no lane of the warp makes.
    """
    scenario, _, one = lowered
    ops = program(scenario, scenario.k_iterations(0)).mainloop_ops()
    warp_m, warp_n, _ = scenario.kernel.warp
    parts = warp_m // scenario.kernel.instruction[0] * (warp_n // scenario.kernel.instruction[1])
    wanted = Counter((op, part) for op in ops for part in range(parts if isinstance(op, WarpMma) else 1))
    mainloop = replace(one.stream, segments=one.stream.segments[:-1])

    assert Counter(executed_ops(scenario, mainloop)) == wanted


def test_each_op_is_its_own_machine_instruction(lowered):
    scenario, _, one = lowered
    kernel = TimedTileKernel(scenario, load_machine(scenario.machine))
    named = [i for segment in one.stream.segments for i in segment.instructions if i.op is not None]

    assert all(i.opcode.split(".")[0] == kernel.opcode(type(i.op)) for i in named)


def test_the_mainloop_is_one_segment_of_one_k_tile_a_trip(lowered):
    scenario, _, one = lowered
    names = [segment.name for segment in one.stream.segments]
    loop = one.stream.segments[1]

    assert names == ["prologue", "mainloop", "tail", "epilogue"]
    assert (loop.trips, loop.tiles_per_trip) == (scenario.k_iterations(0), 1)
    assert [i.unit for i in one.stream.segments[-1].instructions].count("exit") == 1


def test_copies_and_fragment_loads_come_from_the_schedule_alone(lowered):
    _, _, one = lowered
    loop = one.stream.segments[1].instructions

    assert all(isinstance(i.op, CopyAsync) for i in loop if i.unit == "ldgsts")
    assert all(isinstance(i.op, Ldmatrix) for i in loop if i.opcode.startswith("LDSM"))
    assert all(i.stall >= 1 and i.wait_mask < 64 for i in loop)


def test_the_listing_goes_with_the_stream(lowered):
    _, _, one = lowered
    rows = annotated(one)

    assert len(rows) == sum(len(segment.instructions) for segment in one.stream.segments)
    assert all(row.stage is not None for row in rows if "LDGSTS" in row.text)
    assert {row.op.split("(")[0] for row in rows if "MMA." in row.text} == {"WarpMma"}


@pytest.mark.slow
def test_every_warp_of_some_ctas_executes_the_schedule(lowered):
    scenario, kernel, _ = lowered
    runner = KernelRunner(timed(scenario), kernel)
    live = timed(scenario).launched.tolist()
    for block in {live[0], live[len(live) // 2], live[-1]}:
        for warp in range(runner.warps):
            named = runner.align(block, warp, runner.executed(block, runner.run(block, warp)))
            assert sum(one is not None and isinstance(one.op, WarpMma) for one in named) > 0


def test_a_stream_is_read_back_as_it_was_written(lowered, tmp_path):
    _, _, one = lowered
    path = tmp_path / "stream.json.gz"
    save_stream(path, one)
    first = path.read_bytes()
    save_stream(path, load_stream(path))

    assert load_stream(path) == one
    assert path.read_bytes() == first


def test_later_slices_of_a_split_read_their_source():
    scenario, kernel = committed("gemm_split_k_sm90")
    first, second = (lower_kernel(scenario, kernel, slice_).stream for slice_ in (0, 1))

    def sources(stream):
        return sum(i.opcode.startswith("LDG.") and i.op is not None for i in stream.segments[-1].instructions)

    wanted = sum(isinstance(op, LoadSource) for op in program(scenario, scenario.k_iterations(1), 1).epilogue)

    assert (sources(first), sources(second)) == (0, wanted)


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("kernel.stages=4", r"DEPBAR\.LE SB0, 0x1 waits for 0x1 pending groups, the schedule for 2: WaitGroup"),
        (
            "kernel.shared.a='row_major'",
            r"LDGSTS\..* in lane \d+, where no remaining op .*; most like it is CopyAsync\(.* at 0x",
        ),
        ("problem.lda=720", r"^0x[0-9a-f]{4} LDGSTS\..* copies from 0x[0-9a-f]+ in lane 0?\d+, the schedule from 0x"),
        ("problem.m=1001", r"touches memory in lanes \[.*\], the schedule in \["),
        ("problem.beta=1.0", r"^after barrier \d+ the schedule has 2 LDG, the kernel executes 0; "),
        ("problem.ldc=1008", r"^after barrier 16 the kernel executes .*STG\..* most like it is StoreGlobal\(step=0,"),
        ("problem.k=776", r"^0x[0-9a-f]{4} LDGSTS\..* copies from 0x[0-9a-f]+ in lane \d+, the schedule from 0x"),
    ],
    ids=["stages", "layout", "leading-dimension", "predicate", "source", "output", "k-tiles"],
)
def test_a_kernel_of_another_scenario_is_refused_with_both_sides(override, message):
    scenario, _ = committed("gemm_ragged_sm90", override)
    _, kernel = committed("gemm_ragged_sm90")

    runner = KernelRunner(timed(scenario), kernel)

    def align_all():
        for block, warp in ((0, 0), (0, 3), (63, 0), (63, 3)):
            runner.align(block, warp, runner.executed(block, runner.run(block, warp)))

    with pytest.raises(CheckFailed, match=message):
        align_all()


@pytest.mark.parametrize(
    ("low", "high", "text"),
    [
        (0x40 << 42, 0, "BAR.SYNC.DEFER_BLOCKING 0x0, 0x40"),
        (0x40 << 42, 1 << 13, "BAR.ARV.DEFER_BLOCKING 0x0, 0x40"),
    ],
    ids=["of two warps", "an arrival"],
)
def test_a_barrier_of_a_part_of_the_cta_is_not_that_of_a_schedule(low, high, text):
    """Bits 42 to 53 count threads, and bits 77 to 79 say what a BAR does: 1 is an arrival."""
    scenario, kernel = committed("gemm_ragged_sm90")
    data, at = bytearray(kernel.cubin), kernel.cubin.index(bytes.fromhex("1d7b000000000000"))
    data[at : at + 16] = (int.from_bytes(data[at : at + 16], "little") | low | high << 64).to_bytes(16, "little")
    runner = KernelRunner(timed(scenario), replace(kernel, cubin=bytes(data)))

    with pytest.raises(CheckFailed, match=f"^after barrier 0 the kernel executes 0x[0-9a-f]+ {re.escape(text)}, where"):
        runner.align(0, 0, runner.executed(0, runner.run(0, 0)))


def test_a_kernel_whose_mma_is_emulated_is_refused_before_its_code_is_read(monkeypatch):
    monkeypatch.setattr("gpusim.lower.runner.decode", lambda *_: pytest.fail("decoded"))
    scenario = load_scenario(SCENARIOS / "recorded" / "gemm_u4.toml")
    _, kernel = committed("gemm_ragged_sm90")

    with pytest.raises(BadInput, match=r"^problem\.dtype\.ab must be a type that sm_90 multiplies, got 'u4': its "):
        lower_kernel(scenario, kernel)


def test_without_a_compiler_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setattr("gpusim.cuda.compiler._find_nvrtc", lambda: None)
    monkeypatch.setattr("gpusim.cuda.compiler._find_nvcc", lambda: None)
    scenario = load_scenario(SCENARIOS / "gemm_ragged.toml", ("problem.k=40",))

    with pytest.raises(CannotRun, match=r"^no CUDA compiler is installed: pip install 'gpusim\[compiler\]' brings"):
        timed(scenario).compiled()
