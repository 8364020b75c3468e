"""A folder of two records, one of each half."""

from dataclasses import replace

import pytest
from doubles.record import SMALLEST, record_of

from gpusim.lab.validation import validate as validation
from gpusim.records import halves
from gpusim.records.record import write_record


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Records "open" and "secret", of which the list says that the second is held out."""
    counters = {"lts__t_sectors_op_read.sum": 1e5, "smsp__average_warps_issue_stalled_wait_per_issue_active.ratio": 2.0}
    for name, cycles in (("open", 50000.0), ("secret", 77777.0)):
        record = record_of(SMALLEST, cycles)
        write_record(replace(record, name=name, counters=record.counters | counters), tmp_path / "h200")
    path = tmp_path / "validation" / "halves.toml"
    path.parent.mkdir()
    path.write_text('seen = ["open"]\ndevelopment = []\nheld_out = ["secret"]\n')
    monkeypatch.setattr(halves, "halves_file", lambda: path)
    monkeypatch.setattr(validation, "measured_folder", lambda: tmp_path)
    return tmp_path
