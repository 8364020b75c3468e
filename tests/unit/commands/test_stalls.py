"""``gpusim stalls`` defines the stall reasons: all of them, or those of a run with their shares."""

import json

from gpusim.results.stall_words import STALL_WORDS


def test_every_reason_is_defined_on_request(gpusim):
    shown = gpusim("stalls").out

    assert shown.splitlines()[0].startswith("reason ")
    assert all(f"\n{reason} " in shown for reason in STALL_WORDS)


def test_the_reasons_of_a_run_have_its_shares(gpusim, finished_run):
    stalls = json.loads((finished_run / "result.json").read_text(encoding="utf-8"))["stalls"]
    shown = json.loads(gpusim("stalls", finished_run, "--json").out)

    assert {row["reason"]: row["share"] for row in shown} == {
        reason: share for reason, share in stalls.items() if share
    }
    assert all(row["meaning"] == STALL_WORDS[row["reason"]].meaning for row in shown)


def test_the_definitions_are_data_too(gpusim):
    assert [row["reason"] for row in json.loads(gpusim("stalls", "--json").out)] == list(STALL_WORDS)


def test_a_folder_that_is_no_run_is_refused(gpusim, tmp_path):
    answer = gpusim("stalls", tmp_path)

    assert answer.code == 2
    assert "not a run directory" in answer.err
