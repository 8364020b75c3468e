"""
The CUDA kernel's own source, run on the CPU thread by thread: the schedule it follows, and the numbers it computes.

Only the PTX instructions are replaced (host_kernel/host_ptx.hpp). What the trace build writes down must equal the
Python stream in every field, offsets of invalid accesses included.
"""

import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from doubles.host_compiler import compile_for_host
from slow import one_in

from gpusim.cuda import timeline_format, trace_format
from gpusim.cuda.specialise import RECORDED_BLOCKS, Build, Specialisation
from gpusim.cuda.trace import expected_records, first_difference, longest_stream
from gpusim.families.gemm.reduction.cuda import specialise_reduction
from gpusim.families.gemm.reduction.schedule import ReductionKernel
from gpusim.families.gemm.schedule import TileKernel
from gpusim.families.gemm.specialise import specialise, specialise_any_extents
from gpusim.families.registry import parse_scenario
from gpusim.numerics.elements import Values, decode
from gpusim.numerics.reference import agreement, reference
from gpusim.numerics.tensors import fresh_output, fresh_workspace, make_tensors
from gpusim.scenario.gemm import GemmScenario

HOST_KERNEL = Path(__file__).parent / "host_kernel" / "kernel_on_host.cpp"

pytestmark = pytest.mark.compiler("g++")


def scenario(problem: dict[str, Any], kernel: dict[str, Any]) -> GemmScenario:
    return parse_scenario({"machine": "h200", "problem": problem, "kernel": kernel}, "test")


def gemm(m: int, n: int, k: int, kernel: dict[str, Any], **keys: Any) -> GemmScenario:
    return scenario({"kind": "gemm", "m": m, "n": n, "k": k, **keys}, kernel)


def conv(extents: dict[str, Any], kernel: dict[str, Any], **keys: Any) -> GemmScenario:
    return scenario({"kind": "conv2d_fprop", **extents, **keys}, kernel)


def dgrad(extents: dict[str, Any], kernel: dict[str, Any], **keys: Any) -> GemmScenario:
    return scenario({"kind": "conv2d_dgrad", **extents, **keys}, kernel)


def tiles(threadblock: Sequence[int], warp: Sequence[int], stages: int, **keys: Any) -> dict[str, Any]:
    return {"threadblock": list(threadblock), "warp": list(warp), "stages": stages, **keys}


SMALL = tiles((64, 64, 64), (32, 32, 64), 3)
SMALL_32 = tiles((64, 64, 32), (32, 32, 32), 4)
OPTIMIZED = {**SMALL, "iterator": "optimized"}
OPTIMIZED_32 = {**SMALL_32, "iterator": "optimized"}
PADDED_SWIZZLED = {"a": "padded<16>", "b": "Swizzle<3,3,4>"}
F16 = {"output": "f16"}
BF16 = {"ab": "bf16", "accumulator": "f32", "output": "f32"}
TF32 = {"ab": "tf32", "accumulator": "f32", "output": "f32"}
IMAGE = {"n": 2, "h": 7, "w": 9, "c": 72, "k": 40, "r": 3, "s": 3, "padding": [1, 1]}

SCENARIOS = {
    "gemm 128x128x64 s3, whole": gemm(128, 128, 192, tiles((128, 128, 64), (64, 64, 64), 3), dtype=F16),
    "gemm ragged m, n, k": gemm(100, 72, 200, SMALL),
    "gemm fewer k tiles than stages": gemm(64, 64, 64, tiles((64, 64, 64), (32, 32, 64), 5)),
    "gemm K 32, leading dimensions": gemm(72, 64, 152, SMALL_32, lda=160, ldb=168, ldc=72, alpha=0.5, beta=-2.0),
    "gemm 128x256x32, eight warps": gemm(130, 264, 72, tiles((128, 256, 32), (64, 64, 32), 3), dtype=F16),
    "gemm 8- and 4-byte copies, narrow output": gemm(66, 70, 140, SMALL, alignment_b=2, dtype=F16),
    "gemm one-element output access": gemm(40, 67, 96, SMALL, dtype=F16, beta=1.5),
    "gemm split-K": gemm(64, 72, 456, SMALL, split_k_slices=3),
    "gemm split-K with beta, f16": gemm(96, 64, 320, SMALL, split_k_slices=2, beta=0.5, dtype=F16),
    "gemm identity<4>, CTAs without a tile": gemm(70, 330, 64, {**SMALL, "threadblock_swizzle": "identity<4>"}),
    "gemm identity<8>": gemm(64, 500, 64, {**SMALL, "threadblock_swizzle": "identity<8>"}, alignment_c=2),
    "gemm bias and relu, f16": gemm(70, 72, 96, SMALL, bias=True, activation="relu", dtype=F16),
    "gemm bias, source, narrow access": gemm(70, 66, 96, SMALL, bias=True, beta=-0.5, alignment_c=2),
    "gemm split-K, bias and relu last": gemm(
        70, 72, 328, SMALL, split_k_slices=3, bias=True, activation="relu", dtype=F16
    ),
    "gemm parallel split-K": gemm(70, 72, 456, SMALL, split_k_slices=3, split_k="parallel"),
    "gemm parallel split-K, bias, source, f16": gemm(
        66, 136, 680, SMALL, split_k_slices=6, split_k="parallel", ldc=144, beta=0.5, bias=True, activation="relu",
        dtype=F16,
    ),
    "gemm parallel split-K, odd columns": gemm(37, 67, 200, SMALL, split_k_slices=2, split_k="parallel", dtype=F16),
    "gemm padded and row-major": gemm(80, 64, 136, {**SMALL, "shared": {"a": "padded<8>", "b": "row_major"}}),
    "gemm Swizzle<3,3,3>": gemm(80, 64, 136, {**SMALL, "shared": {"a": "Swizzle<3,3,3>", "b": "Swizzle<2,3,3>"}}),
    "gemm swizzle downwards": gemm(64, 64, 128, {**SMALL, "shared": {"a": "Swizzle<2,4,-3>", "b": "Swizzle<3,3,5>"}}),
    "gemm swizzle that no XOR walks": gemm(64, 64, 64, {**SMALL, "shared": {"a": "Swizzle<3,3,6>", "b": "row_major"}}),
    "gemm K 128, one row of warps": gemm(40, 130, 200, tiles((32, 128, 128), (32, 32, 128), 3, shared=PADDED_SWIZZLED)),
    "gemm tall": gemm(250, 64, 96, tiles((128, 64, 32), (32, 32, 32), 3)),
    "gemm f16 m16n8k8": gemm(80, 72, 136, {**SMALL, "instruction": [16, 8, 8]}),
    "gemm bf16": gemm(80, 72, 136, SMALL, dtype=BF16, beta=0.5),
    "gemm tf32": gemm(80, 72, 100, tiles((64, 64, 16), (32, 32, 16), 4, instruction=[16, 8, 8]), dtype=TF32),
    "conv tf32": conv({**IMAGE, "c": 36}, tiles((64, 64, 32), (32, 32, 32), 3, instruction=[16, 8, 8]), dtype=TF32),
    "conv 3x3, ragged channels": conv(IMAGE, SMALL),
    "conv strides and dilation": conv({**IMAGE, "h": 13, "w": 11}, SMALL, stride=[2, 1], dilation=[2, 3]),
    "conv convolution mode, f16": conv(IMAGE, SMALL_32, mode="convolution", dtype=F16, alpha=2.0, beta=1.0),
    "conv 1x1": conv({"n": 3, "h": 5, "w": 5, "c": 64, "k": 64, "r": 1, "s": 1}, SMALL),
    "conv split-K": conv({**IMAGE, "c": 200}, SMALL, split_k_slices=2),
    "conv relu": conv(IMAGE, SMALL, activation="relu", dtype=F16),
    "conv parallel split-K": conv({**IMAGE, "c": 200}, SMALL, split_k_slices=4, split_k="parallel", bias=True),
    "conv 4-byte copies": conv({**IMAGE, "c": 34, "k": 66}, SMALL_32, dtype=F16),
    "conv 128x128x64, padded": conv({**IMAGE, "c": 64}, tiles((128, 128, 64), (64, 64, 64), 3, shared=PADDED_SWIZZLED)),
    "conv optimized, ragged channels": conv(IMAGE, OPTIMIZED),
    "conv optimized, strides, dilation": conv({**IMAGE, "h": 13, "w": 11}, OPTIMIZED, stride=[2, 1], dilation=[2, 3]),
    "conv optimized, convolution mode": conv(IMAGE, OPTIMIZED_32, mode="convolution", dtype=F16, alpha=2.0, beta=1.0),
    "conv optimized 1x1": conv({"n": 3, "h": 5, "w": 5, "c": 64, "k": 64, "r": 1, "s": 1}, OPTIMIZED),
    "conv optimized 7x5": conv({**IMAGE, "r": 7, "s": 5, "padding": [3, 2], "c": 16}, OPTIMIZED_32, stride=[2, 2]),
    "conv optimized split-K": conv({**IMAGE, "c": 200}, OPTIMIZED, split_k_slices=2),
    "conv optimized 4-byte copies": conv({**IMAGE, "c": 34, "k": 66}, OPTIMIZED_32, dtype=F16),
    "conv optimized, masks of two words": conv({**IMAGE, "r": 2, "s": 32, "padding": [1, 16], "c": 8}, OPTIMIZED_32),
    "conv horizontal": conv(IMAGE | {"k": 136}, {**OPTIMIZED, "threadblock_swizzle": "horizontal"}),
    "gemm horizontal, split-K": gemm(130, 72, 456, {**SMALL, "threadblock_swizzle": "horizontal"}, split_k_slices=3),
    "conv given p and q": conv({**IMAGE, "h": 6, "w": 20, "c": 8, "k": 16, "r": 2, "s": 5, "p": 4, "q": 9}, SMALL_32),
}  # fmt: skip

TWO_STAGES = {
    "gemm, ragged": gemm(100, 72, 200, tiles((64, 64, 64), (32, 32, 64), 2)),
    "gemm, one k tile, contiguous along M and N": gemm(
        70, 72, 24, tiles((64, 64, 32), (32, 32, 32), 2), layout_a="column", layout_b="row"
    ),
    "conv": conv(IMAGE, tiles((64, 64, 64), (32, 32, 64), 2)),
    "conv optimized, split-K": conv(
        {**IMAGE, "c": 200}, tiles((64, 64, 32), (32, 32, 32), 2, iterator="optimized"), split_k_slices=2
    ),
}
"""Multistage mainloops that read one stage while they fill the other."""


PIPELINED = tiles((64, 64, 32), (32, 32, 32), 2, mainloop="pipelined")
PIPELINED_128 = tiles((128, 128, 32), (64, 64, 32), 2, mainloop="pipelined")
PIPELINED_256 = tiles((128, 256, 32), (64, 64, 32), 2, mainloop="pipelined")
PIPELINED_64 = tiles((64, 64, 64), (32, 32, 64), 2, mainloop="pipelined")
NN = {"layout_a": "column", "layout_b": "column"}
NT = {"layout_a": "column", "layout_b": "row"}
TT = {"layout_a": "row", "layout_b": "row"}
TALL_32 = tiles((128, 64, 32), (64, 32, 32), 3)
TF32_NT = tiles((64, 64, 16), (32, 32, 16), 4, instruction=[16, 8, 8])
WORDS_PADDED = {"a": "padded<4>", "b": "row_major"}
ROWS_PADDED = {"a": "padded<8>", "b": "row_major"}

SCENARIOS |= {
    "gemm NT, whole": gemm(128, 128, 96, tiles((128, 128, 32), (64, 64, 32), 3), **NT, dtype=F16),
    "gemm NT, ragged everywhere": gemm(136, 72, 100, SMALL, **NT),
    "gemm NN, 8- and 4-byte copies": gemm(132, 66, 70, TALL_32, **NN, alignment_b=2),
    "gemm TT, leading dimensions, split-K": gemm(70, 96, 300, SMALL, **TT, ldb=104, lda=304, split_k_slices=2),
    "gemm TT, 256 wide": gemm(64, 264, 72, tiles((64, 256, 32), (64, 64, 32), 3), **TT, dtype=F16, beta=0.5),
    "gemm NT, eight warps": gemm(250, 128, 90, tiles((256, 128, 32), (64, 64, 32), 3), **NT, alignment_a=2),
    "gemm NT, padded and row-major": gemm(72, 64, 72, {**SMALL_32, "shared": ROWS_PADDED}, **NT),
    "gemm NT, swizzles": gemm(72, 64, 72, {**SMALL, "shared": {"a": "Swizzle<3,3,3>", "b": "Swizzle<2,3,4>"}}, **NT),
    "gemm TT, swizzle that no XOR walks": gemm(64, 64, 64, {**SMALL_32, "shared": {"b": "Swizzle<3,3,6>"}}, **TT),
    "gemm NT, pipelined": gemm(72, 136, 104, tiles((64, 64, 32), (32, 32, 32), 2, mainloop="pipelined"), **NT),
    "gemm NT, m16n8k8": gemm(72, 136, 104, {**SMALL_32, "instruction": [16, 8, 8]}, **NT),
    "gemm NT tf32, plain loads": gemm(68, 100, 52, TF32_NT, **NT, dtype=TF32),
    "gemm TT tf32, eight warps": gemm(64, 132, 52, {**TF32_NT, "warp": [32, 16, 16]}, **TT, dtype=TF32, ldb=136),
    "gemm NN tf32, 128 wide": gemm(132, 64, 40, {**TF32_NT, "threadblock": [128, 64, 16]}, **NN, dtype=TF32),
    "gemm NT tf32, padded": gemm(68, 64, 52, {**TF32_NT, "shared": WORDS_PADDED}, **NT, dtype=TF32),
}  # fmt: skip

SCENARIOS |= {
    "pipelined gemm 128x128x32, whole": gemm(128, 128, 96, PIPELINED_128),
    "pipelined gemm ragged m, n, k": gemm(100, 72, 200, PIPELINED_64, alpha=0.5, beta=-2.0),
    "pipelined gemm, one k tile": gemm(64, 64, 24, PIPELINED, dtype=F16),
    "pipelined gemm, 8- and 4-byte loads": gemm(66, 70, 140, PIPELINED, alignment_b=2, dtype=F16),
    "pipelined gemm split-K": gemm(64, 72, 232, PIPELINED, split_k_slices=3),
    "pipelined gemm padded, swizzled": gemm(64, 64, 136, {**PIPELINED, "shared": PADDED_SWIZZLED}, lda=144),
    "pipelined gemm 128x256x32, eight warps": gemm(130, 264, 72, PIPELINED_256),
    "pipelined gemm NT": gemm(72, 136, 104, PIPELINED, layout_a="column", layout_b="row"),
    "pipelined gemm of Turing's m16n8k8": gemm(70, 64, 104, {**PIPELINED, "instruction": [16, 8, 8]}),
    "pipelined conv 3x3, ragged channels": conv(IMAGE, PIPELINED_64),
    "pipelined conv optimized": conv({**IMAGE, "h": 13}, {**PIPELINED, "iterator": "optimized"}, stride=[2, 1]),
    "pipelined conv convolution mode, f16": conv(IMAGE, PIPELINED, mode="convolution", dtype=F16, beta=1.0),
    "pipelined conv 4-byte loads": conv({**IMAGE, "c": 34, "k": 66}, PIPELINED, dtype=F16),
    "pipelined conv split-K": conv({**IMAGE, "c": 200}, PIPELINED_64, split_k_slices=2),
}  # fmt: skip


GRADIENT = {"n": 2, "h": 7, "w": 9, "c": 40, "k": 72, "r": 3, "s": 3, "padding": [1, 1]}

SCENARIOS |= {
    "dgrad 3x3, ragged filters": dgrad(GRADIENT, SMALL),
    "dgrad whole tiles, f16": dgrad({**GRADIENT, "h": 8, "w": 8, "c": 128, "k": 64}, SMALL, dtype=F16),
    "dgrad convolution mode, dilation": dgrad(
        {**GRADIENT, "h": 13, "w": 11}, SMALL_32, mode="convolution", dilation=[2, 3]
    ),
    "dgrad padded beyond the filter": dgrad({**GRADIENT, "padding": [4, 3]}, SMALL_32, beta=0.5),
    "dgrad given p and q": dgrad({**GRADIENT, "r": 2, "s": 5, "p": 4, "q": 3}, SMALL_32, bias=True),
    "dgrad 1x1": dgrad({"n": 3, "h": 5, "w": 5, "c": 64, "k": 64, "r": 1, "s": 1}, SMALL),
    "dgrad split-K": dgrad({**GRADIENT, "k": 200}, SMALL, split_k_slices=2),
    "dgrad parallel split-K": dgrad({**GRADIENT, "k": 200}, SMALL, split_k_slices=4, split_k="parallel", bias=True),
    "dgrad 4-byte copies": dgrad({**GRADIENT, "c": 66, "k": 34}, SMALL_32, dtype=F16),
    "dgrad 128x128x32, eight accesses": dgrad(GRADIENT, tiles((128, 128, 32), (64, 64, 32), 3)),
    "dgrad tf32, plain loads": dgrad({**GRADIENT, "c": 36}, TF32_NT, dtype=TF32),
    "dgrad padded and swizzled": dgrad(GRADIENT, {**SMALL, "shared": {"a": "Swizzle<3,3,3>", "b": "padded<8>"}}),
    "pipelined dgrad": dgrad(GRADIENT, PIPELINED, activation="relu"),
    "pipelined dgrad, 8-byte loads, split-K": dgrad({**GRADIENT, "c": 68, "k": 100}, PIPELINED, split_k_slices=2),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Recording:
    """The CTAs to record, and the room for it: bytes in all, records or rows of each warp."""

    blocks: Sequence[int]
    bytes: int
    capacity: int


@dataclass(frozen=True, slots=True)
class HostRun:
    """
    What a run left: the output [rows, columns], the partial sums, the semaphores, the records' bytes and their counts
    [slots, warps].
    """

    output: npt.NDArray[Any]
    partial: Values
    semaphores: npt.NDArray[np.int32]
    records: bytes
    counts: npt.NDArray[np.int32]


def run(asked: GemmScenario, build: Build, folder: Path, recording: Recording, defines: Sequence[str] = ()) -> HostRun:
    return launch(asked, specialise(asked, build), folder, recording, fresh_workspace(asked), defines)


def launch(  # noqa: PLR0917 (one for each thing that a launch is given)
    asked: GemmScenario,
    kernel: Specialisation,
    folder: Path,
    recording: Recording,
    partial: Values,
    defines: Sequence[str] = (),
) -> HostRun:
    blocks = recording.blocks
    program = folder / kernel.entry
    compile_for_host(HOST_KERNEL, [*kernel.options, *defines, f"-I{kernel.include}"], program)
    tensors = make_tensors(asked, seed=1)
    output = fresh_output(asked)
    source = tensors.source if tensors.source is not None else output[:0]
    bias = tensors.bias if tensors.bias is not None else output[:0]
    warps = kernel.block_threads // 32
    header = [
        *(part.nbytes for part in (tensors.a, tensors.b, source, output)),
        *kernel.grid,
        kernel.block_threads,
        kernel.shared_bytes,
        kernel.k_iterations,
        kernel.semaphores,
        recording.bytes,
        len(blocks) * warps,
        recording.capacity,
        len(blocks),
        bias.nbytes,
        partial.nbytes,
    ]
    recorded = np.full(RECORDED_BLOCKS, -1, np.int32)
    recorded[: len(blocks)] = blocks
    scales = np.array([asked.problem.alpha, asked.problem.beta], np.float32)
    extents = np.array(kernel.extents, np.int32)
    parts = [np.array(header, np.int64), recorded, scales, extents, tensors.a, tensors.b, source, output, bias, partial]
    given, left = folder / "input", folder / "output"
    given.write_bytes(b"".join(part.tobytes() for part in parts))
    subprocess.run([program, given, left], check=True, timeout=120)
    data = left.read_bytes()
    sizes = np.cumsum([output.nbytes, partial.nbytes, 4 * kernel.semaphores, recording.bytes])
    assert len(data) == sizes[-1] + 4 * len(blocks) * warps
    return HostRun(
        output=asked.problem.output_view.of(
            decode(np.frombuffer(data[: sizes[0]], output.dtype), asked.problem.dtype.output)
        ),
        partial=np.frombuffer(data[sizes[0] : sizes[1]], partial.dtype),
        semaphores=np.frombuffer(data[sizes[1] : sizes[2]], np.int32),
        records=data[sizes[2] : sizes[3]],
        counts=np.frombuffer(data[sizes[3] :], np.int32).reshape(len(blocks), warps),
    )


def reduce(asked: GemmScenario, folder: Path, partial: Values) -> npt.NDArray[Any]:
    """Run the second kernel on what the first has stored, and compare its trace; its output."""
    kernel, schedule = specialise_reduction(asked, "trace"), ReductionKernel(asked)
    blocks = schedule.traced_blocks
    capacity = longest_stream(schedule, blocks)
    words = trace_format.buffer_words(len(blocks), kernel.block_threads // 32, capacity)
    done = launch(asked, kernel, folder, Recording(blocks, 8 * words, capacity), partial, ["-DGPUSIM_HOST_REDUCTION"])
    found = trace_format.decode(np.frombuffer(done.records, np.int64), done.counts)
    expected = expected_records(schedule, blocks)
    assert first_difference(expected, found, blocks, schedule.op_kinds) is None
    assert (found == expected).all()
    return done.output


@pytest.mark.parametrize(
    "name", one_in(8, (name for name, asked in SCENARIOS.items() if specialise_any_extents(asked)))
)
def test_with_run_time_extents_it_is_the_same_kernel(name, tmp_path):
    asked = SCENARIOS[name]
    schedule = TileKernel(asked)
    blocks = schedule.traced_blocks
    capacity = longest_stream(schedule, blocks)
    words = trace_format.buffer_words(len(blocks), asked.kernel.threads // 32, capacity)
    kernel = specialise_any_extents(asked, "trace")

    done = launch(asked, kernel, tmp_path, Recording(blocks, 8 * words, capacity), fresh_workspace(asked))

    found = trace_format.decode(np.frombuffer(done.records, np.int64), done.counts)
    assert (found == expected_records(schedule, blocks)).all()
    assert agreement(done.output, reference(asked, make_tensors(asked, seed=1))).wrong_elements == 0
    assert not done.semaphores.any()


@pytest.mark.parametrize("asked", TWO_STAGES.values(), ids=TWO_STAGES.keys())
def test_a_mainloop_of_two_stages_follows_its_schedule(asked, tmp_path):
    test_the_kernel_follows_the_schedule_and_computes_the_right_answer(asked, tmp_path)


@pytest.mark.parametrize("asked", one_in(10, SCENARIOS.values()), ids=SCENARIOS.keys())
def test_the_kernel_follows_the_schedule_and_computes_the_right_answer(asked, tmp_path):
    schedule = TileKernel(asked)
    blocks = schedule.traced_blocks
    capacity = longest_stream(schedule, blocks)
    words = trace_format.buffer_words(len(blocks), asked.kernel.threads // 32, capacity)

    done = run(asked, "trace", tmp_path, Recording(blocks, 8 * words, capacity))

    found = trace_format.decode(np.frombuffer(done.records, np.int64), done.counts)
    expected = expected_records(schedule, blocks)
    assert first_difference(expected, found, blocks, schedule.op_kinds) is None
    assert (found["global"] == expected["global"]).all(), "offsets of invalid accesses"
    assert (found == expected).all()
    output = reduce(asked, tmp_path, done.partial) if asked.problem.reduces else done.output
    compared = agreement(output, reference(asked, make_tensors(asked, seed=1)))
    assert compared.wrong_elements == 0
    assert not done.semaphores.any()


@pytest.mark.parametrize(
    "name",
    one_in(
        3,
        [
            "gemm ragged m, n, k",
            "conv 3x3, ragged channels",
            "pipelined gemm ragged m, n, k",
            "pipelined conv 3x3, ragged channels",
        ],
    ),
)
def test_the_timeline_build_stamps_every_k_tile_in_order(name, tmp_path):
    asked = SCENARIOS[name]
    kernel, blocks = asked.kernel, TileKernel(asked).traced_blocks[:2]
    warps = prod(kernel.warps)
    k_tiles = specialise(asked).k_iterations
    capacity = timeline_format.least_capacity(k_tiles, kernel.stages)
    words = timeline_format.buffer_words(len(blocks), warps, kernel.k_groups, capacity)

    done = run(asked, "timeline", tmp_path, Recording(blocks, 4 * words, capacity))

    timelines = timeline_format.decode(np.frombuffer(done.records, np.uint32), len(blocks), warps, kernel.k_groups)
    owners = [(line.block, line.warp) for line in timelines]
    assert owners == [(block, warp) for block in blocks for warp in range(warps)]
    for line in timelines:
        tile = slice(k_tiles)
        assert line.k_tiles == k_tiles
        assert 0 <= line.begin < line.prologue_end < line.tail_end < line.end
        assert (line.copy_issue[tile] < line.wait_begin[tile]).all()
        assert (line.wait_begin[tile] < line.wait_end[tile]).all()
        assert (line.wait_end[tile] < line.mma_begin[tile, 0]).all()
        assert (line.ldmatrix[tile] < line.mma_begin[tile]).all()
        assert (line.mma_begin[tile] < line.mma_end[tile]).all()
        assert (np.diff(line.mma_begin[tile].reshape(-1)) > 0).all()
        assert (line.mma_begin[k_tiles:] == timeline_format.NOT_STAMPED).all()
        assert (line.copy_issue[: k_tiles + kernel.stages - 1] >= 0).all()


NOT_RECORDED = Recording((), 0, 0)


@pytest.mark.parametrize("k", one_in(3, [24, 96, 232]), ids=["one k tile", "an odd number", "an even number"])
def test_a_second_problem_through_the_same_pipelined_mainloop_is_right_after_winding_down(k, tmp_path):
    asked = gemm(96, 72, k, PIPELINED)

    def wrong_elements(defines: Sequence[str]) -> int:
        done = run(asked, "plain", tmp_path, NOT_RECORDED, defines)
        return agreement(done.output, reference(asked, make_tensors(asked, seed=1))).wrong_elements

    assert wrong_elements(["-DHOST_WIND_DOWN=1"]) == 0
    assert wrong_elements(["-DHOST_WIND_DOWN=0"]) > 0


def test_a_trace_finds_a_schedule_of_another_order(tmp_path):
    asked = SCENARIOS["gemm fewer k tiles than stages"]
    capacity = longest_stream(TileKernel(asked), [0])
    words = trace_format.buffer_words(1, asked.kernel.threads // 32, capacity)
    done = run(asked, "trace", tmp_path, Recording([0], 8 * words, capacity))
    found = trace_format.decode(np.frombuffer(done.records, np.int64), done.counts)
    other = TileKernel(asked.model_copy(update={"kernel": replace_stages(asked, 4)}))

    difference = first_difference(expected_records(other, [0]), found, [0], other.op_kinds)

    assert difference is not None
    assert difference.startswith("CTA 0, warp 0, record ")


def replace_stages(asked: GemmScenario, stages: int) -> Any:
    return asked.kernel.model_copy(update={"stages": stages})
