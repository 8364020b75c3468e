"""Medians of several launches' cycles, which a record takes for its own."""

from dataclasses import replace

import pytest
from doubles.record import SMALLEST, record_of

from gpusim.errors import BadInput
from gpusim.records.record import load_record, measured_folder, write_record
from gpusim.records.repeats import REPEATED, REPEATS_FILE, repeated

HEAD = ",".join(("name", "launch", *REPEATED))
RECORD = record_of(SMALLEST, 1.0)
SINGLE = replace(RECORD, counters={**RECORD.counters, **dict.fromkeys(REPEATED, 1.0), "another": 7.0})


def test_a_record_s_cycles_are_medians_where_its_kernels_were_launched_several_times(tmp_path):
    """Three launches; what else was counted stays."""
    path = write_record(SINGLE, tmp_path)
    rows = [f"{SINGLE.name},{launch},{cycles},{cycles}.5,3,4" for launch, cycles in enumerate((900, 1200, 1000))]
    (tmp_path / REPEATS_FILE).write_text("\n".join(["# gpu: one", HEAD, *rows, "other,0,1,1,1,1"]) + "\n")

    record = load_record(path)

    assert [record.counters[metric] for metric in REPEATED] == [1000, 1000.5, 3, 4]
    assert record.counters["another"] == 7
    assert replace(record, counters=SINGLE.counters) == SINGLE


def test_a_record_without_counters_or_without_launches_is_as_written(tmp_path):
    bare = replace(SINGLE, name="bare", counters={})
    (tmp_path / REPEATS_FILE).write_text(f"{HEAD}\nbare,0,1,1,1,1\n")

    assert load_record(write_record(bare, tmp_path)) == bare
    assert load_record(write_record(SINGLE, tmp_path)) == SINGLE


@pytest.mark.parametrize("text", ["name,launch\nx,0\n", f"{HEAD}\nx,0,many,1,1,1\n", f"{HEAD}\nx,0\n"])
def test_launches_that_cannot_be_read_are_refused(tmp_path, text):
    path = write_record(SINGLE, tmp_path)
    (tmp_path / REPEATS_FILE).write_text(text)

    with pytest.raises(BadInput, match=r"repeats\.csv: not readable cycles of launches, in columns name, sm__cycles"):
        load_record(path)


def test_every_record_of_the_h200_was_launched_seven_times_anew():
    folder = measured_folder() / "h200"
    records = sorted(folder.glob("*.json"))

    assert records
    assert not [path.stem for path in records if set(repeated(path)) != set(REPEATED)]
