"""The keys of a machine file: the meaning, the unit and the allowed values of each figure."""

import dataclasses
import re
import types
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from inspect import getdoc
from typing import Any, Final, cast, get_args, get_origin, get_type_hints

from gpusim.machine.figure import FigureUnit, Inherited
from gpusim.machine.spec import PIPES, Machine

TENSOR_NAME = re.compile(r"m\d{1,9}n\d{1,9}k\d{1,9}\.[a-z]+\d{1,9}\.[a-z]+\d{1,9}")
"""Pattern of an mma.sync's key: shape, input and accumulator."""

ANY_TENSOR = "m16n8k16.f16.f32"
"""The mma.sync that represents all in the list of keys."""


NOT_SIMULATED: Final = {
    "l1.bytes_per_cycle": "hits of the L1 are simulated by their wavefronts in the banks",
    "pipes.half.latency": "no estimated instruction waits for it, and compiled ones have stall counts of their own",
    "instruction_cache.l1_bytes": "one instruction cache of an SM is simulated, of l0_bytes",
    "instruction_cache.miss_latency": "a miss of the instruction cache goes to the L2, in l1_miss_latency",
}
"""Figures of older machine files that never affected a result, each with the reason for refusing it."""


@dataclass(frozen=True, slots=True)
class FigureKey:
    """
    One key of a machine file.

    Attributes:
        key: Dotted key.
        unit: Unit and allowed values.
        is_list: Whether the figure is a list.
        table: The optional table that contains the key; empty for a key that every machine has.
        meaning: Meaning of the figure.
    """

    key: str
    unit: FigureUnit
    is_list: bool
    table: str
    meaning: str

    @property
    def allowed(self) -> str:
        """Description of the allowed values."""
        return f"a list, each {self.unit.allowed}" if self.is_list else self.unit.allowed


@cache
def figure_keys() -> dict[str, FigureKey]:
    """Return the keys of a machine file in the order of ``Machine``, with one mma.sync as the example of all."""
    return {one.key: one for one in _keys(Machine, "", "")}


def figure_key(key: str) -> FigureKey | None:
    """Return the key of a figure, including that of any mma.sync; None if there is no such key."""
    table, _, rest = key.partition(".")
    found = TENSOR_NAME.match(rest) if table == "tensor" else None
    if found is None:
        return figure_keys().get(key)
    known = figure_keys().get(f"tensor.{ANY_TENSOR}{rest[found.end() :]}")
    return known and dataclasses.replace(known, key=key, table=known.table.replace(ANY_TENSOR, found[0]))


def hints_of(spec: type[Any]) -> dict[str, Any]:
    """Return the annotations of a spec by attribute, with their ``FigureUnit`` or ``Inherited`` marks."""
    return _hints(cast("Any", spec))


@cache
def _hints(spec: Any) -> dict[str, Any]:
    return get_type_hints(spec, include_extras=True)


def _keys(spec: type[Any], prefix: str, table: str) -> Iterator[FigureKey]:
    hints, meanings = hints_of(spec), _meanings(cast("Any", spec))
    for field in dataclasses.fields(spec):
        hint, key = hints[field.name], prefix + field.name
        mark = getattr(hint, "__metadata__", (None,))[0]
        if isinstance(mark, FigureUnit):
            if key in NOT_SIMULATED:
                continue
            yield FigureKey(key, mark, get_args(hint)[0] == tuple[int, ...], table, meanings[field.name])
        elif get_origin(hint) is types.UnionType:
            inner = next(one for one in get_args(hint) if one is not types.NoneType)
            yield from _keys(inner, f"{key}.", key)
        elif get_origin(hint) is dict and dataclasses.is_dataclass(get_args(hint)[1]):
            for name in PIPES if field.name == "pipes" else (ANY_TENSOR,):
                yield from _keys(get_args(hint)[1], f"{key}.{name}.", f"{key}.{name}" if key == "tensor" else "")
        elif dataclasses.is_dataclass(hint) and not isinstance(mark, Inherited):
            yield from _keys(cast("type[Any]", hint), f"{key}.", "")


@cache
def _meanings(spec: Any) -> dict[str, str]:
    """Return the meaning of each attribute: its first sentence in the docstring of the spec or of a base class."""
    found: dict[str, str] = {}
    for one in reversed(spec.__mro__[:-1]):
        _, _, attributes = (getdoc(one) or "").partition("Attributes:\n")
        for entry in re.split(r"\n(?=    \w)", attributes):
            names, _, text = entry.strip().partition(":")
            words = " ".join(text.split())
            found |= {name.strip(): re.split(r"(?<=\.) (?=[A-Z])", words)[0].rstrip(".") for name in names.split(",")}
    return found
