"""Every committed record against today's simulation: equal where it must be, and nothing missing."""

import pytest

from gpusim.cuda.trace import stream_digest, traced_ctas
from gpusim.cuda.trace_reduction import expected_launches
from gpusim.families.attention.counts import attention_executed
from gpusim.families.attention.trace import expected_attention_records, traced_attention_ctas
from gpusim.families.registry import load_scenario
from gpusim.records.check import check_rows
from gpusim.records.record import load_record, measured_folder
from gpusim.scenario.catalogue import attention_scenarios, recordable_scenarios
from gpusim.schedule.counts import executed_in_all

GPU = "h200"
FILES = {path.stem: path for path in recordable_scenarios()}
ATTENTION = {path.stem: path for path in attention_scenarios()}


def record_of(name):
    return load_record(measured_folder() / GPU / f"{name}.json")


def test_every_recordable_scenario_has_a_record_and_no_other():
    recorded = {path.stem for path in (measured_folder() / GPU).glob("*.json")}
    assert recorded == FILES.keys() | ATTENTION.keys()


@pytest.mark.parametrize("name", FILES)
def test_the_hardware_did_what_today_s_schedule_says(name):
    scenario, record = load_scenario(FILES[name]), record_of(name)
    assert record.scenario_sha256 == scenario.digest(), "the record is of another scenario: measure it anew"
    assert record.trace is not None
    assert record.trace.ctas == traced_ctas(scenario)
    expected = stream_digest(expected_launches(scenario, record.trace.ctas))

    rows = check_rows(scenario, executed_in_all(scenario), {}, record, expected)

    assert record.missing == {}
    assert record.numerics is not None
    assert record.numerics.max_error_over_bound <= 1
    assert [row for row in rows if row.verdict == "differs"] == []
    assert sum(row.verdict == "exact" for row in rows) >= 20


@pytest.mark.parametrize("name", ATTENTION)
def test_the_hardware_did_what_today_s_attention_schedule_says(name):
    scenario, record = load_scenario(ATTENTION[name]), record_of(name)
    assert record.scenario_sha256 == scenario.digest(), "the record is of another scenario: measure it anew"
    assert record.trace is not None
    assert record.trace.ctas == traced_attention_ctas(scenario)
    expected = stream_digest(expected_attention_records(scenario, record.trace.ctas))

    rows = check_rows(scenario, attention_executed(scenario), {}, record, expected)

    assert record.missing.keys() == {"pipeline"}
    assert record.numerics is not None
    assert record.numerics.max_error_over_bound <= 1
    assert [row for row in rows if row.verdict == "differs"] == []
    assert sum(row.verdict == "exact" for row in rows) >= 18


def test_attention_is_recorded_in_both_schedules_and_in_all_it_can_differ_in():
    problems = [load_scenario(path).problem for path in ATTENTION.values()]
    mainloops = [load_scenario(path).kernel.mainloop for path in ATTENTION.values()]

    assert len(ATTENTION) >= 24
    assert min(mainloops.count(one) for one in ("attention", "flash")) >= 10
    assert {problem.head_dim for problem in problems} == {32, 64, 128}
    assert {problem.mask for problem in problems} == {"none", "causal_top_left", "causal_bottom_right"}
    assert {512, 1024, 2048, 4096} <= {problem.queries for problem in problems}
    assert sum(problem.query_lengths is not None for problem in problems) >= 2
    assert sum(problem.head_dim_v >= 160 for problem in problems) >= 2
    assert {problem.dtype.ab for problem in problems} == {"f16", "bf16"}
