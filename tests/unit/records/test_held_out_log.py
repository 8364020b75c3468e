"""The log of looks at held-out figures: a head once, then a line a look; without a log there is no look."""

import pytest

from gpusim.errors import CannotRun
from gpusim.records import held_out_log


def test_every_look_appends_a_line(tmp_path, monkeypatch):
    path = tmp_path / "log.md"
    monkeypatch.setattr(held_out_log, "log_file", lambda: path)

    held_out_log.note_look("gpusim validate --held-out", "aggregates of 61 records")
    held_out_log.note_look("gpusim check x --held-out-rows", "rows of 1 record")

    lines = path.read_text().splitlines()
    assert lines.count("# Looks at held-out figures") == 1
    assert lines[-2].endswith("| `gpusim validate --held-out` | aggregates of 61 records |")
    assert lines[-1].endswith("| `gpusim check x --held-out-rows` | rows of 1 record |")


def test_a_look_that_cannot_be_noted_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(held_out_log, "log_file", lambda: tmp_path / "no folder" / "log.md")

    with pytest.raises(CannotRun, match=r"the look at held-out figures cannot be noted \(No such file or directory\)$"):
        held_out_log.note_look("gpusim validate --held-out", "aggregates of 61 records")


def test_the_committed_log_is_a_table_of_looks():
    head, *looks = held_out_log.log_file().read_text(encoding="utf-8").partition("|---|---|---|---|\n")[::2]

    assert head.endswith("| date | commit | command | shown |\n")
    assert all(line.count(" | ") == 3 for line in looks[0].splitlines())
