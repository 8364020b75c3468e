"""A report on speed: kept as JSON, and found in it by name."""

import json
from dataclasses import fields, replace

import pytest
from doubles.bench import REPORT, RUN

from gpusim.errors import BadInput
from gpusim.measure.bench.rows import RunRow, load_bench, write_bench


def test_a_report_is_read_as_it_was_written(tmp_path):
    write_bench(REPORT, tmp_path / "bench.json")

    assert load_bench(tmp_path / "bench.json") == REPORT


def test_a_report_of_another_schema_is_refused(tmp_path):
    write_bench(replace(REPORT, schema="gpusim.bench/0"), tmp_path / "bench.json")

    with pytest.raises(BadInput, match=r"schema must be 'gpusim.bench/1', got 'gpusim.bench/0'$"):
        load_bench(tmp_path / "bench.json")


def test_rates_are_kept_unrounded(tmp_path):
    write_bench(REPORT, tmp_path / "bench.json")
    (row, *_) = json.loads((tmp_path / "bench.json").read_text())["runs"]

    assert row.keys() == {field.name for field in fields(RunRow)}
    assert row["rate"] == RUN.rate == 1000 / 3


def test_rows_are_found_by_name_mode_and_core():
    assert REPORT.run_of("gemm_4096", "exact") == RUN
    assert REPORT.run_of("gemm_4096", "exact", "interpreted").engine == "interpreted"
    assert REPORT.run_of("gemm_4096", "sampled") is None
    assert REPORT.loop_of(1024).points == 12
    assert REPORT.loop_of(2048) is None
    assert REPORT.other_of("gpusim --help").runs == 5
    assert REPORT.other_of("gpusim") is None
