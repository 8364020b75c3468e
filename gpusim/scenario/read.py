"""The reader of scenario files: from TOML to a validated ``Scenario`` of any of the given kinds."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from pydantic import BaseModel, Field, StrictStr, ValidationError, create_model

from gpusim.errors import BadInput, nearest, printable
from gpusim.machine import Machine, load_machine
from gpusim.machine.changes import BadFigure, MachineChoice, read_choice, with_figure
from gpusim.machine.load import is_path
from gpusim.machine.text_file import STANDARD_INPUT, parse_toml, read_text_file
from gpusim.scenario.keys import ScenarioKey, keys_of, schema_of
from gpusim.scenario.models import MACHINE_TEXT, Reading, Rule, Scenario, Table
from gpusim.scenario.text import Origin, bare_or_quoted, quoted, read_override, shown

# Message for each pydantic error type; the fields in braces come from the error's context.
_RULES = {
    "bool_type": "true or false",
    "finite_number": "a finite number",
    "float_type": "a number",
    "greater_than_equal": "at least {ge}",
    "int_type": "an integer",
    "less_than_equal": "at most {le}",
    "literal_error": "{expected}",
    "missing": "given",
    "model_type": "a table",
    "string_type": "a string",
    "model_attributes_type": "a table",
}


OWN_KIND = "kernel"
"""Value of ``kind`` in a scenario of a kernel of the user's own; other scenarios have ``problem.kind``."""

OWN_COMMANDS = "gpusim run, compare, explain, sweep and check-perf"
"""The commands that take such a scenario."""

_OF_MACHINE = "machine."
"""Prefix of a setting's key that overrides a figure of the machine."""


@dataclass(frozen=True, slots=True)
class Kind:
    """
    The functions that read scenarios of one problem kind.

    Attributes:
        name: Value of ``problem.kind``.
        problem: Model of the ``[problem]`` table.
        kernel: Model of the ``[kernel]`` table, which a file may leave out.
        scenario: Builds the scenario from machine, problem and kernel.
        check: Refuses a scenario that breaks a rule.
        narrowed: Allowed values, by dotted key, of keys for which the kind has fewer than its models.
    """

    name: str
    problem: type[Table]
    kernel: type[Table]
    scenario: Callable[..., Scenario]
    check: Callable[[Any, Machine, Origin], None]
    narrowed: Mapping[str, Sequence[object]] = field(default_factory=dict, hash=False)

    def schema(self) -> dict[str, Any]:
        """Return the JSON Schema of a scenario file of this kind."""
        return schema_of(_file_model(self), self.narrowed)

    def listed(self) -> tuple[ScenarioKey, ...]:
        """Return the keys of a scenario of this kind."""
        return tuple(keys_of(self.schema()))

    def reread(self, data: dict[str, Any], name: str) -> Scenario:
        """
        Read changed data of a scenario of this kind, which keeps its name.

        Raises:
            BadInput: A check does not hold.
        """
        return parse(Text(data, Origin(f"{name or 'scenario'}, changed"), Path(), name), (self,))


@dataclass(frozen=True, slots=True)
class Text:
    """
    A scenario as it was written.

    Attributes:
        data: Data as ``tomllib`` reads it, with the overrides.
        origin: Place at which each value was written.
        folder: Folder that a relative machine path starts from.
        name: Name of the scenario; empty for plain data.
    """

    data: Mapping[str, Any]
    origin: Origin
    folder: Path
    name: str = ""

    @property
    def kind(self) -> object:
        """Value at ``problem.kind``; None if there is none."""
        problem = self.data.get("problem")
        return problem.get("kind") if isinstance(problem, Mapping) else None

    @property
    def is_own(self) -> bool:
        """Whether it is a scenario of a kernel of the user's own (``own_kernel``)."""
        return "kind" in self.data


def read_text(path: str | Path, overrides: Iterable[str] = ()) -> Text:
    """
    Read a scenario's TOML file and apply overrides.

    Args:
        path: Path of the file; "-" for standard input.
        overrides: ``key=value`` with a dotted key and a TOML value or a bare word. The last override of a key wins.
            ``machine.KEY=value`` overrides one figure of the machine.

    Raises:
        BadInput: The file is missing or not TOML, or an override puts a value where a table is needed.
    """
    where = "standard input" if str(path) == STANDARD_INPUT else str(path)
    try:
        text = read_text_file(path, what="scenario")
    except OSError as error:
        reason = error.strerror or str(error)
        raise BadInput(f'scenario must be a readable file, got "{where}" ({reason})') from error
    except UnicodeDecodeError as error:
        raise BadInput(f"scenario must be UTF-8 text: {error.reason} at byte {error.start} ({where})") from error
    except ValueError as error:  # too large, or a path with a null byte
        raise BadInput(f"scenario must be a readable file: {error} ({shown(where)})") from error
    try:
        data = parse_toml(text)
    except ValueError as error:  # not TOML, a key too long, or an integer of thousands of digits
        raise BadInput(f"scenario must be TOML: {error} ({where})") from error
    return overridden(data, where, overrides, Path(path).parent, printable(Path(path).stem))


def overridden(data: dict[str, Any], where: str, overrides: Iterable[str], folder: Path, name: str = "") -> Text:
    """
    Apply overrides to plain data, in place.

    Args:
        data: Data as ``tomllib`` reads it; changed.
        where: Name of the data's origin in messages.
        overrides: ``key=value`` texts, as in ``read_text``.
        folder: Folder that a relative machine path starts from.
        name: Name of the scenario; empty for plain data.

    Raises:
        BadInput: An override puts a value where a table is needed.
    """
    texts = list(overrides)
    read = [read_override(override) for override in texts]
    given = {key: override for (key, _), override in zip(read, texts, strict=True)}
    origin = Origin(where, given)
    for key, value in sorted(read, key=lambda one: one[0].startswith(_OF_MACHINE)):  # figures after their machine
        if key.startswith(_OF_MACHINE):
            _set_figure(data, key, value, origin)
        else:
            _override(data, key, value, origin)
    return Text(data, origin, folder, name)


def _set_figure(data: dict[str, Any], key: str, value: object, origin: Origin) -> None:
    machine = data.get("machine")
    if not isinstance(machine, str):
        raise BadInput(f"machine must be a name or a path where {key} is set, got {shown(machine)} ({origin.at(key)})")
    data["machine"] = with_figure(machine, key.removeprefix(_OF_MACHINE), value)


def _override(data: dict[str, Any], key: str, value: object, origin: Origin) -> None:
    *tables, last = key.split(".")
    table = data
    for depth, name in enumerate(tables):
        table = table.setdefault(name, {})
        if not isinstance(table, dict):
            what = ".".join(tables[: depth + 1])
            raise BadInput(f"{what} must be a table, got {shown(table)} ({origin.at(key)})")
    table[last] = value


def parse(text: Text, kinds: Sequence[Kind], note: str = "") -> Scenario:
    """
    Build the scenario of a text and check every rule.

    Args:
        text: Scenario as it was written.
        kinds: Problem kinds that are allowed.
        note: Text that follows the allowed kinds in the message about another kind.

    Raises:
        BadInput: A rule is broken. The message is one line: what is allowed, what was found, file and key, and the
            ``--set`` that gave it.
    """
    kind = next((one for one in kinds if one.name == text.kind), kinds[0])
    if text.is_own:
        raise BadInput(
            f'{text.origin.file} is a scenario of a kernel of your own (kind = "{OWN_KIND}"),'
            f" which only {OWN_COMMANDS} take"
        )
    if isinstance(text.data.get("problem"), Mapping) and kind.name != text.kind:
        *others, last = (f'"{one.name}"' for one in kinds)
        allowed = f"{', '.join(others)} or {last}" if others else last
        raise text.origin.refusal("problem.kind", allowed + note, text.kind)
    model = _file_model(kind)
    try:
        read = model.model_validate(text.data)
    except ValidationError as error:
        raise _first_refusal(error, text, model) from error
    tables = {name: getattr(read, name) for name in model.model_fields}
    name, machine = machine_of(tables["machine"], text)
    scenario = kind.scenario(**tables | {"machine": name})
    kind.check(scenario, machine, text.origin)
    scenario.read_as(Reading(text.name, kind.reread))
    return scenario


@cache
def _file_model(kind: Kind) -> type[Table]:
    """Return the model of a scenario file of one kind."""
    tables: dict[str, Any] = {
        "machine": (StrictStr, Field(description=MACHINE_TEXT)),
        "problem": (kind.problem, ...),
        "kernel": (kind.kernel, kind.kernel()),
    }
    return create_model("Scenario", __base__=Table, **tables)


def schema(kinds: Sequence[Kind]) -> dict[str, Any]:
    """Return the JSON Schema of a scenario file, which must match the schema of one kind."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Scenario",
        "description": "One question: a problem, a kernel of its kind, and a machine.",
        "oneOf": [{"$ref": f"#/$defs/{kind.name}"} for kind in kinds],
        "$defs": {kind.name: kind.schema() for kind in kinds},
    }


def machine_of(name: str, text: Text) -> tuple[str, Machine]:
    """
    Return the machine, and its name in the scenario: a shipped name, or the full path of its file, with overridden
    figures.

    A relative path is resolved beside the scenario first, and then in the working directory; a path given by ``--set``
    in the opposite order.
    """
    choice = read_choice(name)
    base = choice.base
    if is_path(base):
        folders = (Path(), text.folder) if "machine" in text.origin.overrides else (text.folder, Path())
        places = [(folder / base).absolute() for folder in folders]
        base = str(next((place for place in places if _is_file(place)), places[0]))
        is_text = not any("\ud800" <= character <= "\udfff" for character in base)
        text.origin.require(is_text, "machine", "a path in UTF-8, which a scenario can state", base)
    try:
        machine = load_machine(str(MachineChoice(base, choice.figures)))
    except BadInput as error:
        key = f"{_OF_MACHINE}{error.key}" if isinstance(error, BadFigure) else "machine"
        raise BadInput(f"{error} ({text.origin.at(key)})") from error
    return str(MachineChoice(base, read_choice(machine.name).figures)), machine


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except ValueError:  # a null byte
        return False


def _first_refusal(error: ValidationError, text: Text, root: type[BaseModel]) -> BadInput:
    """Return one of pydantic's errors: a misspelt key before the key that is missing due to it, else the first."""
    found = error.errors(include_url=False)
    first = min(found, key=lambda item: item["type"] != "extra_forbidden")
    # An error inside a list, or in one of several types, is reported at the key.
    names = _keys([part for part in first["loc"] if isinstance(part, str)], root)
    key = ".".join(names)
    table = _table_model(names[:-1], root)
    if first["type"] == "extra_forbidden":
        return _unknown_key(names, table, text.origin)
    value: Any = text.data
    for name in names:
        value = value.get(name) if isinstance(value, Mapping) else None
    rules = [rule.text for rule in table.model_fields[names[-1]].metadata if isinstance(rule, Rule)]
    rule = rules[0] if rules else _RULES[first["type"]].format_map(first.get("ctx", {})).replace("'", '"')
    return text.origin.refusal(key, rule, value)


def _unknown_key(names: list[str], model: type[BaseModel], origin: Origin) -> BadInput:
    allowed = list(model.model_fields)
    near = nearest(names[-1], allowed)
    hint = f'did you mean "{near}"?' if near else f"allowed: {', '.join(allowed)}"
    place = origin.at(".".join(map(bare_or_quoted, names)))
    return BadInput(f"unknown key {quoted(names[-1])}, {hint} ({place})")


def _keys(names: list[str], root: type[BaseModel]) -> list[str]:
    """Return the leading names that are keys: those of tables, and one in the last of these."""
    model: Any = root
    for count, name in enumerate(names, 1):
        field = model.model_fields.get(name)
        if field is None or not (isinstance(field.annotation, type) and issubclass(field.annotation, BaseModel)):
            return names[:count]
        model = field.annotation
    return names


def _table_model(names: list[str], root: type[BaseModel]) -> type[BaseModel]:
    model = root
    for name in names:
        annotation: Any = model.model_fields[name].annotation
        model = annotation
    return model
