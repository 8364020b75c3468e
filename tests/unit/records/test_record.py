"""Records: what is written is read back, found by scenario, and refused when it is something else."""

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpusim.errors import BadInput, CannotRun
from gpusim.records.record import (
    LoopTime,
    MeasuredPipeline,
    Numerics,
    Record,
    TraceCheck,
    find_record,
    load_record,
    to_json,
    write_record,
)
from gpusim.results.result import PipelineRow

RECORD = Record(
    name="small",
    scenario={"problem": {"kind": "gemm", "m": 8}},
    scenario_sha256="a" * 64,
    environment={"gpu": "NVIDIA H200", "sms": 132, "clocks_mhz": {"sm": 1980}},
    kernel={"registers": 128},
    numerics=Numerics(7, 64, 0, 0.001, 0.5, (3, 4)),
    trace=TraceCheck((0, 3), 100, "b" * 64, equal=False, first_difference="CTA 0 [warp 1]: {5} in one\tand 6"),
    time_us=LoopTime(20, 5, 12.5, 12.0, 14.0),
    pipeline=MeasuredPipeline((PipelineRow(0, 0, 1, None, 2, 3, 4, 5),), 13.0, 1.04, 9000),
    counters={"sm__cycles_elapsed.max": 1234.0},
    opcodes={"LDSM": {"executed": 8.0, "wavefronts": 32.0}},
    missing={"other": "not here"},
    commit=None,
    date="2026-11-21T00:00:00+00:00",
    command=("gpusim", "check", "small", "--record"),
)
TEXT = st.text(st.characters(exclude_categories=["Cs"]))


def test_a_record_is_read_back_as_it_was_written(tmp_path):
    assert load_record(write_record(RECORD, tmp_path / "h200")) == RECORD


def test_parts_that_were_not_measured_stay_so(tmp_path):
    bare = replace(RECORD, numerics=None, trace=None, time_us=None, pipeline=None, counters={}, opcodes={})
    assert load_record(write_record(bare, tmp_path)) == bare


@given(TEXT, st.dictionaries(TEXT, st.floats(allow_nan=False, allow_infinity=False)), st.lists(TEXT))
def test_joining_short_lists_on_one_line_changes_no_value(text, counters, command):
    record = replace(RECORD, missing={text: text}, counters=counters, command=tuple(command))
    data = json.loads(to_json(record))
    assert data["missing"] == {text: text}
    assert data["counters"] == counters
    assert data["command"] == command


def test_rows_of_the_pipeline_stand_on_one_line():
    assert '{ "k_tile": 0, "stage": 0, "copy_issue": 1, "copy_done": null,' in to_json(RECORD)


def test_a_record_is_found_by_name_then_by_scenario(tmp_path):
    path = write_record(RECORD, tmp_path / "h200")

    assert find_record("small", "a" * 64, tmp_path) == path
    assert find_record("renamed", "a" * 64, tmp_path) == path
    assert find_record("small", "a" * 64, tmp_path, gpu="h200") == path


def test_a_record_of_another_scenario_under_the_name_is_refused(tmp_path):
    path = write_record(RECORD, tmp_path / "h200")

    with pytest.raises(CannotRun) as refused:
        find_record("small", "c" * 64, tmp_path)

    assert str(refused.value) == f"{path}: records another scenario of this name; measure it anew with --record"


def test_a_missing_record_says_how_to_measure_it(tmp_path):
    with pytest.raises(CannotRun) as refused:
        find_record("small", "a" * 64, tmp_path, gpu="a100")

    expected = f"small: no record under {tmp_path / 'a100'}; measure it on a GPU with `gpusim check small --record`"
    assert str(refused.value) == expected


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("{", "not a readable record"),
        ("[]", "schema must be 'gpusim.record/1', got 'list'"),
        ('{"schema": "gpusim.result/1"}', "schema must be 'gpusim.record/1', got 'gpusim.result/1'"),
        ('{"schema": "gpusim.record/1"}', "keys must be command, commit"),
    ],
)
def test_what_is_no_record_is_refused(tmp_path, text, reason):
    path = tmp_path / "small.json"
    path.write_text(text)

    with pytest.raises(BadInput) as refused:
        load_record(path)

    assert str(refused.value).startswith(f"{path}: {reason}")


def test_a_record_that_cannot_be_written_is_said(tmp_path):
    (tmp_path / "h200").write_text("a file")

    with pytest.raises(CannotRun, match="cannot be written"):
        write_record(RECORD, tmp_path / "h200")
