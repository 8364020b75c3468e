"""The CUDA kernels of sm_90 GEMMs as an H200 executed them: right, as gpusim says, and with the counts it says."""

import json
from math import exp, log
from pathlib import Path

import pytest

from gpusim.families.hopper.counts import grid_counts
from gpusim.lab.hopper_device.cases import HOPPER_CASES
from gpusim.lab.hopper_time import profiled

FOLDER = Path(__file__).parents[2] / "reports" / "measured" / "h200" / "hopper"
CASES = {case.name: case for case in HOPPER_CASES}
RUNS = json.loads((FOLDER / "device.json").read_text(encoding="utf-8"))["rows"]
METRICS = {
    "wgmma": "sm__sass_inst_executed_op_shared_gmma.sum",
    "wgmma_wavefronts": "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_gmma.sum",
    "tma_loads": "smsp__inst_executed_op_tma_ld.sum",
    "tma_stores": "smsp__inst_executed_op_tma_st.sum",
    "load_sectors": "l1tex__m_xbar2l1tex_read_sectors_mem_global_op_tma_ld.sum",
    "store_sectors": "l1tex__m_l1tex2xbar_write_sectors_mem_global_op_tma_st.sum",
}


PROFILED = profiled(FOLDER / "ncu.csv")


def test_every_case_was_run():
    assert [run["name"] for run in RUNS] == list(CASES)
    assert len(PROFILED) == sum(len(case.timed) for case in HOPPER_CASES) == 39


@pytest.mark.parametrize("run", RUNS, ids=lambda run: run["name"])
def test_its_results_are_right_and_its_events_those_of_the_roles(run):
    trace = run["trace"]

    assert (trace["different_threads"], trace["stuck"]) == (0, 0)
    assert trace["threads"] > 0
    assert trace["rows"] > 0
    assert run["numerics"]["wrong_elements"] == run["traced_numerics"]["wrong_elements"] == 0
    assert all(one["numerics"]["wrong_elements"] == 0 for one in run.get("timed", ()))


@pytest.mark.parametrize(
    ("launch", "counters"), PROFILED, ids=[f"{one['name']}-{one['extents']}" for one, _ in PROFILED]
)
def test_its_counts_are_those_of_ncu(launch, counters):
    found = grid_counts(CASES[launch["name"]].scenario(tuple(launch["extents"])), 132)

    assert {name: getattr(found, name) for name in METRICS} == {name: counters[METRICS[name]] for name in METRICS}


def test_the_best_kernel_of_a_problem_is_about_as_fast_as_cublas():
    """Nine problems of f16: 1.12 of its speed in the geometric mean, none under .89."""
    best, library = {}, {}
    for run in RUNS:
        for one in run.get("timed", ()):
            if one["cublas_us"] and run["name"].startswith("f16"):
                key = tuple(one["extents"])
                best[key] = min(best.get(key, 1e9), one["loop"]["median"])
                library[key] = min(library.get(key, 1e9), one["cublas_us"])
    ratios = [library[key] / best[key] for key in best]

    assert len(ratios) == 9
    assert min(ratios) > 0.89
    assert exp(sum(map(log, ratios)) / len(ratios)) > 1.1
