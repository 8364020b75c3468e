"""The tables over all records: simulated against measured cycles, and our kernels beside CUTLASS's."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from gpusim.measure.tables import error_table as errors
from gpusim.measure.tables import speed_table as speeds
from gpusim.measure.tables.error_table import ErrorRow, error_row, error_table
from gpusim.measure.tables.speed_table import geometric_mean, scenario_of, speed_rows, speed_table
from gpusim.records import record as records
from gpusim.records.record import LoopTime, MeasuredPipeline, Record, write_record
from gpusim.results.result import PipelineRow
from gpusim.verbs.simulate import simulate

GOLDEN = Path(__file__).parents[2] / "golden" / "data" / "cutlass_h200.json"
ROWS = json.loads(GOLDEN.read_text())["rows"]
SMALLEST = min(ROWS, key=lambda row: row["counters"]["sm__cycles_elapsed.max"])


def record_of(row, cycles):
    scenario = scenario_of(row)
    return Record(
        name="recorded",
        scenario=scenario.resolved(),
        scenario_sha256=scenario.digest(),
        environment={"gpu": "NVIDIA H200", "sms": 132},
        kernel={"registers": 200},
        numerics=None,
        trace=None,
        time_us=LoopTime(20, 5, 10.0, 9.0, 11.0),
        pipeline=MeasuredPipeline(
            tuple(PipelineRow(k_tile, 0, 0, None, 0, 0, 1000 * k_tile, 1) for k_tile in range(9)), None, None, 1
        ),
        counters={"sm__cycles_elapsed.max": cycles, "sm__cycles_active.avg": 66.0, "smsp__inst_executed.sum": 1e6},
        opcodes={},
        missing={},
        commit=None,
        date="",
        command=(),
    )


def test_speed_is_cutlass_s_cycles_over_ours():
    cutlass = SMALLEST["counters"]["sm__cycles_elapsed.max"]
    rows = speed_rows(ROWS, [record_of(SMALLEST, cutlass / 2)])

    (known,) = [row for row in rows if row.speed is not None]
    assert (known.name, known.speed, known.us, known.registers) == ("recorded", 2.0, 10.0, 200)
    assert len(rows) == 49
    assert geometric_mean(rows) == pytest.approx(2.0)


def test_the_speed_table_states_mean_and_least():
    rows = speed_rows(ROWS, [record_of(SMALLEST, SMALLEST["counters"]["sm__cycles_elapsed.max"])])
    faster = replace(rows[0], name="faster", ours=rows[0].cutlass / 4)

    text = speed_table([*rows[1:], faster], "Speed")

    assert text.startswith("# Speed\n")
    assert "2 of 49 rows measured; geometric mean of the speed 2.000, least 1.000." in text
    assert sum(line.startswith("| ") for line in text.splitlines()) == 50
    assert speed_table(speed_rows(ROWS, []), "Speed").count("(not recorded) |") == 49


def test_errors_are_relative_to_what_was_measured():
    row = ErrorRow("one", {"elapsed": 100.0}, {"estimated": {"elapsed": 90.0}})

    assert row.error("estimated", "elapsed") == pytest.approx(-0.1)
    assert row.error("compiled", "elapsed") is None
    assert row.error("estimated", "active") is None


def test_a_record_is_put_beside_its_results():
    record = record_of(SMALLEST, 1234.0)
    result, _ = simulate(scenario_of(SMALLEST))

    row = error_row(record, {"estimated": result})

    assert row.measured["elapsed"] == 1234.0
    assert row.measured["active"] == 66.0 * 132 / min(132, result.ctas)
    assert row.measured["k tile"] == 1000.0
    assert row.simulated["estimated"]["elapsed"] == result.cycles.elapsed


def test_the_error_table_summarises_each_stream():
    rows = [
        ErrorRow("slow", {"elapsed": 100.0}, {"estimated": {"elapsed": 50.0}, "compiled": {"elapsed": 100.0}}),
        ErrorRow("fast", {"elapsed": 100.0}, {"estimated": {"elapsed": 200.0}}),
    ]

    text = error_table(rows, "Errors")

    assert "| elapsed | estimated | 2 | 1.000 | 75.0 % | fast +100.0 % |" in text
    assert "| elapsed | compiled | 1 | 1.000 | 0.0 % | slow +0.0 % |" in text
    assert "| fast | 100 | +100.0 % | - | - | - | - | - | - | - |" in text


@pytest.fixture
def folder(tmp_path, monkeypatch):
    for module in (records, errors, speeds):
        monkeypatch.setattr(module, "measured_folder", lambda: tmp_path)
    return tmp_path


def test_the_commands_write_both_tables(folder, capsys):
    write_record(record_of(SMALLEST, 50000.0), folder / "h200")

    assert errors.main(["h200", "--out", str(folder / "errors.md")]) == 0
    assert speeds.main([str(GOLDEN), "--out", str(folder / "speed.md")]) == 0
    assert "| recorded | 50,000 |" in (folder / "errors.md").read_text()
    assert "1 of 49 rows measured" in (folder / "speed.md").read_text()
    assert capsys.readouterr().out == ""


def test_without_records_there_is_no_error_table(folder, capsys):
    assert errors.main(["h200"]) == 1
    assert capsys.readouterr().err == f"no records in {folder / 'h200'}\n"


def test_rows_that_are_none_are_refused(folder, capsys):
    assert speeds.main([str(folder / "absent.json")]) == 1
    assert capsys.readouterr().err.startswith(f"{folder / 'absent.json'}: no measured rows (")
