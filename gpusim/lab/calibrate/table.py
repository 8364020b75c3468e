"""Selects rows of one CSV file of microbenchmarks by the values of their columns. It knows no formula."""

from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

from gpusim.lab.calibrate.runner import read_rows

Row: TypeAlias = dict[str, str]


class NotMeasured(Exception):
    """The CSV files lack the rows that a formula needs."""


class MeasuredTable:
    """The rows of one CSV file, selected by the values of columns."""

    def __init__(self, directory: Path, name: str) -> None:
        self.name = f"{name}.csv"
        path = directory / self.name
        self._rows = read_rows(path) if path.is_file() else []
        self._by_values: dict[tuple[str, ...], dict[tuple[str | None, ...], list[Row]]] = {}

    def rows(self, **columns: object) -> list[Row]:
        """Return the rows whose columns have the given values. Raise ``NotMeasured`` if there are none."""
        names = tuple(columns)
        if names not in self._by_values:
            by_values: dict[tuple[str | None, ...], list[Row]] = {}
            for row in self._rows:
                by_values.setdefault(tuple([row.get(name) for name in names]), []).append(row)
            self._by_values[names] = by_values
        chosen = self._by_values[names].get(tuple(map(str, columns.values())))
        if not chosen:
            raise NotMeasured
        return list(chosen)

    def numbers(self, column: str, **columns: object) -> list[float]:
        """Return the filled values of one column in the selected rows. Raise ``NotMeasured`` if there are none."""
        found = [float(row[column]) for row in self.rows(**columns) if row.get(column)]
        if not found:
            raise NotMeasured
        return found

    def values(self, name: str) -> list[str]:
        """Return the distinct values of a column, in the order of the file."""
        return list(dict.fromkeys(row[name] for row in self._rows if row.get(name)))

    def widest(self, column: str, **columns: object) -> str:
        """Return the largest integer of a column in the selected rows, as text."""
        return str(max(int(row[column]) for row in self.rows(**columns) if row.get(column)))


Formula: TypeAlias = Callable[[dict[str, MeasuredTable], int], tuple[float | tuple[int, ...], str]]
"""A formula: from the tables by name and the peak DRAM bandwidth in GB/s, the exact value and the rule in words."""

NumberFormula: TypeAlias = Callable[[dict[str, MeasuredTable], int], tuple[float, str]]
"""A formula whose value is one number."""
