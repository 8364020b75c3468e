"""``kernel.code = "cutlass"``: its estimated stream beside what nvcc makes of CUTLASS, as an H200 counted it."""

import json
from pathlib import Path

import pytest

from gpusim.errors import BadInput
from gpusim.families.registry import family_of, load_scenario, named_scenario, parse_scenario
from gpusim.lab.tables.speed_table import scenario_of
from gpusim.machine.load import load_machine
from gpusim.machine.occupancy import ctas_per_sm
from gpusim.scenario.catalogue import find_scenario
from gpusim.verbs.simulate import simulate

ROWS = json.loads((Path(__file__).parents[4] / "golden" / "data" / "cutlass_h200.json").read_text())["rows"]
H200 = load_machine("h200")
NAME = "cutlass_tensorop_f16_s16816gemm_f16_128x128_32x4_tn_align8"
EXTENTS = ("problem.m=256", "problem.n=128", "problem.k=96")

PER_K_TILE = {
    "c_an_128x128x64_s3": 695,
    "c_op_128x128x64_s3": 338,
    "c_op_64x64x64_s4": 171,
    "g_f16_128x128x32_s2": 175,
    "g_f16_128x128x32_s3": 164,
    "g_f16_128x128x64_s3": 300,
    "g_f16_128x256x32_s3": 152,
    "g_f16_64x64x64_s5": 131,
    "g_f16nn_128x128x32_s4": 157,
    "g_s8_128x128x64_s3": 164,
}
"""Instructions of a warp in one k tile: the mainloop of what nvcc 13.0 makes of CUTLASS (tests/golden aligns it)."""


def of_cutlass(row):
    scenario = scenario_of(row)
    return scenario.model_copy(update={"kernel": scenario.kernel.model_copy(update={"code": "cutlass"})})


def kernel_of(row):
    scenario = of_cutlass(row)
    (kernel,) = family_of(scenario).timing.timed_kernels(scenario, H200)
    return kernel


def stream_of(row):
    return kernel_of(row).stream(0, "estimated")


FIRST = {row["name"]: row for row in reversed(ROWS)}


@pytest.mark.parametrize("name", PER_K_TILE)
def test_instructions_of_a_k_tile_are_within_a_tenth(name):
    (loop,) = (segment for segment in stream_of(FIRST[name]).segments if segment.name == "mainloop")

    assert len(loop.instructions) == pytest.approx(PER_K_TILE[name], rel=0.1)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["name"])
def test_executed_instructions_are_within_a_tenth(row):
    kernel = kernel_of(row)
    executed = kernel.stream(0, "estimated").warp_instructions(kernel.lanes()) * len(kernel.launched)
    counted = row["counters"]["smsp__inst_executed.sum"]

    assert executed == pytest.approx(counted, rel=0.1)


@pytest.mark.parametrize("row", FIRST.values(), ids=FIRST)
def test_registers_are_within_ten_and_shared_memory_and_occupancy_equal(row):
    scenario, registers = of_cutlass(row), stream_of(row).registers_per_thread
    fitting = ctas_per_sm(H200, row["threads"], registers, scenario.shared_bytes)

    assert registers == pytest.approx(row["registers_per_thread"], abs=10)
    assert (scenario.shared_bytes, fitting.ctas) == (row["shared_bytes"], row["ctas_per_sm"])


def test_a_name_of_cutlass_s_profiler_means_cutlass_s_code():
    assert named_scenario(NAME, EXTENTS).resolved()["kernel"]["code"] == "cutlass"
    assert "code" not in named_scenario(NAME, (*EXTENTS, "kernel.code=gpusim")).resolved()["kernel"]


def test_without_a_name_it_is_gpusim_s_and_a_resolved_scenario_does_not_say_so():
    own = load_scenario(find_scenario("conv_9_k_tiles"))

    assert own.kernel.code == "gpusim"
    assert "code" not in own.resolved()["kernel"]


def test_only_estimates_exist_of_it():
    scenario = named_scenario(NAME, EXTENTS)
    result, _ = simulate(scenario, stream="auto")

    assert result.stream == "estimated"
    with pytest.raises(BadInput) as refused:
        simulate(scenario, stream="compiled")
    assert str(refused.value) == (
        'kernel.code must be "gpusim" where gpusim\'s own kernel is compiled or run, got "cutlass": set it, or give'
        " --cubin"
    )


def test_a_check_on_the_gpu_and_sass_are_refused_in_one_line(gpusim):
    for command in ("check", "sass"):
        extents = [word for extent in EXTENTS for word in ("--set", extent)]
        answer = gpusim(command, "--cutlass", NAME, *extents)

        assert answer.code in (1, 2)
        assert answer.err.count("\n") == 1


def test_data_gradients_are_refused():
    problem = {"kind": "conv2d_dgrad", "n": 1, "h": 8, "w": 8, "c": 64, "k": 64, "r": 3, "s": 3, "padding": [1, 1]}
    scenario = parse_scenario({"machine": "h200", "problem": problem, "kernel": {"code": "cutlass"}}, "test")

    with pytest.raises(BadInput) as refused:
        simulate(scenario)
    assert str(refused.value) == 'kernel.code must be "gpusim" for conv2d_dgrad, got "cutlass"'
