"""Refuses results with impossible values, so that readers of a file can rely on them."""

from collections.abc import Iterator, Mapping
from typing import Any

from gpusim.results.stall_words import STALL_WORDS

_MOST = 1 << 60
_COUNTED = ("ctas", "ctas_per_sm", "registers_per_thread", "clock_mhz")
_BOUND = {"resource": str, "reason": str, "utilisation": int | float}
_RESOURCE = {"name": str, "percent": int | float, "percent_active": int | float, "bounds": bool}
_MACHINE = {"name": str}
_SCENARIO = {"machine": str}
_SIGNED = {"scenario"}
"""Tables whose numbers may be negative."""


def implausible(data: Mapping[str, Any]) -> str:
    """
    Return the first impossible value in the data of a result; its fields have the right types.

    Returns:
        The field and its rule; "" if nothing is wrong.
    """
    return next((wrong for wrong in (_fields(data), _counts(data), _sizes(data)) if wrong), "")


def _fields(data: Mapping[str, Any]) -> str:
    """Check the tables whose fields have no type of their own."""
    for table, fields in (("bound", _BOUND), ("machine", _MACHINE), ("scenario", _SCENARIO)):
        for name, kind in fields.items():
            if not isinstance(data[table].get(name), kind) or isinstance(data[table][name], bool):
                return f"{table}.{name}: Input should be a {'string' if kind is str else 'number'}"
    needed = data["bound"].get("cycles", {})
    if not isinstance(needed, Mapping) or not all(type(one) in (int, float) for one in needed.values()):
        return "bound.cycles: Input should be a table of numbers"
    if not _are_resources(data["bound"].get("resources", [])):
        return f"bound.resources: Input should be a list of tables with {', '.join(_RESOURCE)}"
    unknown = next((reason for reason in data["stalls"] if reason not in STALL_WORDS), None)
    return "" if unknown is None else f"stalls: {unknown!r:.40} is no stall reason"


def _are_resources(rows: Any) -> bool:
    """Return whether data is a use of resources that ``gpusim.results.resources`` can read."""
    return isinstance(rows, list) and all(
        isinstance(row, Mapping)
        and row.keys() == _RESOURCE.keys()
        and all(isinstance(row[name], kind) for name, kind in _RESOURCE.items())
        for row in rows
    )


def _counts(data: Mapping[str, Any]) -> str:
    """Check the counts that must be at least one."""
    none = next((name for name in _COUNTED if data[name] < 1), "")
    if none:
        return f"{none}: Input should be at least 1"
    return "" if data["cycles"]["elapsed"] >= 1 and data["time_us"] > 0 else "cycles: a run takes at least one"


def _sizes(data: Mapping[str, Any]) -> str:
    """Check for numbers that are too large, negative, or not a number."""
    for table, value in data.items():
        for number in _numbers(value):
            # NaN is not less than any number.
            if not abs(number) < _MOST or (number < 0 and table not in _SIGNED):
                return f"{table}: {str(number)[:20]} is no number of a run"
    return ""


def _numbers(value: Any) -> Iterator[int | float]:
    """Yield all numbers in plain data."""
    waiting = [value]
    while waiting:
        one = waiting.pop()
        if isinstance(one, Mapping):
            waiting += one.values()
        elif isinstance(one, list):
            waiting += one
        elif isinstance(one, int | float):
            yield one
