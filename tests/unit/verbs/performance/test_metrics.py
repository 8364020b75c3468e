"""Metrics that a baseline keeps, and their thresholds."""

import math

import pytest
from problems.own_answers import own_answer

from gpusim.errors import BadInput
from gpusim.verbs.performance.metrics import PERF_METRICS, metrics_of, threshold_of


def test_every_metric_has_a_value_in_an_answer():
    answer = own_answer()

    assert metrics_of(answer) == {
        "cycles": answer.cycles.elapsed,
        "registers": answer.registers_per_thread,
        "ctas_per_sm": answer.ctas_per_sm,
        "conflicts": answer.total("conflicts"),
        "sectors": answer.total("sectors"),
        "instructions": answer.warp_instructions,
    }


def test_fewer_ctas_per_sm_are_worse_and_more_of_all_else():
    assert [name for name, metric in PERF_METRICS.items() if metric.worse == "less"] == ["ctas_per_sm"]


@pytest.mark.parametrize("value", [0, 2.5, math.inf])
def test_a_threshold_is_a_number_of_percent(value):
    assert threshold_of("cycles", value, "here") == value


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("cylces", 3, r"^unknown metric cylces, did you mean cycles\? \(here\)$"),
        ("x", 3, r"^unknown metric x, allowed: cycles, registers, ctas_per_sm, conflicts, sectors, instructions"),
        ("cycles", "3 %", r'^a threshold must be a number of percent of at least 0, or inf, got "3 %" \(here\)$'),
        ("cycles", -1, r"^a threshold must be a number of percent of at least 0, or inf, got -1 \(here\)$"),
        ("cycles", math.nan, r"got nan \(here\)$"),
        ("cycles", True, r"got true \(here\)$"),
    ],
)
def test_another_threshold_is_refused(name, value, message):
    with pytest.raises(BadInput, match=message):
        threshold_of(name, value, "here")
