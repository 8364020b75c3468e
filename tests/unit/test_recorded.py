"""Every committed record against today's simulation: equal where it must be, and nothing missing."""

import pytest

from gpusim.hardware.check import check_rows
from gpusim.hardware.record import load_record, measured_folder
from gpusim.hardware.trace import stream_digest, traced_ctas
from gpusim.hardware.trace_reduction import expected_launches
from gpusim.scenario import load_scenario
from gpusim.scenario_catalogue import recordable_scenarios
from gpusim.schedule.counts import executed_in_all

GPU = "h200"
FILES = {path.stem: path for path in recordable_scenarios()}


def record_of(name):
    return load_record(measured_folder() / GPU / f"{name}.json")


def test_every_recordable_scenario_has_a_record_and_no_other():
    recorded = {path.stem for path in (measured_folder() / GPU).glob("*.json")}
    assert recorded == set(FILES)


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
