"""How much of a resource a run uses is one figure, whoever says it: run, explain, report, compare, plots and Python."""

import json
from functools import cache, partial

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from slow import one_in

import gpusim
from gpusim.cli import main
from gpusim.machine import load_machine, machine_names
from gpusim.report.captions import Words
from gpusim.report.html.run_data import run_data
from gpusim.report.roofline import memory_levels
from gpusim.results.use import use_of
from gpusim.results.verdict import verdict
from gpusim.scenario.catalogue import scenario_names
from gpusim.verbs.compare import compare
from gpusim.verbs.explain import explain

WORDS = Words("a problem", "its kernel")
TYPES = {"ab": "f16", "accumulator": "f32", "output": "f16"}
TURING = {name for name in machine_names() if load_machine(name).async_copy is None}
PIPELINED = {"mainloop": "pipelined", "stages": 2}


def gemm(machine, m, n, k, output="f16"):
    """A GEMM of 128x128 tiles: on Turing, which has neither cp.async nor this mma.sync, as its own kernels are."""
    kernel = {"threadblock": [128, 128, 32], "warp": [64, 64, 32], "stages": 3}
    if machine in TURING:
        kernel |= PIPELINED | {"instruction": [16, 8, 8]}
    return gpusim.load(
        {
            "machine": machine,
            "problem": {"kind": "gemm", "m": m, "n": n, "k": k, "dtype": TYPES | {"output": output}},
            "kernel": kernel,
        }
    )


SCENARIOS = {
    **{f"{name} on h200": partial(gpusim.load, name) for name in scenario_names()},
    **{f"much stored on {machine}": partial(gemm, machine, 2048, 2048, 64) for machine in machine_names()},
    **{f"few CTAs on {machine}": partial(gemm, machine, 512, 384, 256) for machine in machine_names()},
}
"""Each is loaded when it is asked for."""

LONG = {"attention_64x64 on h200", "flash_128x64 on h200"}
"""Those that take seconds to count."""

QUICK = ["conv_9_k_tiles on h200", "few CTAs on a100", "much stored on t4"]
"""Those that are explained, too, in every run of the tests: each of them takes some ten simulations."""

CASES = [
    *QUICK,
    *one_in(3, sorted(SCENARIOS.keys() - LONG - set(QUICK))),
    *(pytest.param(name, marks=pytest.mark.slow) for name in sorted(LONG)),
]


@cache
def simulated(name):
    return gpusim.simulate(SCENARIOS[name](), stream="estimated")


@pytest.mark.parametrize("name", CASES)
def test_report_compare_and_the_roofline_say_what_the_run_says(name):
    run = simulated(name)
    machine = load_machine(run.machine["name"])
    said = {row["name"]: row["percent"] / 100 for row in run.bound["resources"]}
    bounding = {row["name"]: said[row["name"]] for row in run.bound["resources"] if row["bounds"]}

    use, page = use_of(run, machine), run_data("a", run, WORDS, machine, pictures=(), trust="")
    metrics = {one.name: one.values[0] for one in compare(run, run).metrics}
    roofs = {level.name: level.use for level in memory_levels(run, machine)}

    assert dict(use.of_peak) == pytest.approx(bounding)
    assert dict(page["peaks"]) == dict(use.of_peak)
    assert {resource: metrics[f"use of {resource}"] for resource in said} == pytest.approx(said, abs=1e-6)
    assert run.bound["of_active"] or metrics["bound's use"] == pytest.approx(said[run.bound["busiest"]], abs=1e-4)
    assert roofs == pytest.approx(
        {
            "shared memory": said["shared-memory data stage"],
            "L2": said["L2 bandwidth"],
            "DRAM": said["DRAM bandwidth"],
        }
    )
    assert {level["name"]: level["use"] for level in page["roofline"]["levels"]} == roofs


@pytest.mark.parametrize("name", CASES)
def test_a_mark_of_the_roofline_lies_as_far_below_its_slope_as_the_memory_is_used(name):
    run = simulated(name)
    for level in memory_levels(run, load_machine(run.machine["name"])):
        intensity = level.intensity(run.tflops)
        if intensity is not None:
            assert run.tflops == pytest.approx(level.use * intensity * level.slope_gb_s / 1000)


@pytest.mark.parametrize("name", [*QUICK, pytest.param("few CTAs on rtx4090", marks=pytest.mark.slow)])
def test_explain_says_what_the_run_says(name):
    run = simulated(name)

    found = explain(run).to_dict()

    assert json.loads(json.dumps(found["resources"])) == run.bound["resources"]
    assert found["bound"] == {
        "resource": run.bound["resource"],
        "percent": run.bound["percent"],
        "reason": run.bound["stall"],
        "of_active": run.bound["of_active"],
    }


TILES = st.sampled_from([([128, 128, 32], [64, 64, 32]), ([64, 64, 64], [32, 32, 64]), ([128, 64, 32], [64, 32, 32])])
KERNELS = st.builds(
    lambda tile, shared, pipeline: {"threadblock": tile[0], "warp": tile[1], "shared": shared} | pipeline,
    TILES,
    st.fixed_dictionaries({}, optional={"a": st.just("row_major"), "b": st.just("row_major")}),
    st.one_of(st.just(PIPELINED), st.integers(3, 5).map(lambda stages: {"mainloop": "multistage", "stages": stages})),
)
EXTENTS = st.tuples(*[st.integers(1, 128).map(lambda extent: 8 * extent)] * 2, st.sampled_from([16, 64, 256]))


@settings(max_examples=25)
@given(st.sampled_from([name for name in machine_names() if name not in TURING]), EXTENTS, KERNELS)
def test_nothing_is_used_for_more_than_100_percent(machine, extents, kernel):
    """Neither of the whole nor where there is work, however banks collide and whatever is written."""
    m, n, k = extents
    problem = {"kind": "gemm", "m": m, "n": n, "k": k, "dtype": TYPES}
    run = gpusim.simulate(
        gpusim.load({"machine": machine, "problem": problem, "kernel": kernel}), stream="estimated", exact=True
    )

    for row in run.bound["resources"]:
        assert 0 <= row["percent"] <= 100
        assert 0 <= row["percent_active"] <= 100


@pytest.mark.parametrize(("machine", "n"), [("t4", 1280), ("t4", 4096), ("a10", 4096), ("rtx3060", 4096)])
def test_stores_wait_for_dram_so_that_it_is_used_for_at_most_100_percent(machine, n):
    """f32 outputs, k of 64: what does not fit into the L2 is written while the kernel runs."""
    run = gpusim.simulate(gemm(machine, 2048, n, 64, "f32"), stream="estimated", exact=True)
    dram = next(row for row in run.bound["resources"] if row["name"] == "DRAM bandwidth")

    assert run.counters["dram__bytes_write.sum"] > 0
    assert 60 < dram["percent"] <= dram["percent_active"] <= 100


def test_the_shorter_dram_s_queue_of_writes_is_the_longer_stores_wait():
    """10.5 MB of outputs and an L2 of 4 MiB: a queue of 64 MiB holds all that is displaced, and none waits."""
    scenario = gemm("t4", 2048, 1280, 64, "f32")
    runs = [
        gpusim.simulate(scenario.replace(machine=f"t4 with dram.write_queue = {size}"), stream="estimated", exact=True)
        for size in (1 << 26, 71_688, 64)
    ]

    assert sorted({run.cycles.elapsed for run in runs}) == [run.cycles.elapsed for run in runs]


def test_a_kernel_that_stores_is_bound_by_what_it_writes():
    """
    2048 x 2048 outputs of 2 bytes are 8.4 MB, and a T4's L2 has room for half of them: the rest goes to DRAM, of whose
    320 GB/s a stream reaches 69 %.
    """
    run = simulated("much stored on t4")
    moved = run.counters["dram__bytes_read.sum"] + run.counters["dram__bytes_write.sum"]
    dram = next(row for row in run.bound["resources"] if row["name"] == "DRAM bandwidth")

    assert run.counters["dram__bytes_write.sum"] > 4e6
    assert dram["percent"] == pytest.approx(100 * moved / (0.69 * 320e9 * run.time_us / 1e6), rel=0.001)
    assert run.bound["resource"] == "DRAM bandwidth"
    assert verdict(run, use_of(run, load_machine("t4"))).startswith("The limit is the DRAM bandwidth, busy for 69 %")


def test_the_command_line_prints_these_figures(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    main(["run", "conv_9_k_tiles", "--no-figures", "--stream", "estimated", "--out", "a", "--json"])
    ran = json.loads(capsys.readouterr().out)
    main(["explain", "a", "--json"])
    explained = json.loads(capsys.readouterr().out)
    main(["compare", "a", "a", "--json"])
    compared = {one["name"]: one["values"][0] for one in json.loads(capsys.readouterr().out)["metrics"]}

    assert ran["bound"]["resources"] == explained["resources"]
    assert {f"use of {row['name']}": round(row["percent"] / 100, 6) for row in explained["resources"]} == {
        name: value for name, value in compared.items() if name.startswith("use of ")
    }
