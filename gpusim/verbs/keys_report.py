"""Finds the keys of scenarios by kind of problem, and those of machine files, with their allowed values."""

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from textwrap import wrap
from typing import Any

from gpusim.errors import BadInput, nearest
from gpusim.families.registry import scenario_keys
from gpusim.machine.keys import FigureKey, figure_key, figure_keys
from gpusim.scenario.keys import ScenarioKey, shared_keys

_MACHINE = "machine"
"""Name for all keys of machine files; it is the first part of their names in ``--set``."""

_WIDTH = 100
_INDENT = 4


@dataclass(frozen=True, slots=True)
class KeysReport:
    """
    The requested keys.

    Attributes:
        scenarios: Keys of scenarios by kind.
        figures: Keys of machine files.
        whole: Whether the keys of all kinds were requested.
    """

    scenarios: Mapping[str, tuple[ScenarioKey, ...]]
    figures: tuple[FigureKey, ...]
    whole: bool

    def to_dict(self) -> dict[str, Any]:
        """Return the keys as plain data, as ``gpusim keys --json`` prints them."""
        return {
            "scenario": {kind: [asdict(key) for key in keys] for kind, keys in self.scenarios.items()},
            "machine": [_figure(key) for key in self.figures],
        }

    def text(self) -> str:
        """Return the keys as text. A key of several kinds is listed once."""
        return "\n".join(_lines(self))


def keys_report(what: str | None) -> KeysReport:
    """
    Find keys.

    Args:
        what: A kind of problem, "machine", a key, or a table of keys; None means every kind.

    Raises:
        BadInput: There is no such kind, key or table.
    """
    scenarios, figures = _scenario_keys(what), _machine_keys(what)
    if not scenarios and not figures:
        names = list(scenario_keys())
        near = nearest(str(what), [*names, *_all_keys()])
        hint = f'did you mean "{near}"?' if near else f"kinds: {', '.join(names)}"
        raise BadInput(f"keys are of a kind of problem, of a table or of {_MACHINE}, got {str(what)!r}, {hint}")
    return KeysReport(scenarios, figures, what is None)


def _scenario_keys(what: str | None) -> dict[str, tuple[ScenarioKey, ...]]:
    """Return keys by kind: all keys, or those of one kind, or those with a name or in a table."""
    every = scenario_keys()
    if what is None:
        return every
    found = {kind: tuple(key for key in keys if _is_in(key.key, what)) for kind, keys in every.items()}
    # "kernel" is a kind and a table.
    own = {what: every[what]} if what in every else {}
    return own | {kind: keys for kind, keys in found.items() if keys}


def _machine_keys(what: str | None) -> tuple[FigureKey, ...]:
    """Return keys of machine files: all for "machine", else those with a name or in a table; "machine." is optional."""
    if what is None:
        return ()
    name, own = what.removeprefix(f"{_MACHINE}."), figure_key(what.removeprefix(f"{_MACHINE}."))
    found = tuple(key for key in figure_keys().values() if what == _MACHINE or _is_in(key.key, name))
    return found or (() if own is None else (own,))


def _all_keys() -> Iterator[str]:
    for keys in scenario_keys().values():
        yield from (key.key for key in keys)
    yield from (f"{_MACHINE}.{key}" for key in figure_keys())


def _is_in(key: str, table: str) -> bool:
    """Return whether a key equals ``table``, is in that table, or ends with it as its last parts."""
    return key == table or key.startswith(f"{table}.") or key.endswith(f".{table}")


def _figure(key: FigureKey) -> dict[str, object]:
    return {
        "key": f"{_MACHINE}.{key.key}",
        "unit": key.unit.name,
        "values": key.allowed,
        "zero": key.unit.zero,
        "table": key.table,
        "meaning": key.meaning,
    }


def _lines(report: KeysReport) -> Iterator[str]:
    for names, keys in shared_keys(report.scenarios).items():
        yield from (f"kind {', '.join(names)}", "")
        for key in keys:
            yield from _entry(key.key, _values_of(key), key.meaning)
        yield ""
    if report.figures:
        yield from ("machine files; --set takes these keys, too", "")
        for figure in report.figures:
            yield from _entry(f"{_MACHINE}.{figure.key}", _figure_values(figure), figure.meaning)
        yield ""
    if report.whole:
        yield f"One kind: gpusim keys gemm. One key: gpusim keys kernel.stages. Machine files: gpusim keys {_MACHINE}."


def _values_of(key: ScenarioKey) -> str:
    """Return the allowed values and the default of a key, in words."""
    if key.required:
        return f"{key.values}; must be given"
    return f"{key.values}; default {key.default}" if key.default else key.values


def _figure_values(key: FigureKey) -> str:
    """Return the allowed values and the unit of a figure, the meaning of zero, and its table if that is optional."""
    unit = "" if key.unit.name == "bool" else f", {key.unit.name}"
    zero = f"; 0: {key.unit.zero}" if key.unit.zero else ""
    return f"{key.allowed}{unit}{zero}" + (f"; optional: {key.table}" if key.table else "")


def _entry(key: str, values: str, meaning: str) -> Iterator[str]:
    yield key
    indent = " " * _INDENT
    yield from wrap(values, _WIDTH, initial_indent=indent, subsequent_indent=indent)
    yield from wrap(meaning, _WIDTH, initial_indent=indent, subsequent_indent=indent)
