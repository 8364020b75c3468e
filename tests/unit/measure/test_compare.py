"""Which launch of a profile is compared with a run, and by which rows."""

import pytest
from problems.ragged import RAGGED

from gpusim.errors import BadInput
from gpusim.gpu.ncu import KernelCounters
from gpusim.measure.compare import choose_launch, compare_rows
from gpusim.verbs.simulate import simulate

RATIO = "smsp__average_warps_issue_stalled_{}_per_issue_active.ratio"
RESULT, _ = simulate(RAGGED)
LAUNCHES = [
    KernelCounters("other", (1, 1, 1), (64, 1, 1), {}),
    KernelCounters("gemm", (9, 9, 1), (128, 1, 1), {}),
    KernelCounters("gemm", tuple(RESULT.grid), (128, 1, 1), {}),
]


def test_the_launch_with_the_run_s_grid_is_compared():
    assert choose_launch(LAUNCHES, RESULT, None, None) == 2
    assert choose_launch(LAUNCHES, RESULT, "^other$", None) == 0
    assert choose_launch(LAUNCHES, RESULT, "gemm", 0) == 1


@pytest.mark.parametrize(
    ("kernel", "launch", "words"),
    [
        ("conv", None, "no kernel of the report matches 'conv'; it has gemm, other"),
        ("gemm", 2, "--launch must be 0..1, got 2"),
        ("(", None, "--kernel must be a regular expression, got '('"),
    ],
)
def test_a_launch_that_is_not_there_is_refused(kernel, launch, words):
    with pytest.raises(BadInput) as refused:
        choose_launch(LAUNCHES, RESULT, kernel, launch)

    assert str(refused.value).startswith(words)


def test_a_comparison_has_what_both_sides_have():
    metrics = {
        "sm__cycles_elapsed.max": 2.0 * RESULT.cycles.elapsed,
        "sm__cycles_active.avg": 10.0,
        "launch__registers_per_thread": 64.0,
        "gpu__time_duration.sum": 5000.0,
        "something__else.sum": 1.0,
        RATIO.format("barrier"): 1.0,
    }
    rows = {row.source: row for row in compare_rows(RESULT, KernelCounters("k", (1, 1, 1), (1, 1, 1), metrics), 132)}

    assert rows["sm__cycles_elapsed.max"].error == -0.5
    assert rows["gpu__time_duration.sum"].measured == 5.0
    assert rows["launch__registers_per_thread"].measured == 64
    assert "something__else.sum" not in rows
    assert all(row.verdict in {"exact", "approximate"} for row in rows.values())
