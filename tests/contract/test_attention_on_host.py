"""
The attention kernels' own source, run on the CPU thread by thread: the schedules they follow, what they compute.

Only the PTX instructions are replaced (host_kernel/host_ptx.hpp and host_softmax_ptx.hpp).
"""

import subprocess
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from math import e, log2
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from doubles.host_compiler import compile_for_host
from slow import one_in

from gpusim.cuda import timeline_format, trace_format
from gpusim.cuda.specialise import RECORDED_BLOCKS
from gpusim.cuda.trace import expected_records, first_difference, longest_stream
from gpusim.families.attention.cuda import specialise_attention
from gpusim.families.attention.device import compare
from gpusim.families.attention.problem import AttentionScenario
from gpusim.families.attention.schedule import FusedKernel
from gpusim.families.attention.tensors import make_attention_tensors
from gpusim.families.attention.tile.shape import attention_shape
from gpusim.numerics.elements import Values, unwritten_tensor
from gpusim.records.pipeline import pipeline_rows

HOST_KERNEL = Path(__file__).parent / "host_kernel" / "attention_on_host.cpp"

pytestmark = pytest.mark.compiler("g++")


def scenario(mainloop: str, kernel: dict[str, Any] | None = None, **keys: Any) -> AttentionScenario:
    problem: dict[str, Any] = {"batch": 1, "heads": 2, "queries": 100, "keys": 170, "head_dim": 64, "head_dim_v": 64}
    asked = {"mainloop": mainloop, "instruction": [16, 8, 16], **(kernel or {})}
    data = {"machine": "h200", "problem": {"kind": "attention", **problem, **keys}, "kernel": asked}
    return AttentionScenario.model_validate(data)


RAGGED = {"batch": 3, "heads": 1, "query_lengths": (100, 37, 64), "key_lengths": (5, 170, 0)}
TOP_LEFT, BOTTOM_RIGHT = {"mask": "causal_top_left"}, {"mask": "causal_bottom_right"}
F16, BF16 = {"dtype": {"output": "f16"}}, {"dtype": {"ab": "bf16", "output": "bf16"}}
PROBLEMS = {
    "whole": {"queries": 128, "keys": 128},
    "no whole block, f16": F16,
    "causal from the top left": TOP_LEFT,
    "causal from the bottom right": {**BOTTOM_RIGHT, **F16},
    "rows that see no key": {"queries": 200, "keys": 90, **BOTTOM_RIGHT},
    "ragged": {**RAGGED, **F16},
    "ragged, causal from the bottom right": {**RAGGED, **BOTTOM_RIGHT},
    "bf16, head dims of 32": {"head_dim": 32, "head_dim_v": 32, **BF16},
    "head dims of 40 and 24": {"head_dim": 40, "head_dim_v": 24, **TOP_LEFT},
    "head dims of 128": {"head_dim": 128, "head_dim_v": 128, "heads": 1, **F16},
    "head dims of 96 and 72": {"head_dim": 96, "head_dim_v": 72, "heads": 1},
    "head_dim_v of 160": {"head_dim_v": 160, "heads": 1, "keys": 300, **F16},
    "head_dim_v of 256, bf16": {"head_dim": 128, "head_dim_v": 256, "heads": 1, **BOTTOM_RIGHT, **BF16},
    "one key": {"keys": 1, **F16},
    "great scores": {"scale": 40.0},
}
SCENARIOS = {
    f"{mainloop} {name}": scenario(mainloop, **keys)
    for mainloop in ("attention", "flash")
    for name, keys in PROBLEMS.items()
} | {
    "attention V after the softmax": scenario("attention", {"preload_v": False}, **TOP_LEFT),
    "attention 32 x 128, f32 buffer": scenario(
        "attention", {"queries_per_block": 32, "keys_per_block": 128, "keep_output_in_registers": False}, keys=300
    ),
}


ORDERS = {
    "flash, longest first of two batches": scenario(
        "flash", {"cta_order": "longest_first"}, batch=2, queries=300, **TOP_LEFT
    ),
    "flash, ascending": scenario("flash", {"cta_order": "ascending"}, queries=300, **BOTTOM_RIGHT),
    "attention, longest first, ragged": scenario("attention", {"cta_order": "longest_first"}, **RAGGED, **BOTTOM_RIGHT),
    "attention, descending": scenario("attention", {"cta_order": "descending"}, **TOP_LEFT),
}
"""Orders of CTAs that are not the kernel's own."""


@dataclass(frozen=True, slots=True)
class HostRun:
    """
    What a launch left: the flat output, the log-sum-exp [batch, heads, lse_length], the records' bytes and their counts
    [slots, warps].
    """

    output: Values
    log_sum_exp: npt.NDArray[np.float32]
    records: bytes
    counts: npt.NDArray[np.int32]


def launch(  # noqa: PLR0917 (one for each thing that a launch is given)
    asked: AttentionScenario,
    folder: Path,
    warp_queries: int | None = None,
    changed: dict[str, int] | None = None,
    blocks: Sequence[int] = (),
    capacity: int = 0,
    stamped_words: int = 0,
) -> HostRun:
    """
    One launch on the inputs of seed 1.

    It is of the trace build where there are blocks to record, with room for so many records of a warp, and of the
    timeline build where there are words for its stamps. ``warp_queries`` and macros that are ``changed`` make another
    kernel than the scenario's.
    """
    problem, shape = asked.problem, attention_shape(asked)
    if warp_queries is not None:
        tilings = {name: shape.tiling(name) for name in ("qk", "pv")}
        tiles = {name: replace(own, warp=(warp_queries, *own.warp[1:])) for name, own in tilings.items()}
        shape = replace(shape, **tiles)
    build = "timeline" if stamped_words else "trace" if blocks else "plain"
    kernel = specialise_attention(asked, build, shape, **(changed or {}))
    warps = kernel.block_threads // 32
    program = folder / kernel.entry
    compile_for_host(HOST_KERNEL, [*kernel.options, f"-I{kernel.include}"], program)
    inputs = make_attention_tensors(asked, seed=1)
    output = unwritten_tensor(problem.output_elements, problem.dtype.output)
    lse = np.full((problem.batch, problem.heads, problem.lse_length), np.nan, np.float32)
    tensors = [inputs.q, inputs.k, inputs.v, output, np.full(output.size, np.nan, np.float32), lse]
    record_bytes = 4 * stamped_words or 8 * trace_format.buffer_words(len(blocks), warps, capacity)
    header = [*(part.nbytes for part in tensors), *kernel.grid, kernel.block_threads, kernel.shared_bytes]
    header += [record_bytes, len(blocks) * warps, capacity, len(blocks)]
    recorded = np.full(RECORDED_BLOCKS, -1, np.int32)
    recorded[: len(blocks)] = blocks
    parts = [np.array(header, np.int64), recorded, np.array([problem.score_scale * log2(e)], np.float32)]
    parts += [np.array(lengths, np.int32) for lengths in (problem.lengths_q, problem.lengths_k)]
    given, left = folder / "input", folder / "output"
    given.write_bytes(b"".join(part.tobytes() for part in (*parts, *tensors)))
    subprocess.run([program, given, left], check=True, timeout=120)
    data = left.read_bytes()
    sizes = np.cumsum([output.nbytes, lse.nbytes, record_bytes])
    return HostRun(
        output=np.frombuffer(data[: sizes[0]], output.dtype),
        log_sum_exp=np.frombuffer(data[sizes[0] : sizes[1]], np.float32).reshape(lse.shape),
        records=data[sizes[1] : sizes[2]],
        counts=np.frombuffer(data[sizes[2] :], np.int32).reshape(len(blocks), warps),
    )


def wrong(asked: AttentionScenario, done: HostRun) -> int:
    with np.errstate(invalid="ignore"):  # NaN past a batch's length
        stored = done.output, done.log_sum_exp
        return compare(asked, make_attention_tensors(asked, seed=1), stored, 1).wrong_elements


@pytest.mark.parametrize("asked", one_in(8, SCENARIOS.values()), ids=SCENARIOS.keys())
def test_the_kernel_follows_the_schedule_and_computes_softmax_attention(asked, tmp_path):
    schedule = FusedKernel(asked)
    blocks = schedule.traced_blocks
    expected = expected_records(schedule, blocks)

    done = launch(asked, tmp_path, blocks=blocks, capacity=longest_stream(schedule, blocks))

    found = trace_format.decode(np.frombuffer(done.records, np.int64), done.counts)
    assert first_difference(expected, found, blocks, schedule.op_kinds) is None
    assert (found == expected).all(), "offsets of invalid accesses"
    assert wrong(asked, done) == 0


@pytest.mark.parametrize("asked", one_in(2, ORDERS.values()), ids=ORDERS.keys())
def test_ctas_of_another_order_have_the_blocks_that_the_schedule_says(asked, tmp_path):
    test_the_kernel_follows_the_schedule_and_computes_softmax_attention(asked, tmp_path)


VARIANTS = {
    "flash, columns past the head skipped": (scenario("flash", head_dim_v=40), None, {"COMPUTED_V": 48}),
    "flash, Q in registers": (scenario("flash", **TOP_LEFT), None, {"QUERIES_IN_REGISTERS": 1}),
    "flash, 128 keys": (scenario("flash", {"keys_per_block": 128}, **TOP_LEFT), None, {}),
    "flash, warps of 16 queries": (scenario("flash", **BOTTOM_RIGHT), 16, {}),
    "attention, 5 CTAs": (scenario("attention", **TOP_LEFT), None, {"CTAS_PER_SM": 5}),
}


@pytest.mark.parametrize(
    ("asked", "warp_queries", "changed"), one_in(5, VARIANTS.values(), unpacked=True), ids=VARIANTS.keys()
)
def test_other_tiles_compute_the_same(asked, warp_queries, changed, tmp_path):
    assert wrong(asked, launch(asked, tmp_path, warp_queries, changed)) == 0


@pytest.mark.slow
def test_the_plain_build_computes_what_the_instrumented_one_does(tmp_path):
    asked = SCENARIOS["attention causal from the bottom right"]

    plain, traced = (launch(asked, tmp_path, blocks=blocks) for blocks in ((), (0,)))

    assert (plain.output == traced.output).all()


def test_a_trace_finds_a_schedule_of_another_order(tmp_path):
    asked, other = SCENARIOS["attention causal from the top left"], SCENARIOS["attention V after the softmax"]
    schedule = FusedKernel(asked)
    blocks = schedule.traced_blocks
    expected = expected_records(schedule, blocks)

    done = launch(other, tmp_path, blocks=blocks, capacity=len(expected))

    found = trace_format.decode(np.frombuffer(done.records, np.int64), done.counts)
    assert "op: " in (first_difference(expected, found, blocks, schedule.op_kinds) or "")


@pytest.mark.parametrize(
    "name",
    one_in(
        3, ["attention causal from the top left", "attention head_dim_v of 160", "flash causal from the bottom right"]
    ),
)
def test_the_timeline_build_stamps_every_key_block_in_its_order(name, tmp_path):
    asked = SCENARIOS[name]
    schedule = FusedKernel(asked)
    stamped = schedule.stamped
    blocks = len(schedule.walked_blocks(stamped.block))
    capacity = timeline_format.least_capacity(blocks, stamped.beyond)
    words = timeline_format.buffer_words(1, stamped.warps, stamped.k_groups, capacity)

    done = launch(asked, tmp_path, blocks=(stamped.block,), capacity=capacity, stamped_words=words)

    lines = timeline_format.decode(np.frombuffer(done.records, np.uint32), 1, stamped.warps, stamped.k_groups)
    assert [(line.block, line.warp, line.k_tiles) for line in lines] == [
        (stamped.block, warp, blocks) for warp in range(stamped.warps)
    ]
    for line in lines:
        rows = pipeline_rows(line, stamped)
        assert [row.k_tile for row in rows] == list(range(blocks))
        for row in rows:
            assert 0 <= row.copy_issue < row.wait_begin < row.wait_end < row.mma_begin < row.mma_end
        assert all(one.mma_end < other.wait_begin for one, other in pairwise(rows))
        assert 0 <= line.begin < line.prologue_end < line.tail_end < line.end
        assert rows[-1].mma_end < line.tail_end
    assert blocks > 1
    assert wrong(asked, done) == 0


def test_the_stamped_cta_is_the_first_with_most_key_blocks():
    asked = scenario("attention", queries=300, keys=300, heads=3, **TOP_LEFT)
    schedule = FusedKernel(asked)

    assert schedule.stamped.block == schedule.grid[0] - 1
    assert len(schedule.walked_blocks(schedule.stamped.block)) == max(
        len(schedule.walked_blocks(block)) for block in range(schedule.ctas)
    )
    assert FusedKernel(scenario("flash", queries=300, keys=300, **TOP_LEFT)).stamped.block == 0
