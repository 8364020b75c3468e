"""Machines with other values of some figures; no bounds apply, so that 0 takes a delay away."""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, TypeVar, get_args

from gpusim.machine.keys import hints_of
from gpusim.sim.figures import Figures

Spec = TypeVar("Spec")


def with_figures(figures: Figures, **values: Any) -> Figures:
    """
    Figures with other values: of the machine by their dotted key, as ``"mio.sm_depth"``, of the launch by their name.

    None takes an optional table away. One that the machine lacks is made of the values given for it.
    """
    of_launch = {key: values.pop(key) for key in Figures._fields if key in values}
    return figures._replace(machine=changed(figures.machine, values), **of_launch)


def changed(spec: Spec, values: Mapping[str, Any]) -> Spec:
    """A spec with other values by dotted key."""
    own: dict[str, Any] = {key: value for key, value in values.items() if "." not in key}
    tables: defaultdict[str, dict[str, Any]] = defaultdict(dict)
    for key, value in values.items():
        table, _, rest = key.partition(".")
        if rest:
            tables[table][rest] = value
    for name, inside in tables.items():
        known = getattr(spec, name)
        own[name] = get_args(hints_of(type(spec))[name])[0](**inside) if known is None else changed(known, inside)
    return replace(spec, **own)  # type: ignore[type-var]
