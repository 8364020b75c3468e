"""Every committed record against today's simulation: equal where it must be, and nothing missing."""

import pytest
from problems.recordable import recordable
from slow import one_in

from gpusim.commands.check import counts_of, latitude_of
from gpusim.cuda.trace import expected_of_all, stream_digest
from gpusim.families.registry import family_of
from gpusim.records.check import check_rows
from gpusim.records.halves import load_halves
from gpusim.records.record import load_record, measured_folder
from gpusim.scenario.catalogue import validation_scenarios

GPU = "h200"
SCENARIOS = recordable()
RECORDED = {path.stem for path in (measured_folder() / GPU).glob("*.json")}
ATTENTION = [one for name, one in SCENARIOS.items() if name in RECORDED and one.kind == "attention"]


def record_of(name):
    return load_record(measured_folder() / GPU / f"{name}.json")


def test_every_recordable_scenario_has_a_record_and_no_other():
    """The scenarios of the validation are measured all together; until then, none of them has a record."""
    waiting = SCENARIOS.keys() - RECORDED
    assert RECORDED - SCENARIOS.keys() == set()
    assert waiting in (set(), {path.stem for path in validation_scenarios()})


@pytest.mark.parametrize("name", one_in(10, sorted(RECORDED)))
def test_the_hardware_did_what_today_s_schedule_says(name):
    scenario, record = SCENARIOS[name], record_of(name)
    family = family_of(scenario)
    kernels = family.schedules.kernels(scenario)
    assert record.scenario_sha256 == scenario.digest(), "the record is of another scenario: measure it anew"
    assert record.trace is not None
    assert record.trace.ctas == kernels[0].traced_blocks
    expected = stream_digest(expected_of_all(kernels, [kernel.traced_blocks for kernel in kernels]))

    rows = check_rows(latitude_of(scenario), counts_of(scenario), {}, record, expected)

    # The held-out records of attention are older than the build that stamps its key blocks.
    older = scenario.kind == "attention" and load_halves().half(name) == "held-out"
    assert record.missing.keys() == ({"pipeline"} if older else set())
    assert record.numerics is not None
    assert record.numerics.max_error_over_bound <= 1
    assert [row for row in rows if row.verdict == "differs"] == []
    assert sum(row.verdict == "exact" for row in rows) >= (20 if record.pipeline is not None else 18)


def test_attention_is_recorded_in_both_schedules_and_in_all_it_can_differ_in():
    problems = [scenario.problem for scenario in ATTENTION]
    mainloops = [scenario.kernel.mainloop for scenario in ATTENTION]

    assert len(ATTENTION) >= 24
    assert min(mainloops.count(one) for one in ("attention", "flash")) >= 10
    assert {32, 64, 128} <= {problem.head_dim for problem in problems}
    assert {problem.mask for problem in problems} == {"none", "causal_top_left", "causal_bottom_right"}
    assert {512, 1024, 2048, 4096} <= {problem.queries for problem in problems}
    assert sum(problem.query_lengths is not None for problem in problems) >= 2
    assert sum(problem.head_dim_v >= 160 for problem in problems) >= 2
    assert {problem.dtype.ab for problem in problems} == {"f16", "bf16"}
