"""Machines with other values of some figures; no bounds apply, so that 0 takes a delay away."""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any, get_args

from gpusim.machine.keys import hints_of
from gpusim.sim.figures import Figures

NONE: Mapping[str, Any] = {}


def with_figures(figures: Figures, values: Mapping[str, Any] = NONE, **more: Any) -> Figures:
    """
    Figures with other values: the machine's by their dotted key, as ``"mio.sm_depth"``, computed ones by their name.

    None takes an optional table away. In a table that the machine lacks, every other figure is 0, or no number.
    """
    of_machine = {**values, **more}
    computed = {key: of_machine.pop(key) for key in Figures._fields if key in of_machine}
    return figures._replace(machine=changed(figures.machine, of_machine), **computed)


def changed(spec: Any, values: Mapping[str, Any]) -> Any:
    """A spec with other values by dotted key."""
    own = {key: value for key, value in values.items() if "." not in key}
    tables: defaultdict[str, dict[str, Any]] = defaultdict(dict)
    for key, value in values.items():
        table, _, rest = key.partition(".")
        if rest:
            tables[table][rest] = value
    for name, inside in tables.items():
        known = getattr(spec, name)
        own[name] = changed(nothing(get_args(hints_of(type(spec))[name])[0]) if known is None else known, inside)
    return replace(spec, **own)


def nothing(table: type[Any]) -> Any:
    """A table whose figures are 0, and whose lists are empty."""
    hints = hints_of(table)
    return table(
        **{field.name: () if get_args(hints[field.name])[0] == tuple[int, ...] else 0 for field in fields(table)}
    )
