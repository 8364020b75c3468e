"""What an execution reports, and that every broken schedule is caught by name."""

import json
from dataclasses import asdict

import numpy as np
import pytest
from problems.gemm import random_scenario

from gpusim.errors import BadInput
from gpusim.families.registry import parse_scenario
from gpusim.schedule.mutations import MUTATIONS
from gpusim.verbs.verify import verify

SMALL_KERNEL = {"threadblock": [64, 64, 32], "warp": [32, 32, 32], "stages": 3}
GEMM = {"kind": "gemm", "m": 100, "n": 72, "k": 232}
CONVOLUTION = {"kind": "conv2d_fprop", "n": 2, "h": 9, "w": 11, "c": 40, "k": 24, "r": 3, "s": 3, "padding": [1, 1]}


def small(problem, **kernel):
    return parse_scenario({"machine": "h200", "problem": problem, "kernel": SMALL_KERNEL | kernel}, "small")


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


def test_integer_sums_are_exact():
    types = {"ab": "s8", "accumulator": "s32", "output": "s32"}
    report = verify(
        small(GEMM | {"k": 464, "dtype": types}, threadblock=[64, 64, 64], warp=[32, 32, 64], instruction=[16, 8, 32]),
        5,
    )
    assert report.ok
    assert report.max_error == 0


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
