"""The problems of the check of tune, and the configurations stated for each before anything was measured."""

from dataclasses import replace

import pytest

from gpusim.errors import BadInput
from gpusim.lab.tune_check.problems import MOST_CONFIGURATIONS, TUNE_PROBLEMS, problem_named
from gpusim.verbs.tuning.label import label


def test_there_are_twelve_problems_of_different_kinds():
    assert len({one.name for one in TUNE_PROBLEMS}) == 12
    assert {one.problem["dtype"]["ab"] for one in TUNE_PROBLEMS} == {"f16", "bf16", "tf32"}
    assert {one.problem["kind"] for one in TUNE_PROBLEMS} == {"gemm", "conv2d_fprop"}
    assert sum(len(one.slices) > 1 for one in TUNE_PROBLEMS) == 4
    assert {(one.problem.get("layout_a"), one.problem.get("layout_b")) for one in TUNE_PROBLEMS} == {
        ("row", "column"),
        ("row", "row"),
        ("column", "row"),
        (None, None),
    }


@pytest.mark.parametrize("problem", TUNE_PROBLEMS, ids=lambda one: one.name)
def test_a_stated_set_has_distinct_legal_configurations(problem):
    stated = problem.settings()

    assert 40 <= len(stated) <= MOST_CONFIGURATIONS
    assert len({label(one) for one in stated}) == len({problem.scenario(one).digest() for one in stated}) == len(stated)


def test_what_is_not_legal_for_a_problem_is_not_in_its_set():
    problem = problem_named("f16_tn_16x8192x4096")
    too_many = replace(problem, slices=(2, 128))

    assert {one["problem.split_k_slices"] for one in problem.settings()} == {1, 2, 4, 8}
    assert {one["problem.split_k_slices"] for one in too_many.settings()} == {2, 128}
    assert all(one["kernel.threadblock"][2] == 32 for one in too_many.settings() if one["problem.split_k_slices"] > 64)


def test_a_wrong_name_is_refused_with_the_right_ones():
    with pytest.raises(BadInput, match="no such problem: x; there are f16_tn_2048x2048x2048, "):
        problem_named("x")
