"""
The attention kernels' own source, run on the CPU thread by thread: the schedules they follow, what they compute.

Only the PTX instructions are replaced (host_kernel/host_ptx.hpp and host_softmax_ptx.hpp).
"""

import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from gpusim.hardware import trace_format
from gpusim.hardware.attention_problem import Inputs, make_inputs, reference, wrong_elements
from gpusim.hardware.attention_run import attention_kernel
from gpusim.hardware.attention_trace import expected_attention_records, traced_attention_ctas
from gpusim.hardware.specialise import RECORDED_BLOCKS
from gpusim.hardware.specialise_attention import AttentionKernel, default_kernel, specialise_attention
from gpusim.hardware.trace import first_difference
from gpusim.scenario_attention import AttentionScenario

HOST_KERNEL = Path(__file__).parent / "host_kernel" / "attention_on_host.cpp"

pytestmark = pytest.mark.skipif(shutil.which("g++") is None, reason="needs a C++17 compiler, g++")


def attention(mainloop: str, **keys: Any) -> AttentionKernel:
    problem: dict[str, Any] = {"batch": 1, "heads": 2, "queries": 100, "keys": 170, "head_dim": 64, "head_dim_v": 64}
    problem |= keys
    tile = default_kernel(mainloop, problem["head_dim"], problem["head_dim_v"])
    return AttentionKernel(**(tile | problem), mainloop=mainloop)


def both(**keys: Any) -> list[AttentionKernel]:
    return [attention("attention", **keys), attention("flash", **keys)]


RAGGED = {"batch": 3, "heads": 1, "query_lengths": (100, 37, 64), "key_lengths": (5, 170, 0)}
TOP_LEFT, BOTTOM_RIGHT = {"mask": "causal_top_left"}, {"mask": "causal_bottom_right"}
PROBLEMS = {
    "whole": {"queries": 128, "keys": 128},
    "no whole block": {},
    "causal from the top left": TOP_LEFT,
    "causal from the bottom right": BOTTOM_RIGHT,
    "rows that see no key": {"queries": 200, "keys": 90, **BOTTOM_RIGHT},
    "ragged": RAGGED,
    "ragged, causal from the bottom right": {**RAGGED, **BOTTOM_RIGHT},
    "bf16": {"ab": "bf16", **TOP_LEFT},
    "head dims of 32": {"head_dim": 32, "head_dim_v": 32},
    "head dims of 40 and 24": {"head_dim": 40, "head_dim_v": 24, **TOP_LEFT},
    "head dims of 128": {"head_dim": 128, "head_dim_v": 128, "heads": 1},
    "head dims of 96 and 72": {"head_dim": 96, "head_dim_v": 72, "heads": 1},
    "head_dim_v of 160": {"head_dim_v": 160, "heads": 1, **BOTTOM_RIGHT},
    "head_dim_v of 256, bf16": {"head_dim": 128, "head_dim_v": 256, "heads": 1, "keys": 300, "ab": "bf16"},
    "one key": {"keys": 1},
    "great scores": {"scale": 40.0},
    "output of f32": {"output_type": "f32", **TOP_LEFT},
}


@dataclass(frozen=True, slots=True)
class HostRun:
    """What a launch left: output, log-sum-exp, the records' bytes and their counts [slots, warps]."""

    output: npt.NDArray[Any]
    log_sum_exp: npt.NDArray[np.float32]
    records: bytes
    counts: npt.NDArray[np.int32]


def launch(
    asked: AttentionKernel, folder: Path, inputs: Inputs, blocks: Sequence[int] = (), capacity: int = 0
) -> HostRun:
    """One launch; of the trace build where there are blocks to record, with room for so many records of a warp."""
    kernel = specialise_attention(asked, "trace" if blocks else "plain")
    program = folder / kernel.entry
    command = ["g++", "-O1", "-w", *kernel.options, f"-I{kernel.include}", str(HOST_KERNEL), "-o", str(program)]
    subprocess.run(command, check=True)
    output, lse = inputs.fresh_output(), inputs.fresh_log_sum_exp()
    buffer = np.full(output.size, np.nan, np.float32)
    tensors = [inputs.q, inputs.k, inputs.v, output, buffer, lse]
    record_bytes = 8 * trace_format.buffer_words(len(blocks), asked.warps, capacity)
    header = [*(part.nbytes for part in tensors), *kernel.grid, kernel.block_threads, kernel.shared_bytes]
    header += [record_bytes, len(blocks) * asked.warps, capacity, len(blocks)]
    recorded = np.full(RECORDED_BLOCKS, -1, np.int32)
    recorded[: len(blocks)] = blocks
    parts = [np.array(header, np.int64), recorded, np.array([inputs.scale_log2], np.float32)]
    parts += [inputs.query_lengths, inputs.key_lengths, *tensors]
    given, left = folder / "input", folder / "output"
    given.write_bytes(b"".join(part.tobytes() for part in parts))
    subprocess.run([program, given, left], check=True, timeout=120)
    data = left.read_bytes()
    sizes = np.cumsum([output.nbytes, lse.nbytes, record_bytes])
    return HostRun(
        output=np.frombuffer(data[: sizes[0]], output.dtype).reshape(output.shape),
        log_sum_exp=np.frombuffer(data[sizes[0] : sizes[1]], np.float32).reshape(lse.shape),
        records=data[sizes[1] : sizes[2]],
        counts=np.frombuffer(data[sizes[2] :], np.int32).reshape(len(blocks), asked.warps),
    )


def wrong(asked: AttentionKernel, inputs: Inputs, done: HostRun) -> int:
    return wrong_elements(asked, inputs, (done.output, done.log_sum_exp), reference(asked, inputs))


def cases(**variants: dict[str, Any]) -> list[Any]:
    return [
        pytest.param(kernel, id=f"{kernel.mainloop} {name}")
        for name, problem in variants.items()
        for kernel in both(**problem)
    ]


@pytest.mark.parametrize("asked", cases(**PROBLEMS))
def test_the_kernel_computes_softmax_attention(asked, tmp_path):
    inputs = make_inputs(asked, seed=1)

    done = launch(asked, tmp_path, inputs)

    assert wrong(asked, inputs, done) == 0


VARIANTS = {
    "flash, columns past the head skipped": attention("flash", head_dim_v=40, skip_columns=True),
    "flash, Q in registers": attention("flash", queries_in_registers=True, **TOP_LEFT),
    "flash, 128 keys": attention("flash", keys_per_block=128, **TOP_LEFT),
    "flash, warps of 16 queries": attention("flash", warp_queries=16, **BOTTOM_RIGHT),
    "attention, V after the softmax": attention("attention", preload_v=False, **TOP_LEFT),
    "attention, 32 x 128 for small heads": attention("attention", queries_per_block=32, keys_per_block=128, keys=400),
    "attention, small output in the buffer": attention(
        "attention", queries_per_block=32, keys_per_block=128, keys=300, keep_output_in_registers=False
    ),
}


@pytest.mark.parametrize("asked", VARIANTS.values(), ids=VARIANTS.keys())
def test_other_tiles_compute_the_same(asked, tmp_path):
    inputs = make_inputs(asked, seed=2)

    done = launch(asked, tmp_path, inputs)

    assert wrong(asked, inputs, done) == 0


def scenario(mainloop: str, kernel: dict[str, Any] | None = None, **keys: Any) -> AttentionScenario:
    problem: dict[str, Any] = {"batch": 1, "heads": 2, "queries": 100, "keys": 170, "head_dim": 64, "head_dim_v": 64}
    asked = {"mainloop": mainloop, "instruction": [16, 8, 16], **(kernel or {})}
    data = {"machine": "h200", "problem": {"kind": "attention", **problem, **keys}, "kernel": asked}
    return AttentionScenario.model_validate(data)


F16_OUT = {"dtype": {"output": "f16"}}
TRACED = {
    f"{mainloop} {name}": scenario(mainloop, **keys)
    for mainloop in ("attention", "flash")
    for name, keys in {
        "whole": {"queries": 128, "keys": 128},
        "no whole block, f16": F16_OUT,
        "causal from the top left": TOP_LEFT,
        "causal from the bottom right": {**BOTTOM_RIGHT, **F16_OUT},
        "rows that see no key": {"queries": 200, "keys": 90, **BOTTOM_RIGHT},
        "ragged": {**RAGGED, **F16_OUT},
        "bf16, head dims of 32": {"head_dim": 32, "head_dim_v": 32, "dtype": {"ab": "bf16", "output": "bf16"}},
        "head dims of 40 and 24": {"head_dim": 40, "head_dim_v": 24, **TOP_LEFT},
        "head dims of 128": {"head_dim": 128, "head_dim_v": 128, "heads": 1, **F16_OUT},
        "head dims of 96 and 72": {"head_dim": 96, "head_dim_v": 72, "heads": 1},
        "head_dim_v of 160": {"head_dim_v": 160, "heads": 1, "keys": 300, **F16_OUT},
        "head_dim_v of 256": {"head_dim_v": 256, "heads": 1, "keys": 150, **BOTTOM_RIGHT},
    }.items()
} | {
    "attention V after the softmax": scenario("attention", {"preload_v": False}, **TOP_LEFT),
    "attention 32 x 128, f32 buffer": scenario(
        "attention", {"queries_per_block": 32, "keys_per_block": 128, "keep_output_in_registers": False}, keys=300
    ),
}


@pytest.mark.parametrize("asked", TRACED.values(), ids=TRACED.keys())
def test_the_kernel_follows_the_schedule(asked, tmp_path):
    kernel, blocks = attention_kernel(asked), traced_attention_ctas(asked)
    expected = expected_attention_records(asked, blocks)
    inputs = make_inputs(kernel, seed=1)

    done = launch(kernel, tmp_path, inputs, blocks, int(expected["position"].max()) + 17)

    found = trace_format.decode(np.frombuffer(done.records, np.int64), done.counts)
    assert first_difference(expected, found, blocks) is None
    assert (found == expected).all(), "offsets of invalid accesses"
    assert wrong(kernel, inputs, done) == 0


def test_a_trace_finds_a_schedule_of_another_order(tmp_path):
    asked, other = TRACED["attention causal from the top left"], TRACED["attention V after the softmax"]
    blocks = traced_attention_ctas(asked)
    expected = expected_attention_records(asked, blocks)

    done = launch(
        attention_kernel(other), tmp_path, make_inputs(attention_kernel(other), seed=1), blocks, len(expected)
    )

    found = trace_format.decode(np.frombuffer(done.records, np.int64), done.counts)
    assert "op: " in (first_difference(expected, found, blocks) or "")
