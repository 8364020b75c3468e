"""The table of errors: simulated against measured cycles, of all records."""

import pytest
from doubles.record import GOLDEN, SMALLEST, record_of

from gpusim.lab.tables import error_table as errors
from gpusim.lab.tables import speed_table as speeds
from gpusim.lab.tables.error_table import ErrorRow, error_row, error_table
from gpusim.lab.tables.speed_table import scenario_of
from gpusim.records.record import write_record
from gpusim.verbs.simulate import simulate


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
