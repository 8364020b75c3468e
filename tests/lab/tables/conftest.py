"""What tests of tables over records stand on: a folder of records that is empty."""

import pytest

from gpusim.lab.tables import error_table, speed_table
from gpusim.records import record


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An empty folder in the place of the measured records."""
    for module in (record, error_table, speed_table):
        monkeypatch.setattr(module, "measured_folder", lambda: tmp_path)
    return tmp_path
