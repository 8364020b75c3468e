"""A scenario file, read and validated: from TOML to a ``Scenario`` whose every check holds, and back."""

import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ValidationError

from gpusim.cutlass_name import parse_name
from gpusim.errors import BadInput, nearest
from gpusim.machine import load_machine
from gpusim.machine.load import is_path
from gpusim.scenario_checks import check
from gpusim.scenario_models import (
    DOCUMENTED_PROBLEMS,
    PROBLEMS,
    Conv2dFpropProblem,
    DTypes,
    GemmProblem,
    Kernel,
    Problem,
    Rule,
    Scenario,
    SharedLayouts,
    element_bits,
)
from gpusim.scenario_text import Origin, bare_or_quoted, quoted, read_override, shown, write_toml

__all__ = [
    "Conv2dFpropProblem",
    "DTypes",
    "GemmProblem",
    "Kernel",
    "Problem",
    "Scenario",
    "SharedLayouts",
    "element_bits",
    "load_scenario",
    "named_scenario",
    "parse_scenario",
    "scenario_schema",
    "write_toml",
]


# What pydantic's error types mean for the reader; the fields are those of the error's context.
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


def load_scenario(path: str | Path, overrides: Iterable[str] = ()) -> Scenario:
    """
    The scenario of a TOML file, all checks held.

    Args:
        path: The file. A machine given as a path is relative to its folder.
        overrides: ``key=value`` with a dotted key and a TOML value or a bare word; the last one of a key holds.

    Raises:
        BadInput: The file is missing or no TOML, or a check does not hold. One line: what is allowed, what was found,
            file and key, and the ``--set`` that gave it.
    """
    try:
        text = Path(path).read_text(encoding="utf-8")
    except OSError as error:
        reason = error.strerror or str(error)
        raise BadInput(f'scenario must be a readable file, got "{path}" ({reason})') from error
    except UnicodeDecodeError as error:
        raise BadInput(f"scenario must be UTF-8 text: {error.reason} at byte {error.start} ({path})") from error
    try:
        data = tomllib.loads(text)
    except (ValueError, RecursionError) as error:  # ValueError: no TOML, or an integer of thousands of digits
        raise BadInput(f"scenario must be TOML: {error} ({path})") from error
    return _overridden(data, str(path), overrides, Path(path).parent)


def named_scenario(name: str, overrides: Iterable[str] = ()) -> Scenario:
    """
    The scenario of a kernel that CUTLASS's profiler names, all checks held.

    Args:
        name: As the profiler prints it (``cutlass_name``).
        overrides: As in ``load_scenario``; they must give the problem's extents. A machine given as a path is relative
            to the working directory.

    Raises:
        BadInput: It is no such name, an extent is missing, or a check does not hold.
    """
    return _overridden(parse_name(name), name, overrides, Path())


def parse_scenario(data: Mapping[str, Any], where: str) -> Scenario:
    """
    The scenario of plain data, all checks held.

    Args:
        data: As ``tomllib`` reads it.
        where: File name for messages; a machine given as a path is relative to its folder.

    Raises:
        BadInput: A check does not hold.
    """
    return _parse(data, Origin(where), Path(where).parent)


def scenario_schema() -> dict[str, Any]:
    """JSON Schema of a scenario file. ``supported`` lists which of the documented values of a key work today."""
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **Scenario.model_json_schema()}


def _overridden(data: dict[str, Any], where: str, overrides: Iterable[str], folder: Path) -> Scenario:
    given: dict[str, str] = {}
    for override in overrides:
        key, value = read_override(override)
        given[key] = override
        _override(data, key, value, Origin(where, given))
    return _parse(data, Origin(where, given), folder)


def _override(data: dict[str, Any], key: str, value: object, origin: Origin) -> None:
    *tables, last = key.split(".")
    table = data
    for depth, name in enumerate(tables):
        table = table.setdefault(name, {})
        if not isinstance(table, dict):
            what = ".".join(tables[: depth + 1])
            raise BadInput(f"{what} must be a table, got {shown(table)} ({origin.at(key)})")
    table[last] = value


def _parse(data: Mapping[str, Any], origin: Origin, folder: Path) -> Scenario:
    problem = data.get("problem")
    kind = problem.get("kind") if isinstance(problem, Mapping) else None
    if isinstance(problem, Mapping):
        _check_kind(kind, origin)
    try:
        scenario = Scenario.model_validate(data)
    except ValidationError as error:
        raise _first_refusal(error, data, kind, origin) from error
    machine_name = scenario.machine
    if is_path(machine_name):
        machine_name = str((folder / machine_name).absolute())
        scenario = scenario.model_copy(update={"machine": machine_name})
    try:
        machine = load_machine(machine_name)
    except BadInput as error:
        raise BadInput(f"{error} ({origin.at('machine')})") from error
    check(scenario, machine, origin)
    return scenario


def _check_kind(kind: object, origin: Origin) -> None:
    if not isinstance(kind, str) or kind not in PROBLEMS:
        names = " or ".join(f'"{name}"' for name in PROBLEMS)
        note = " (other values are not supported yet)" if kind in DOCUMENTED_PROBLEMS else ""
        raise origin.refusal("problem.kind", names + note, kind)


def _first_refusal(error: ValidationError, data: Mapping[str, Any], kind: object, origin: Origin) -> BadInput:
    """The one line for what pydantic found: a misspelt key before what it makes missing, else the first."""
    found = error.errors(include_url=False)
    first = min(found, key=lambda item: item["type"] != "extra_forbidden")
    # Inside the problem pydantic puts the kind into the path; an index into a list belongs to the list's key.
    path = first["loc"][:1] + first["loc"][2 if first["loc"][0] == "problem" else 1 :]
    names = [part for part in path if isinstance(part, str)]
    key = ".".join(names)
    if first["type"] == "extra_forbidden":
        return _unknown_key(names, _table_model(names[:-1], kind), origin)
    value: Any = data
    for name in names:
        value = value.get(name) if isinstance(value, Mapping) else None
    rules = [
        rule.text for rule in _table_model(names[:-1], kind).model_fields[names[-1]].metadata if isinstance(rule, Rule)
    ]
    rule = rules[0] if rules else _RULES[first["type"]].format_map(first.get("ctx", {})).replace("'", '"')
    return origin.refusal(key, rule, value)


def _unknown_key(names: list[str], model: type[BaseModel], origin: Origin) -> BadInput:
    allowed = list(model.model_fields)
    near = nearest(names[-1], allowed)
    hint = f'did you mean "{near}"?' if near else f"allowed: {', '.join(allowed)}"
    place = origin.at(".".join(map(bare_or_quoted, names)))
    return BadInput(f"unknown key {quoted(names[-1])}, {hint} ({place})")


def _table_model(names: list[str], kind: object) -> type[BaseModel]:
    model: type[BaseModel] = Scenario
    for name in names:
        annotation: Any = PROBLEMS[str(kind)] if name == "problem" else model.model_fields[name].annotation
        model = annotation
    return model
