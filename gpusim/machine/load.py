"""The reader of a machine file. Every figure needs a unit, a kind and a source; unknown keys are refused."""

import dataclasses
import json
import re
import types
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from importlib import resources
from pathlib import Path
from typing import Any, cast, get_args, get_origin

from gpusim.arguments import refusal
from gpusim.errors import BadInput, nearest, printable
from gpusim.machine.changes import BadFigure, MachineChoice, in_proportion, read_choice
from gpusim.machine.contradictions import contradictions
from gpusim.machine.figure import FIGURE_KINDS, FigureRecord, FigureUnit, Inherited, printed_value
from gpusim.machine.keys import NOT_SIMULATED, TENSOR_NAME, figure_key, figure_keys, hints_of
from gpusim.machine.spec import PIPES, Machine, PipeSpec
from gpusim.machine.text_file import parse_toml, read_text_file

_RECORD_KEYS = ("value", "unit", "kind", "source", "at", "why", "spread", "effect", "fitted_on")
_RECORD_TEXTS = ("source", "at", "why", "effect")
_GROUPS = ("launch.units.ahead", "launch.units.others")
_SOURCE_KEYS = ("title", "version", "url", "doi", "file")


def machine_names() -> tuple[str, ...]:
    """Return the names of the machine files that ship with gpusim, sorted."""
    folder = resources.files("gpusim.machine")
    return tuple(sorted(entry.name.removesuffix(".toml") for entry in folder.iterdir() if entry.name.endswith(".toml")))


def is_path(name_or_path: str) -> bool:
    """Return whether the text is a path of a machine file, rather than the name of a shipped machine."""
    return name_or_path.endswith(".toml") or "/" in name_or_path or "\\" in name_or_path


def load_machine(name_or_path: str | Path) -> Machine:
    """
    Load a machine by its shipped name ("h200"), or from the TOML file at a path (a ``Path``, or text with a slash or
    ".toml").

    "h200 with sms = 66, l2.bytes = 1048576" is the machine with these figures overridden; their kind is then "user".
    Groups of SMs are scaled to the number of SMs.

    Raises:
        BadFigure: An overriding value is not allowed, or there is no such figure.
        BadInput: No such machine or file exists, or the file breaks a rule; the message names file and key.
    """
    if not isinstance(name_or_path, str | Path):
        raise refusal("machine", f"one of {', '.join(machine_names())} or the path of a .toml file", name_or_path)
    choice = read_choice(name_or_path) if isinstance(name_or_path, str) else MachineChoice(str(name_or_path))
    path = Path(choice.base)
    if is_path(choice.base) or path.is_absolute():
        try:
            text = read_text_file(path, what="machine file")
        except (OSError, ValueError) as error:  # ValueError: not text, too large, or a path with a null byte
            reason = getattr(error, "strerror", None) or str(error)
            raise BadInput(
                f"machine file must be readable, got {_quoted(choice.base)} ({reason}); "
                f"machines that ship: {', '.join(machine_names())}"
            ) from error
        return parse_machine(text, printable(path.stem), choice.base, choice.figures)
    return _shipped(str(choice))


@lru_cache(maxsize=256)
def _shipped(name: str) -> Machine:
    names, choice = machine_names(), read_choice(name)
    if choice.base not in names:
        near = _alike(choice.base, names)
        hint = f", did you mean {' or '.join(map(_quoted, near))}?" if near else ""
        raise BadInput(
            f"machine must be one of {', '.join(names)} or the path of a .toml file, got {_quoted(choice.base)}{hint}"
        )
    text = resources.files("gpusim.machine").joinpath(f"{choice.base}.toml").read_text(encoding="utf-8")
    return parse_machine(text, choice.base, f"{choice.base}.toml", choice.figures)


def _alike(name: str, names: Sequence[str]) -> list[str]:
    """Return the machines whose names contain a name, or the longest that it contains, or the most similar ones."""
    wrong = re.sub(r"[^a-z0-9]", "", name.lower())
    plain = {one: one.replace("_", "") for one in names}
    whole = [one for one in names if wrong and wrong in plain[one]]
    parts = sorted((one for one in names if plain[one] in wrong), key=len)
    near = nearest(name, names)
    return whole or parts[-1:] or ([near] if near else [])


def parse_machine(text: str, name: str, where: str, figures: Mapping[str, Any] | None = None) -> Machine:
    """
    Parse the machine that a TOML text describes.

    Args:
        text: Content of a machine file.
        name: Value of ``Machine.name``, which includes overridden figures.
        where: File name for messages.
        figures: Values by dotted key that override the file's.

    Raises:
        BadInput: The text is not TOML or breaks a rule; the message names file and key.
    """
    try:
        data = parse_toml(text)
    except ValueError as error:  # not TOML, a key too long, or an integer of thousands of digits
        raise BadInput(f"machine file must be TOML: {error} ({where})") from error
    return read_machine(data, name, where, figures)


def read_machine(data: dict[str, Any], name: str, where: str, figures: Mapping[str, Any] | None = None) -> Machine:
    """
    Read a machine from the data that ``tomllib`` returns. The other arguments are those of ``parse_machine``.

    Raises:
        BadInput: The data breaks a rule; the message names file and key.
    """
    return _Reader(where, data, figures or {}).machine(name)


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value


def _is_text(found: object) -> bool:
    return isinstance(found, str) and bool(found.strip())


class _Reader:
    def __init__(self, where: str, data: dict[str, Any], given: Mapping[str, Any]) -> None:
        """
        Make a reader.

        Args:
            where: File name for messages.
            data: Content of the file.
            given: Values by dotted key with which a user overrides the file's.
        """
        self._where = where
        self._data = data
        self._given = given
        self._follows: dict[str, Any] = {}
        self._figures: list[FigureRecord] = []
        self._sources: dict[str, str] = {}

    def machine(self, name: str) -> Machine:
        table = dict(self._data)
        self._read_sources(table.pop("sources", {}))
        title = table.pop("title", None)
        if not _is_text(title):
            raise self._refuse("title must be a string that is not empty", title, "title")
        self._require_figures()
        table = self._with_groups(table)
        values = self._values(Machine, table, "", {"title": title, "sources": self._sources, "name": "", "figures": ()})
        changed = {one.key: _plain(one.value) for one in self._figures if one.kind == "user" and one.key in self._given}
        machine = Machine(**values | {"name": str(MachineChoice(name, changed)), "figures": tuple(self._figures)})
        wrong = next(contradictions(machine), None)
        if wrong is not None:
            raise BadInput(f"{wrong.rule}, got {wrong.found} ({self._where}: {wrong.key})")
        return machine

    def _require_figures(self) -> None:
        """Refuse a user's figure that does not exist, or whose value is not allowed."""
        for key, value in self._given.items():
            known = figure_key(key)
            if key in NOT_SIMULATED:
                raise BadFigure(f"machine.{key} cannot be set: {NOT_SIMULATED[key]}", key)
            if known is None:
                keys = [one for one in figure_keys() if one.count(".") == key.count(".")] or [*figure_keys()]
                near = nearest(key, keys) or nearest(key, figure_keys())
                hint = f', did you mean "machine.{near}"?' if near else ""
                raise BadFigure(f'unknown key "machine.{key}"{hint}', key)
            whole = isinstance(value, list) and bool(value) if known.is_list else not isinstance(value, list)
            if not whole or not all(map(known.unit.allows, value if known.is_list else [value])):
                unit = "" if known.unit.name == "bool" or known.unit.only is not None else f" ({known.unit.name})"
                raise BadFigure(f"machine.{key} must be {known.allowed}{unit}, got {json.dumps(value)}", key)

    def _with_groups(self, table: dict[str, Any]) -> dict[str, Any]:
        """
        Return the file's tables with the groups of SMs scaled to the number of SMs that a user has set.

        If a group would have no SM, the groups are left out.
        """
        launch = table.get("launch", {})
        units = launch.get("units") if isinstance(launch, dict) else None
        if "sms" not in self._given or not isinstance(units, dict) or any(key in self._given for key in _GROUPS):
            return table
        try:
            sizes = [units["ahead"]["value"], *units["others"]["value"]]
            ahead, *others = in_proportion(sizes, self._given["sms"])
        except (KeyError, TypeError, ZeroDivisionError):
            return table  # invalid; the error is raised where it is read
        if min(ahead, *others) < 1:
            return table | {"launch": {key: value for key, value in launch.items() if key not in {"units", "cpcs"}}}
        self._follows = dict(zip(_GROUPS, (ahead, others), strict=True))
        return table

    def _refuse(self, rule: str, found: object, key: str) -> BadInput:
        return BadInput(f"{rule}, got {'nothing' if found is None else repr(found)} ({self._where}: {key})")

    def _left_out(self, key: str) -> BadInput:
        return BadInput(f"{key} must be left out: {NOT_SIMULATED[key]} ({self._where}: {key})")

    def _read_sources(self, table: object) -> None:
        if not isinstance(table, dict):
            raise self._refuse("sources must be a table", table, "sources")
        for key, source in table.items():
            if not isinstance(source, dict) or "title" not in source:
                raise self._refuse("a source must be a table with a title", source, f"sources.{key}")
            self._refuse_unknown(source, _SOURCE_KEYS, f"sources.{key}.")
            self._require_text(source, _SOURCE_KEYS, f"sources.{key}")
            self._sources[key] = source["title"]

    def _refuse_unknown(self, table: Mapping[str, object], allowed: tuple[str, ...], prefix: str) -> None:
        for key in table:
            if key not in allowed:
                if prefix + key in NOT_SIMULATED:
                    raise self._left_out(prefix + key)
                near = nearest(key, allowed)
                hint = f'did you mean "{near}"?' if near else f"allowed: {', '.join(allowed)}"
                raise BadInput(f'unknown key "{key}", {hint} ({self._where}: {prefix}{key})')

    def _values(self, spec: type[Any], table: object, prefix: str, given: Mapping[str, object]) -> dict[str, Any]:
        """Return the attributes of a spec dataclass, read from its table, together with the ``given`` ones."""
        key = prefix.removesuffix(".")
        if not isinstance(table, dict):
            raise self._refuse(f"{key} must be a table", table, key)
        hints = hints_of(spec)
        names = [field.name for field in dataclasses.fields(spec) if field.name not in given]
        marks = {name: getattr(hints[name], "__metadata__", (None,))[0] for name in names}
        self._refuse_unknown(table, tuple(name for name in names if not isinstance(marks[name], Inherited)), prefix)
        values = dict(given)
        for name in names:
            mark = marks[name]
            if isinstance(mark, Inherited):
                values[name] = self._data[mark.name]["value"]
            elif isinstance(mark, FigureUnit):
                values[name] = self._figure_of(get_args(hints[name])[0], mark, table.get(name), prefix + name)
            else:
                values[name] = self._table(hints[name], table.get(name), prefix + name)
        return values

    def _table(self, hint: Any, found: object, key: str) -> object:
        if found is None and any(one.startswith(f"{key}.") for one in self._given):
            found = {}
        if get_origin(hint) is types.UnionType:
            spec = next(member for member in get_args(hint) if member is not types.NoneType)
            return None if found is None else spec(**self._values(spec, found, f"{key}.", {}))
        if get_origin(hint) is dict:
            return self._pipes(get_args(hint)[1], found, key)
        return hint(**self._values(hint, found, f"{key}.", {}))

    def _pipes(self, spec: type[PipeSpec], found: object, key: str) -> dict[str, PipeSpec]:
        if not isinstance(found, dict):
            raise self._refuse(f"{key} must be a table", found, key)
        if key == "pipes":
            self._refuse_unknown(found, PIPES, f"{key}.")
            names = PIPES
        else:
            more = (one.partition(".")[2] for one in self._given if one.startswith("tensor."))
            names = tuple(dict.fromkeys([*found, *(match[0] for one in more if (match := TENSOR_NAME.match(one)))]))
            for name in names:
                if not TENSOR_NAME.fullmatch(name):
                    raise self._refuse("tensor keys must read like m16n8k16.f16.f32", name, f"{key}.{name}")
        tables = {name: self._table(spec, found.get(name), f"{key}.{name}") for name in names}
        return cast("dict[str, PipeSpec]", tables)

    def _figure_of(self, hint: Any, unit: FigureUnit, found: object, key: str) -> object:
        """Return a figure's value, or None for an optional figure that is absent."""
        if found is not None and key in NOT_SIMULATED:
            raise self._left_out(key)
        if get_origin(hint) is not types.UnionType:
            return self._figure(hint, unit, found, key)
        left_out = found is None and key not in self._given
        return None if left_out else self._figure(get_args(hint)[0], unit, found, key)

    def _figure(self, hint: Any, unit: FigureUnit, found: object, key: str) -> object:
        table, _, name = key.rpartition(".")
        if found is None and key in self._given:
            return self._set(unit, key, self._given[key], "the file has none")
        if found is None and any(one.startswith(f"{table}.") for one in self._given) and table not in self._data:
            raise BadFigure(f"machine.{key} must be given, too: {self._where} has no {table}", key)
        if not isinstance(found, dict):
            raise self._refuse(f"{name} must be a record {{ value, unit, kind, source or why }}", found, key)
        self._refuse_unknown(found, _RECORD_KEYS, f"{key}.")
        value = self._value(hint, unit, found, key)
        instead = self._given.get(key, self._follows.get(key))
        if instead is not None and instead != _plain(value):
            place = f"in place of {printed_value(value)}" + (", in proportion to sms" if key in self._follows else "")
            return self._set(unit, key, instead, place)
        kind, source, why = found.get("kind"), found.get("source"), found.get("why")
        fitted_on = self._notes(found, key)
        if kind not in FIGURE_KINDS:
            raise self._refuse(f"kind must be one of {', '.join(FIGURE_KINDS)}", kind, f"{key}.kind")
        if kind == "assumed" and not why:
            raise self._refuse("an assumed figure must say why", why, f"{key}.why")
        if kind == "fitted" and not fitted_on:
            raise self._refuse("a fitted figure must list the runs it was fitted on", None, f"{key}.fitted_on")
        if source is None and kind != "assumed":
            raise self._refuse(f"a {kind} figure must name a source", source, f"{key}.source")
        if source is not None and source not in self._sources:
            raise self._refuse(f"source must be one of {', '.join(self._sources)}", source, f"{key}.source")
        self._figures.append(
            FigureRecord(key, value, unit.name, kind, source or "", found.get("at", ""), why or "", fitted_on)
        )
        return value

    def _set(self, unit: FigureUnit, key: str, value: Any, why: str) -> object:
        """Record and return a value that a user has set, or that follows from one."""
        kept = tuple(value) if isinstance(value, list) else value
        self._figures.append(FigureRecord(key, kept, unit.name, "user", "", "", why, ()))
        return kept

    def _value(self, hint: Any, unit: FigureUnit, found: Mapping[str, object], key: str) -> Any:
        """Return the value of a figure of the right type, size and unit."""
        value: Any = found.get("value")
        several = hint == tuple[int, ...]
        if several and (not isinstance(value, list) or not value):
            raise self._refuse(f"value must be a list, each {unit.allowed}", value, f"{key}.value")
        for one in value if several else [value]:
            if not unit.allows(one):
                raise self._refuse(f"value must be {unit.allowed}", one, f"{key}.value")
        if found.get("unit") != unit.name:
            raise self._refuse(f"unit must be {unit.name!r}", found.get("unit"), f"{key}.unit")
        return tuple(value) if several else value

    def _require_text(self, found: Mapping[str, object], names: Iterable[str], key: str) -> None:
        for name in names:
            if name in found and not _is_text(found[name]):
                raise self._refuse(f"{name} must be a string that is not empty", found[name], f"{key}.{name}")

    def _notes(self, found: Mapping[str, object], key: str) -> tuple[str, ...]:
        """Check the types of a figure's notes, and return the runs that it was fitted on."""
        self._require_text(found, _RECORD_TEXTS, key)
        spread = found.get("spread", [0, 0])
        if not isinstance(spread, list) or list(map(type, spread)) != [int, int] or not 0 <= spread[0] <= spread[1]:
            raise self._refuse("spread must be two integers, the smaller one first", spread, f"{key}.spread")
        fitted_on = found.get("fitted_on", [])
        if not isinstance(fitted_on, list) or not all(map(_is_text, fitted_on)):
            raise self._refuse("fitted_on must be a list of strings", fitted_on, f"{key}.fitted_on")
        return tuple(fitted_on)
