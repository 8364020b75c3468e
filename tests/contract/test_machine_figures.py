"""A figure of a machine file is obeyed: another value changes an answer, or the file that has it is refused."""

import json
import tomllib
from importlib import resources
from pathlib import Path

import pytest
from own.traced import traced

from gpusim.errors import GpusimError
from gpusim.families.registry import family_of
from gpusim.machine import load_machine, machine_names
from gpusim.machine.keys import NOT_SIMULATED
from gpusim.schedule.counts import count
from gpusim.verbs.load import load
from gpusim.verbs.simulate import simulate

H200 = tomllib.loads(resources.files("gpusim.machine").joinpath("h200.toml").read_text())
OBEYED = tomllib.loads((Path(__file__).parent / "data" / "obeyed.toml").read_text())

REFUSED = {
    "sms": "launch.units has groups of as many",
    "launch.units.ahead": "the groups must have all SMs together",
    "features.cp_async": "async_copy is there",
    "features.ldmatrix": "the only value",
    "l1.line_bytes": "the only value",
    "l1.sector_bytes": "the only value",
    "l2.line_bytes": "the only value",
}
"""Figures of which every other value is refused, where the rest of the file stays as it is."""

ELSEWHERE = {
    "pipes.fmaheavy.latency": "chains of IMAD in the published tables (python -m gpusim.lab.tables.published_tables)",
    "pipes.uniform.latency": "S2UR of compiled streams (tests/unit/sim/test_decode.py)",
    "async_copy.commit_latency": "commits in a row (tests/unit/sim/test_decode.py)",
    "async_copy.wait_latency": "waits in a row (tests/unit/sim/test_decode.py)",
    "dram.turns.lost": "reads amid streams of stores (tests/unit/sim/core/test_dram.py)",
    "dram.turns.meanwhile": "stores amid streams of reads (tests/unit/sim/core/test_dram.py)",
    "dram.write_queue": "outputs larger than the L2 where DRAM has no turns (tests/contract/test_use.py)",
    "launch.gpc_clocks.far_apart": "launches that are busy for long (tests/unit/machine/test_load.py)",
    "barrier.fences.gpu": "fences for the GPU (tests/unit/own/test_machine_code.py, tests/unit/sim/core/test_smsp.py)",
    "barrier.fences.system": "fences for the system (tests/unit/own/test_machine_code.py)",
    "limits.barriers": "CTAs of many barriers (tests/unit/machine/test_occupancy.py)",
    "l2.parts.read_bytes": "reads of all SMs at once (tests/unit/sim/core/test_l2.py)",
    "l2.parts.store_bytes": "stores of all SMs at once (tests/unit/sim/core/test_stores.py)",
    "l2.atomics.float_percent": "many floats added to one word (tests/unit/sim/core/test_stores.py)",
    "wgmma.clock.long_busy": "long launches (tests/unit/machine/spec/test_wgmma.py)",
    "wgmma.clock.l2": "long launches (tests/unit/machine/spec/test_wgmma.py)",
    "wgmma.clock.dram": "long launches (tests/unit/machine/spec/test_wgmma.py)",
    "wgmma.clock.short": "launches between short and long (tests/unit/machine/spec/test_wgmma.py)",
    "wgmma.clock.long": "launches between short and long (tests/unit/machine/spec/test_wgmma.py)",
    "pipes.fp64.latency": "an addition in f64 (tests/unit/own/test_machine_code.py)",
}
"""Figures that no small problem shows, with what does."""


def gemm(m, n, k, tile=(64, 64, 32), warp=(32, 32, 32), **others):
    """A GEMM; a key of the kernel's table goes there, others to the problem's."""
    types = {"ab": "f16", "accumulator": "f32", "output": "f32"} | others.pop("dtype", {})
    kernel = {
        "mainloop": "multistage",
        "threadblock": [*tile],
        "warp": [*warp],
        "instruction": [16, 8, 16],
        "stages": 3,
    }
    kernel |= {key: others.pop(key) for key in ("mainloop", "instruction", "stages", "shared") if key in others}
    problem = {"kind": "gemm", "m": m, "n": n, "k": k, "layout_a": "row", "layout_b": "column", "dtype": types}
    return {"problem": problem | others, "kernel": kernel}


def attention(mainloop, **kernel):
    problem = {"kind": "attention", "batch": 1, "heads": 2, "queries": 128, "keys": 128, "head_dim": 64}
    problem |= {"head_dim_v": 64, "mask": "causal_top_left"}
    return {"problem": problem, "kernel": {"mainloop": mainloop} | kernel}


CONV = {
    "problem": {
        "kind": "conv2d_fprop",
        "n": 2,
        "h": 28,
        "w": 28,
        "c": 64,
        "k": 64,
        "r": 3,
        "s": 3,
        "padding": [1, 1],
        "dtype": {"ab": "f16", "accumulator": "f32", "output": "f16"},
    },
    "kernel": {
        "mainloop": "multistage",
        "iterator": "optimized",
        "threadblock": [64, 64, 32],
        "warp": [32, 32, 32],
        "instruction": [16, 8, 16],
        "stages": 4,
    },
}

PROBLEMS = {
    "gemm": gemm(256, 256, 192),
    "split": gemm(128, 128, 256, split_k_slices=2, beta=1.0),
    "attn": attention("attention"),
    "flash": attention("flash"),
    "cutlass": attention("attention", code="cutlass"),
    "pipe": gemm(
        *(256, 256, 256),
        mainloop="pipelined",
        stages=2,
        layout_b="row",
        beta=1.0,
        instruction=[16, 8, 8],
        dtype={"accumulator": "f16", "output": "f16"},
    ),
    "wave": gemm(1024, 1024, 256, stages=4, layout_b="row"),
    "row": gemm(256, 256, 192, (64, 64, 64), (32, 32, 64), shared={"a": "row_major", "b": "row_major"}),
    "five_stages": gemm(256, 256, 192, stages=5),
    "conv": CONV,
    "stores": gemm(2048, 1024, 32, (128, 128, 32), (64, 64, 32)),
    "rounds": gemm(4096, 2048, 32),
    "tf32": gemm(128, 128, 64, instruction=[16, 8, 8], dtype={"ab": "tf32"}),
    "bf16": gemm(128, 128, 64, dtype={"ab": "bf16"}),
    "f16": gemm(128, 128, 64, dtype={"accumulator": "f16", "output": "f16"}),
    "k8": gemm(128, 128, 64, instruction=[16, 8, 8]),
    "gemm_ragged": "gemm_ragged",
    "hopper": {
        "problem": {"kind": "hopper_gemm", "m": 512, "n": 512, "k": 512, "beta": 1.0},
        "kernel": {"cluster": [2, 1], "stages": 2},
    },
}
"""Small problems; one that is a name is shipped, with its compiled stream."""

OWN = (
    "saxpy",
    "scatter",
    "atomic_max_float",
    "histogram_global",
    "atomic_kinds",
    "constant_table",
    "dgemm",
    "named_barriers",
)
"""Own kernels, whose small launches are problems, too."""

SMALL_L2 = {"stores": {"l2.bytes": 1 << 20}}
"""What is changed besides for a problem: DRAM turns for writes only when the L2 is full."""


def written(value):
    """A value as TOML has it."""
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{json.dumps(key)} = {written(one)}" for key, one in value.items()) + " }"
    return json.dumps(value, ensure_ascii=False)


def machine_file(folder, values):
    """The H200's file with other values of some figures."""
    data = json.loads(json.dumps(H200))
    for key, value in values.items():
        tensor = key.removeprefix("tensor.").removesuffix(".beyond.percent").removesuffix(".interval")
        tensor = tensor.removesuffix(".latency")
        record = data["tensor"][tensor] if key.startswith("tensor.") else data
        for table in key.removeprefix(f"tensor.{tensor}.").split("."):
            record = record[table]
        record["value"] = value
    path = folder / "machine.toml"
    path.write_text("".join(f"{json.dumps(key)} = {written(table)}\n" for key, table in data.items()))
    return str(path)


def answer(machine, problem):
    """What a simulation says, or why there is none."""
    if problem in OWN:
        time = traced(problem, machine=machine).time()
        return {"cycles": time.cycles, "read": time.dram_read, "written": time.dram_written}
    asked = PROBLEMS[problem]
    try:
        if isinstance(asked, str):
            scenario, stream = load(asked, [f"machine={machine}"]), "compiled"
        else:
            scenario, stream = load({**asked, "machine": machine}), "estimated"
        result = simulate(scenario, stream=stream)[0].to_dict()
    except GpusimError as error:
        return str(error)
    return {
        key: value for key, value in result.items() if key not in ("machine", "scenario", "provenance", "simulated")
    }


def test_every_figure_of_every_machine_is_shown_to_be_obeyed_or_refused():
    """Those of an mma.sync are three alike; the table has the interval of each that a kernel executes."""
    figures = {record.key for name in machine_names() for record in load_machine(name).figures}
    known = set(OBEYED) | set(REFUSED) | set(ELSEWHERE)

    assert {key for key in figures - known if not key.startswith(("tensor.", "dram.latency"))} == set()
    assert not known - figures
    assert not set(NOT_SIMULATED) & figures


@pytest.mark.parametrize("key", sorted(REFUSED))
def test_a_figure_of_which_one_value_is_simulated_is_refused_with_another(key, tmp_path):
    value = next(record.value for record in load_machine("h200").figures if record.key == key)

    for other in (not value,) if isinstance(value, bool) else (value // 2, value * 2):
        with pytest.raises(GpusimError, match="SMs" if key == "sms" else key.partition(".")[0]):
            load_machine(machine_file(tmp_path, {key: other}))


QUICK = ("shared.banks", "shared.bank_bytes", "smsps", "instruction_cache.line_bytes", "pipes.fma.latency")


@pytest.mark.parametrize(
    "key", [key if key in QUICK else pytest.param(key, marks=pytest.mark.slow) for key in sorted(OBEYED)]
)
def test_another_value_of_a_figure_changes_an_answer(key, tmp_path):
    problem, value = OBEYED[key]["problem"], OBEYED[key]["value"]
    besides = SMALL_L2.get(problem, {})

    plain = answer(machine_file(tmp_path, besides), problem)
    other = machine_file(tmp_path, besides | {key: value})

    assert isinstance(plain, dict)
    load_machine(other)  # the file itself is not refused
    assert answer(other, problem) != plain


def conflicts(machine, name="conv_s6_row_major"):
    scenario = load(name, [f"machine={machine}"])
    kernel = family_of(scenario).schedules.kernels(scenario)[0]
    return {(row.op, row.operand): row for row in count(kernel).bank_conflicts}


@pytest.mark.parametrize(("banks", "ways", "wavefronts"), [(32, 8, 1_196_032), (64, 4, 598_016), (16, 8, 1_196_032)])
def test_the_count_of_banks_decides_the_conflicts(banks, ways, wavefronts, tmp_path):
    """
    Rows of 64 f16 in three stages lie 384 bytes apart: all 8 rows of a matrix begin at one of 32 banks, and so take 8
    wavefronts; at two places of 64 banks, by turns, and so 4. 37,376 ldmatrix of 4 matrices: 1,196,032 and 598,016.

    Of 16 banks, rows of 16 bytes take 2 wavefronts of 4 rows at best, and here 8.
    """
    ldmatrix = conflicts(machine_file(tmp_path, {"shared.banks": banks}))

    for operand in ("a", "b"):
        row = ldmatrix["ldmatrix", operand]
        assert (row.requests, row.wavefronts) == (37_376, wavefronts)
        assert row.wavefronts // (4 * row.requests) == ways


def test_what_a_run_counts_is_what_its_time_is_of(tmp_path):
    """An access takes as many wavefronts of the data stage as are counted: 598,016 for A and for B."""
    machine = machine_file(tmp_path, {"shared.banks": 64})
    result, _ = simulate(load("conv_s6_row_major", [f"machine={machine}"]))

    counted = result.counters["sm__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_ldsm.sum"]
    assert counted == 2 * 598_016
    assert {row.operand: row.wavefronts for row in result.bank_conflicts if row.op == "ldmatrix"} == {
        "a": 598_016,
        "b": 598_016,
    }
