"""The table of a sweep as Parquet and as CSV."""

import sys

import pytest

from gpusim.errors import CannotRun
from gpusim.verbs.sweeping.table import write_table

COLUMNS = ("kernel.stages", "machine", "cycles", "error")
ROWS = (
    {"kernel.stages": 3, "machine": "h200", "cycles": 100},
    {"kernel.stages": 2, "machine": "h200", "error": 'stages must be "2..10"'},
)


def test_parquet_has_types_and_nulls(tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet")
    path = write_table(tmp_path, COLUMNS, ROWS)

    assert path.name == "points.parquet"
    assert parquet.read_table(path).to_pylist() == [
        {"kernel.stages": 3, "machine": "h200", "cycles": 100, "error": None},
        {"kernel.stages": 2, "machine": "h200", "cycles": None, "error": 'stages must be "2..10"'},
    ]


def test_a_column_of_numbers_and_words_is_one_of_words(tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet")
    path = write_table(tmp_path, ("value", "share"), [{"value": 1, "share": 1}, {"value": "auto", "share": 0.5}])
    assert parquet.read_table(path).to_pylist() == [{"value": "1", "share": 1.0}, {"value": "auto", "share": 0.5}]


def test_without_pyarrow_it_is_csv(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)

    path = write_table(tmp_path, COLUMNS, ROWS)

    assert path.read_text().splitlines() == [
        "kernel.stages,machine,cycles,error",
        "3,h200,100,",
        '2,h200,,"stages must be ""2..10"""',
    ]
    with pytest.raises(CannotRun, match=r"a Parquet table needs an optional library: pip install 'gpusim\[parquet\]'"):
        write_table(tmp_path, COLUMNS, ROWS, "parquet")


def test_a_folder_has_one_table(tmp_path):
    write_table(tmp_path, COLUMNS, ROWS, "csv")
    pytest.importorskip("pyarrow")
    write_table(tmp_path, COLUMNS, ROWS, "parquet")
    assert [path.name for path in tmp_path.iterdir()] == ["points.parquet"]


def test_a_folder_that_is_not_there_is_said(tmp_path):
    with pytest.raises(CannotRun, match="cannot be written"):
        write_table(tmp_path / "absent", COLUMNS, ROWS, "csv")
