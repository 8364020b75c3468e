"""A report on speed: kept as JSON, and found in it by name."""

import json
from dataclasses import fields, replace

import pytest
from doubles.bench import HOST, REPORT, RUN

from gpusim.errors import BadInput
from gpusim.lab.bench.rows import BenchReport, RunRow, load_bench, merged, other_host, write_bench


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


def test_a_report_takes_the_rows_that_are_new_and_keeps_the_others():
    """A run is measured again, and a loop for the first time; the other core's run and commands are kept."""
    again, loop = replace(RUN, user_s=4.0), replace(REPORT.loops[0], size=2048)
    report = merged(REPORT, BenchReport(HOST, runs=(again,), loops=(loop,)))

    assert report.runs == (again, REPORT.runs[1])
    assert report.loops == (*REPORT.loops, loop)
    assert report.others == REPORT.others


def test_one_name_in_another_mode_or_table_is_another_row():
    sampled, by_k = replace(RUN, mode="sampled"), replace(RUN, table="Growth")

    assert merged(BenchReport(HOST, runs=(RUN,)), BenchReport(HOST, runs=(sampled, by_k))).runs == (RUN, sampled, by_k)


@pytest.mark.parametrize(("new", "note"), [("", "kept"), ("new", "new")])
def test_a_note_is_kept_until_there_is_another(new, note):
    assert merged(replace(REPORT, note="kept"), replace(REPORT, note=new)).note == note


def test_hosts_differ_in_anything_but_the_day():
    assert other_host(HOST, replace(HOST, date="2026-02-01")) == []
    assert other_host(HOST, replace(HOST, cpu="Another", commit="fedcba")) == ["cpu", "commit"]
