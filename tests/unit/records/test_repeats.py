"""Medians of several launches' cycles, which a record takes for its own."""

from collections import Counter
from dataclasses import replace
from datetime import datetime, timedelta

import pytest
from doubles.record import SMALLEST, record_of

from gpusim.errors import BadInput
from gpusim.lab.recording.repeats import COLD_LAUNCHES
from gpusim.records.record import load_record, measured_folder, write_record
from gpusim.records.repeats import REPEATED, REPEATS_FILE, REPEATS_FILES

LATER, AGAIN, LAST = (f"# date: 2100-01-0{day}T00:00:00+00:00" for day in (1, 2, 3))
HEAD = ",".join(("name", "launch", *REPEATED))
RECORD = record_of(SMALLEST, 1.0)
SINGLE = replace(
    RECORD,
    date="2026-01-02T00:00:00+00:00",
    counters={**RECORD.counters, **dict.fromkeys(REPEATED, 1.0), "another": 7.0},
)


def test_a_record_s_cycles_are_medians_where_its_kernels_were_launched_several_times(tmp_path):
    """Three launches; what else was counted stays."""
    path = write_record(SINGLE, tmp_path)
    rows = [f"{SINGLE.name},{launch},{cycles},{cycles}.5,3,4" for launch, cycles in enumerate((900, 1200, 1000))]
    (tmp_path / REPEATS_FILE).write_text("\n".join(["# gpu: one", LATER, HEAD, *rows, "other,0,1,1,1,1"]) + "\n")

    record = load_record(path)

    assert [record.counters[metric] for metric in REPEATED] == [1000, 1000.5, 3, 4]
    assert record.counters["another"] == 7
    assert replace(record, counters=SINGLE.counters) == SINGLE


def test_a_record_without_counters_or_without_launches_is_as_written(tmp_path):
    bare = replace(SINGLE, name="bare", counters={})
    (tmp_path / REPEATS_FILE).write_text(f"{LATER}\n{HEAD}\nbare,0,1,1,1,1\n")

    assert load_record(write_record(bare, tmp_path)) == bare
    assert load_record(write_record(SINGLE, tmp_path)) == SINGLE


def test_launches_from_before_a_record_are_of_no_account(tmp_path):
    """What was recorded anew may be another kernel."""
    path = write_record(SINGLE, tmp_path)
    before = f"# date: {(datetime.fromisoformat(SINGLE.date) - timedelta(seconds=1)).isoformat()}"
    (tmp_path / REPEATS_FILE).write_text(f"{before}\n{HEAD}\n{SINGLE.name},0,5,5,5,5\n")

    assert load_record(path) == SINGLE


@pytest.mark.parametrize(
    "text", [f"{rest}\n" for rest in ("name,launch\nx,0", f"{HEAD}\nx,0,many,1,1,1", f"{HEAD}\nx,0", HEAD)]
)
def test_launches_that_cannot_be_read_are_refused(tmp_path, text):
    path = write_record(SINGLE, tmp_path)
    (tmp_path / REPEATS_FILE).write_text(text if text == f"{HEAD}\n" else f"{LATER}\n{text}")

    with pytest.raises(
        BadInput, match=r"repeats\.csv: not readable cycles of launches, with a line '# date: ' and columns name, sm__"
    ):
        load_record(path)


def test_of_several_files_the_newest_that_has_the_kernel_counts(tmp_path):
    path = write_record(SINGLE, tmp_path)
    names = [f"{SINGLE.name},0,{own},{own},{own},{own}" for own in (7, 9)]
    (tmp_path / REPEATS_FILE).write_text(f"{LATER}\n{HEAD}\n{names[0]}\n")
    (tmp_path / "repeats_again.csv").write_text(f"{AGAIN}\n{HEAD}\n{names[1]}\n")
    (tmp_path / "repeats_others.csv").write_text(f"{LAST}\n{HEAD}\nother,0,1,1,1,1\n")
    (tmp_path / "repeats_before.csv").write_text(
        f"# date: 2026-01-01T00:00:00+00:00\n{HEAD}\n{SINGLE.name},0,5,5,5,5\n"
    )

    assert load_record(path).counters["sm__cycles_elapsed.max"] == 9


def test_every_record_of_the_h200_was_launched_seven_times_anew():
    folder = measured_folder() / "h200"
    records = sorted(folder.glob("*.json"))
    launches = {
        name: count
        for path in folder.glob(REPEATS_FILES)
        for name, count in Counter(
            line.partition(",")[0]
            for line in path.read_text(encoding="utf-8").splitlines()
            if line[:1] not in {"#", ""} and line != HEAD
        ).items()
    }

    assert records
    assert launches == dict.fromkeys((path.stem for path in records), COLD_LAUNCHES)
