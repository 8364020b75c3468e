"""Random problems computed for real are right within rounding, and every broken schedule is caught by name."""

import json
import tomllib
from collections import Counter
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pytest

from gpusim.errors import BadInput
from gpusim.functional.problems import SHARED_LAYOUTS, TILES, random_data, random_scenario
from gpusim.functional.verify import verify
from gpusim.scenario import GemmProblem, parse_scenario
from gpusim.schedule.mutations import MUTATIONS
from gpusim.tile.extents import gemm_k_iterations, problem_extents

COMMITTED = tomllib.loads((Path(__file__).parent / "verify_problems.toml").read_text())
SEEDS = range(COMMITTED["first_seed"], COMMITTED["first_seed"] + COMMITTED["count"])

SMALL_KERNEL = {"threadblock": [64, 64, 32], "warp": [32, 32, 32], "stages": 3}
GEMM = {"kind": "gemm", "m": 100, "n": 72, "k": 232}
CONVOLUTION = {"kind": "conv2d_fprop", "n": 2, "h": 9, "w": 11, "c": 40, "k": 24, "r": 3, "s": 3, "padding": [1, 1]}


def small(problem, **kernel):
    return parse_scenario({"machine": "h200", "problem": problem, "kernel": SMALL_KERNEL | kernel}, "small")


def features(scenario):
    """The features of ``verify_problems.toml`` that a scenario has."""
    problem, kernel = scenario.problem, scenario.kernel
    extents = problem_extents(scenario)
    gemm = isinstance(problem, GemmProblem)
    summed = problem.k if gemm else problem.c
    layouts = {scenario.shared_layout(operand) for operand in ("a", "b")}
    pairs = None if gemm else problem
    has = {
        "gemm": gemm,
        "convolution": not gemm,
        "ragged_m": extents.m % kernel.threadblock[0] != 0,
        "ragged_n": extents.n % kernel.threadblock[1] != 0,
        "k_residue": summed % kernel.threadblock[2] != 0,
        "narrow_a_or_b": min(problem.access_a, problem.access_b) < 8,
        "padded_leading_dimension": gemm and (problem.leading_a > problem.k or problem.leading_b > problem.k),
        "padded_activation": pairs is not None and pairs.padding != (0, 0),
        "strided": pairs is not None and pairs.stride != (1, 1),
        "dilated": pairs is not None and pairs.dilation != (1, 1) and max(pairs.r, pairs.s) > 1,
        "true_convolution": pairs is not None and pairs.mode == "convolution" and max(pairs.r, pairs.s) > 1,
        "explicit_output_extent": pairs is not None and (pairs.p is not None or pairs.q is not None),
        "split_k": problem.split_k_slices > 1,
        "convolution_split_k": not gemm and problem.split_k_slices > 1,
        "f16_output": problem.dtype.output == "f16",
        "f32_output": problem.dtype.output == "f32",
        "source_tensor": problem.beta != 0,
        "three_stages": kernel.stages == 3,
        "four_stages": kernel.stages == 4,
        "five_stages": kernel.stages == 5,
        "crosswise": "crosswise" in layouts,
        "row_major": "row_major" in layouts,
        "padded_rows": any(name.startswith("padded") for name in layouts),
        "swizzled": any(name.startswith("Swizzle") for name in layouts),
        "fewer_k_tiles_than_stages": gemm_k_iterations(scenario, 0) < kernel.stages,
    }
    return {name for name, present in has.items() if present}


@pytest.mark.parametrize("seed", SEEDS)
def test_random_problem_is_right_and_free_of_hazards(seed):
    report = verify(random_scenario(seed), seed)
    assert report.hazards == ()
    assert report.wrong_elements == 0
    assert report.max_error_over_bound <= 1
    assert report.ok


@pytest.mark.parametrize("seed", range(COMMITTED["first_seed"], COMMITTED["first_seed"] + COMMITTED["pipelined"]))
def test_random_pipelined_problem_is_right_and_free_of_hazards(seed):
    report = verify(random_scenario(seed, "pipelined"), seed)
    assert report.hazards == ()
    assert report.wrong_elements == 0
    assert report.ok


def test_random_pipelined_problems_are_gemms_and_convolutions():
    scenarios = [random_scenario(seed, "pipelined") for seed in range(COMMITTED["pipelined"])]
    count = Counter(name for scenario in scenarios for name in features(scenario))
    assert all(scenario.kernel.stages == 2 for scenario in scenarios)
    for name in ("gemm", "convolution", "k_residue", "narrow_a_or_b", "split_k", "source_tensor"):
        assert count[name] >= 12


def test_random_problems_cover_what_they_should():
    scenarios = [random_scenario(seed) for seed in SEEDS]
    count = Counter(name for scenario in scenarios for name in features(scenario))
    assert {name for name, least in COMMITTED["at_least"].items() if count[name] < least} == set()
    assert {scenario.kernel.threadblock for scenario in scenarios} == {threadblock for threadblock, _ in TILES}
    drawn = {scenario.shared_layout(operand) for scenario in scenarios for operand in ("a", "b")}
    assert drawn == {"crosswise"}.union(*SHARED_LAYOUTS.values())


def test_seed_determines_the_problem():
    assert random_data(7) == random_data(7)
    assert random_data(7) != random_data(8)


@pytest.mark.parametrize("problem", [GEMM, CONVOLUTION], ids=["gemm", "convolution"])
@pytest.mark.parametrize(
    ("mutation", "in_schedule", "in_data"),
    [
        ("lax_wait", "read_before_group_complete", "stale_data_consumed"),
        ("missing_barrier", "read_before_barrier", "stale_data_consumed"),
        ("one_stage_too_few", "overwrite_while_read", "overwrite_while_read"),
        ("skipped_zero_fill", None, "stale_data_consumed"),
    ],
)
def test_mutation_is_caught_by_name(problem, mutation, in_schedule, in_data):
    report = verify(small(problem), 3, MUTATIONS[mutation])
    assert not report.ok
    names = {(hazard["origin"], hazard["name"]) for hazard in report.hazards}
    assert ("data", in_data) in names
    assert ("schedule", in_schedule) in names or in_schedule is None


@pytest.mark.parametrize("problem", [GEMM, CONVOLUTION], ids=["gemm", "convolution"])
@pytest.mark.parametrize(
    ("mutation", "in_schedule", "in_data"),
    [
        ("missing_barrier", "read_before_barrier", "stale_data_consumed"),
        ("one_stage_too_few", "overwrite_while_read", "overwrite_while_read"),
        ("skipped_zero_fill", None, "stale_data_consumed"),
        ("load_too_early", "fragment_overwritten", None),
        ("store_after_barrier", "read_before_barrier", "stale_data_consumed"),
    ],
)
def test_mutation_of_the_pipelined_mainloop_is_caught_by_name(problem, mutation, in_schedule, in_data):
    report = verify(small(problem, mainloop="pipelined", stages=2), 3, MUTATIONS[mutation])
    assert not report.ok
    names = {(hazard["origin"], hazard["name"]) for hazard in report.hazards}
    assert ("data", in_data) in names or in_data is None
    assert ("schedule", in_schedule) in names or in_schedule is None


def test_loading_too_early_multiplies_the_wrong_k_tile():
    """The registers are legal, only the data is another k tile's: the numbers and the order of ops show it."""
    report = verify(small(GEMM, mainloop="pipelined", stages=2), 3, MUTATIONS["load_too_early"])
    assert report.wrong_elements > 0
    assert {"fragment_overwritten", "fragment_holds_other_tile"} <= report.hazard_names()


def test_a_mutation_that_finds_nothing_to_break_is_refused():
    with pytest.raises(BadInput, match="lax_wait finds nothing to break in this pipelined schedule"):
        verify(small(GEMM, mainloop="pipelined", stages=2), 3, MUTATIONS["lax_wait"])


def test_every_mutation_is_tried():
    tests = (test_mutation_is_caught_by_name, test_mutation_of_the_pipelined_mainloop_is_caught_by_name)
    marks = [mark for test in tests for mark in test.pytestmark if "mutation" in mark.args[0]]
    assert {name for mark in marks for name, _, _ in mark.args[1]} == set(MUTATIONS)


@pytest.mark.parametrize("stages", [3, 4, 5])
@pytest.mark.parametrize("mutation", ["lax_wait", "missing_barrier", "one_stage_too_few"])
def test_mutation_is_caught_at_any_number_of_stages(mutation, stages):
    assert not verify(small(GEMM, stages=stages), 3, MUTATIONS[mutation]).ok


@pytest.mark.parametrize(
    ("problem", "where"),
    [
        # 232 = 7 * 32 + 8: the residue tile comes first and holds 8 elements along K.
        (GEMM, {"k_tile": 0, "operand": "a"}),
        # Filter position (0, 0) sees the padding above row 0 of the output: k tile 0.
        (CONVOLUTION | {"c": 32}, {"k_tile": 0, "operand": "a", "row": 0}),
    ],
    ids=["gemm residue", "convolution padding"],
)
def test_skipped_zero_fill_is_found_where_zeros_belong(problem, where):
    hazards = verify(small(problem), 3, MUTATIONS["skipped_zero_fill"]).hazards
    assert any(where.items() <= hazard.items() for hazard in hazards)


def test_skipped_zero_fill_does_no_harm_where_nothing_is_invalid():
    problem = {"kind": "gemm", "m": 64, "n": 64, "k": 160}
    assert verify(small(problem), 3, MUTATIONS["skipped_zero_fill"]).ok


def test_rows_out_of_range_may_hold_anything():
    """Row 100 of A and column 72 of B do not exist; in the GEMM's mainloop nothing fills their places."""
    report = verify(small(GEMM | {"k": 256}), 3, MUTATIONS["skipped_zero_fill"])
    assert report.ok


def test_report_is_plain_data():
    report = verify(small(GEMM), 3, MUTATIONS["lax_wait"])
    data = json.loads(json.dumps(asdict(report), allow_nan=False))
    assert data["ok"] is False
    assert data["elements"] == 100 * 72
    assert data["max_error"] is None
    assert data["wrong_elements"] > 0
    assert {"origin", "name", "message", "slice", "k_tile", "k_group", "operand", "stage"} <= data["hazards"][0].keys()
    assert "stale_data_consumed" in report.hazard_names()


def test_verify_is_deterministic():
    scenario = random_scenario(3)
    assert asdict(verify(scenario, 3)) == asdict(verify(scenario, 3))
    assert verify(scenario, 3).max_error != verify(scenario, 4).max_error


def test_progress_counts_every_cta():
    seen = []
    verify(small(GEMM | {"split_k_slices": 2}), 3, progress=lambda done, total: seen.append((done, total)))
    assert seen[-1] == (2 * 2 * 2, 2 * 2 * 2)
    assert np.all(np.diff([done for done, _ in seen]) > 0)
