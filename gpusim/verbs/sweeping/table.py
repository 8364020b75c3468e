"""Writes and reads the table of a sweep, one row a point: Parquet if pyarrow is installed, otherwise CSV."""

import csv
from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, Literal, TypeAlias

from gpusim.errors import CannotRun, missing_extra
from gpusim.results.marks import PARQUET_KEY
from gpusim.results.whole_file import refuse_foreign, written_whole

TableFormat: TypeAlias = Literal["auto", "csv", "parquet"]
"""Formats of the table; "auto" is Parquet if pyarrow is installed."""

STEM = "points"


def write_table(
    folder: Path, columns: Sequence[str], rows: Sequence[Mapping[str, Any]], wanted: TableFormat = "auto"
) -> Path:
    """
    Write ``folder/points.parquet`` or ``folder/points.csv``, completely or not at all, and return its path.

    An earlier table of either format is replaced, so a folder has one table.

    Args:
        folder: The sweep's folder.
        columns: Columns in order.
        rows: Values by column. A missing value is null, in CSV empty.
        wanted: Format.

    Raises:
        BadInput: A file that gpusim has not made has the name of a table.
        CannotRun: The file cannot be written, or Parquet was asked for and pyarrow is not installed.
    """
    kind = "parquet" if wanted == "parquet" or (wanted == "auto" and _has_pyarrow()) else "csv"
    path, other = (folder / f"{STEM}.{suffix}" for suffix in ("parquet", "csv")[:: 1 if kind == "parquet" else -1])
    for place in (path, other):
        refuse_foreign(place, follow=False)
    try:
        with written_whole(path) as aside:
            if kind == "parquet":
                _write_parquet(aside, columns, rows)
            else:
                _write_csv(aside, columns, rows)
        other.unlink(missing_ok=True)
    except OSError as error:
        raise CannotRun(f"{path}: cannot be written ({error.strerror or error})") from error
    return path


def _has_pyarrow() -> bool:
    try:
        import_module("pyarrow.parquet")
    except ImportError:
        return False
    return True


def _write_parquet(path: Path, columns: Sequence[str], rows: Sequence[Mapping[str, Any]]) -> None:
    try:
        pyarrow, parquet = import_module("pyarrow"), import_module("pyarrow.parquet")
    except ImportError as error:
        raise missing_extra("a Parquet table", "parquet") from error
    arrays = {}
    for column in columns:
        values = [row.get(column) for row in rows]
        kinds = {type(value) for value in values if value is not None}
        if len(kinds) > 1 and not kinds <= {int, float}:
            values = [None if value is None else str(value) for value in values]
        elif float in kinds:
            values = [None if value is None else float(value) for value in values]
        arrays[column] = pyarrow.array(values)
    parquet.write_table(pyarrow.table(arrays).replace_schema_metadata({PARQUET_KEY: ""}), path)


def _write_csv(path: Path, columns: Sequence[str], rows: Sequence[Mapping[str, Any]]) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(columns)
        writer.writerows([row.get(column, "") for column in columns] for row in rows)
