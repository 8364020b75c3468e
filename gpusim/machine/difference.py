"""The figures in which several machines differ, and how each is known."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from gpusim.machine.figure import FigureRecord
from gpusim.machine.spec import Machine


@dataclass(frozen=True, slots=True)
class FigureDifference:
    """
    A figure in which machines differ.

    Attributes:
        key: Dotted key in the machine files.
        unit: Unit of the figure.
        values: Its value in each machine; None if a machine does not have it, or if the machine's figures are not
            known.
        kinds: Kind of the figure in each machine; empty without a value.
    """

    key: str
    unit: str
    values: tuple[int | bool | tuple[int, ...] | None, ...]
    kinds: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return the difference as plain data."""
        values = [list(one) if isinstance(one, tuple) else one for one in self.values]
        return {"key": self.key, "unit": self.unit, "values": values, "kinds": list(self.kinds)}


def figure_differences(machines: Sequence[Machine | None]) -> tuple[FigureDifference, ...]:
    """
    Return the figures whose values differ, in the order of the machine files.

    Args:
        machines: The machines. None stands for a machine whose figures are not known; it is not compared.
    """
    tables = [None if one is None else {record.key: record for record in one.figures} for one in machines]
    known = [one for one in tables if one is not None]
    found = []
    for key in dict.fromkeys(key for one in known for key in one):
        records = [None if one is None else one.get(key) for one in tables]
        values = tuple(None if one is None else one.value for one in records)
        if len({value for value, table in zip(values, tables, strict=True) if table is not None}) > 1:
            unit = next(record.unit for record in records if record is not None)
            found.append(FigureDifference(key, unit, values, tuple(map(_kind, records))))
    return tuple(found)


def _kind(record: FigureRecord | None) -> str:
    return "" if record is None else record.kind
