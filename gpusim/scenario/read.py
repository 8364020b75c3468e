"""A scenario file, read and validated: from TOML to a ``Scenario`` whose every check holds, and back."""

import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, StrictStr, ValidationError

from gpusim.element_types import element_bits
from gpusim.errors import BadInput, nearest
from gpusim.families.attention.checks import check_attention
from gpusim.families.attention.problem import AttentionKernel, AttentionProblem, AttentionScenario
from gpusim.machine import Machine, load_machine
from gpusim.machine.load import is_path
from gpusim.scenario.checks import check
from gpusim.scenario.cutlass_name import parse_name
from gpusim.scenario.models import (
    PROBLEMS,
    Conv2dFpropProblem,
    DTypes,
    GemmProblem,
    Kernel,
    Problem,
    Rule,
    Scenario,
    SharedLayouts,
    Table,
)
from gpusim.scenario.text import Origin, bare_or_quoted, quoted, read_override, shown, write_toml

__all__ = [
    "AnyScenario",
    "AttentionScenario",
    "Conv2dFpropProblem",
    "DTypes",
    "GemmProblem",
    "Kernel",
    "Problem",
    "Scenario",
    "SharedLayouts",
    "element_bits",
    "load_any_scenario",
    "load_scenario",
    "named_scenario",
    "parse_any_scenario",
    "parse_scenario",
    "scenario_schema",
    "write_toml",
]

AnyScenario: TypeAlias = Scenario | AttentionScenario

ATTENTION = "attention"

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
    The GEMM or convolution of a TOML file, as ``load_any_scenario`` reads it.

    Raises:
        BadInput: As there, or it asks about attention.
    """
    data, origin, folder = _read(path, overrides)
    return _parse(data, origin, folder)


def load_any_scenario(path: str | Path, overrides: Iterable[str] = ()) -> AnyScenario:
    """
    The scenario of a TOML file, all checks held.

    Args:
        path: The file. A machine given as a path is relative to its folder.
        overrides: ``key=value`` with a dotted key and a TOML value or a bare word; the last one of a key holds.

    Raises:
        BadInput: The file is missing or no TOML, or a check does not hold. One line: what is allowed, what was found,
            file and key, and the ``--set`` that gave it.
    """
    data, origin, folder = _read(path, overrides)
    return _parse_any(data, origin, folder)


def _read(path: str | Path, overrides: Iterable[str]) -> tuple[dict[str, Any], Origin, Path]:
    """The data of a file with its overrides, where each value was written, and the file's folder."""
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
    return data, _overridden(data, str(path), overrides), Path(path).parent


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
    data = parse_name(name)
    return _parse(data, _overridden(data, name, overrides), Path())


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


def parse_any_scenario(data: Mapping[str, Any], where: str) -> AnyScenario:
    """As ``parse_scenario``, of attention too."""
    return _parse_any(data, Origin(where), Path(where).parent)


def scenario_schema() -> dict[str, Any]:
    """JSON Schema of a scenario file. ``supported`` lists which of the documented values of a key work today."""
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **_EveryScenario.model_json_schema()}


class _EveryScenario(Table):
    """One question: a problem, a kernel of its kind, a machine."""

    model_config = ConfigDict(title="Scenario")
    machine: StrictStr = Field(description="A machine file that ships with gpusim, or the path of one.")
    problem: Annotated[Problem | AttentionProblem, Field(discriminator="kind")]
    kernel: Kernel | AttentionKernel = Field(Kernel(), description="An AttentionKernel for attention, else a Kernel.")


def _overridden(data: dict[str, Any], where: str, overrides: Iterable[str]) -> Origin:
    """Put the overrides into the data; where each value was written."""
    given: dict[str, str] = {}
    for override in overrides:
        key, value = read_override(override)
        given[key] = override
        _override(data, key, value, Origin(where, given))
    return Origin(where, given)


def _override(data: dict[str, Any], key: str, value: object, origin: Origin) -> None:
    *tables, last = key.split(".")
    table = data
    for depth, name in enumerate(tables):
        table = table.setdefault(name, {})
        if not isinstance(table, dict):
            what = ".".join(tables[: depth + 1])
            raise BadInput(f"{what} must be a table, got {shown(table)} ({origin.at(key)})")
    table[last] = value


def _parse_any(data: Mapping[str, Any], origin: Origin, folder: Path) -> AnyScenario:
    kind = _kind(data)
    if kind != ATTENTION:
        _check_kind(data, (*PROBLEMS, ATTENTION), "", origin)
        return _parse(data, origin, folder)
    try:
        scenario = AttentionScenario.model_validate(data)
    except ValidationError as error:
        raise _first_refusal(error, data, AttentionScenario, kind, origin) from error
    name, machine = _machine(scenario.machine, origin, folder)
    check_attention(scenario, machine, origin)
    return scenario.model_copy(update={"machine": name})


def _parse(data: Mapping[str, Any], origin: Origin, folder: Path) -> Scenario:
    kind = _kind(data)
    _check_kind(data, tuple(PROBLEMS), " for this command" if kind == ATTENTION else "", origin)
    try:
        scenario = Scenario.model_validate(data)
    except ValidationError as error:
        raise _first_refusal(error, data, Scenario, kind, origin) from error
    name, machine = _machine(scenario.machine, origin, folder)
    scenario = scenario.model_copy(update={"machine": name})
    check(scenario, machine, origin)
    return scenario


def _machine(name: str, origin: Origin, folder: Path) -> tuple[str, Machine]:
    """A machine as the scenario keeps it: its name or the whole path of its file; and what is in it."""
    if is_path(name):
        name = str((folder / name).absolute())
    try:
        return name, load_machine(name)
    except BadInput as error:
        raise BadInput(f"{error} ({origin.at('machine')})") from error


def _kind(data: Mapping[str, Any]) -> object:
    problem = data.get("problem")
    return problem.get("kind") if isinstance(problem, Mapping) else None


def _check_kind(data: Mapping[str, Any], kinds: tuple[str, ...], note: str, origin: Origin) -> None:
    kind = _kind(data)
    if isinstance(data.get("problem"), Mapping) and (not isinstance(kind, str) or kind not in kinds):
        *others, last = (f'"{name}"' for name in kinds)
        raise origin.refusal("problem.kind", f"{', '.join(others)} or {last}{note}", kind)


def _first_refusal(
    error: ValidationError, data: Mapping[str, Any], root: type[BaseModel], kind: object, origin: Origin
) -> BadInput:
    """The one line for what pydantic found: a misspelt key before what it makes missing, else the first."""
    found = error.errors(include_url=False)
    first = min(found, key=lambda item: item["type"] != "extra_forbidden")
    # Inside a problem of several kinds pydantic puts the kind into the path; an index into a list belongs to the list's
    # key.
    skipped = 2 if first["loc"][0] == "problem" and root is Scenario else 1
    path = first["loc"][:1] + first["loc"][skipped:]
    names = [part for part in path if isinstance(part, str)]
    key = ".".join(names)
    if first["type"] == "extra_forbidden":
        return _unknown_key(names, _table_model(names[:-1], root, kind), origin)
    value: Any = data
    for name in names:
        value = value.get(name) if isinstance(value, Mapping) else None
    field = _table_model(names[:-1], root, kind).model_fields[names[-1]]
    rules = [rule.text for rule in field.metadata if isinstance(rule, Rule)]
    rule = rules[0] if rules else _RULES[first["type"]].format_map(first.get("ctx", {})).replace("'", '"')
    return origin.refusal(key, rule, value)


def _unknown_key(names: list[str], model: type[BaseModel], origin: Origin) -> BadInput:
    allowed = list(model.model_fields)
    near = nearest(names[-1], allowed)
    hint = f'did you mean "{near}"?' if near else f"allowed: {', '.join(allowed)}"
    place = origin.at(".".join(map(bare_or_quoted, names)))
    return BadInput(f"unknown key {quoted(names[-1])}, {hint} ({place})")


def _table_model(names: list[str], root: type[BaseModel], kind: object) -> type[BaseModel]:
    model = root
    for name in names:
        several = name == "problem" and root is Scenario
        annotation: Any = PROBLEMS[str(kind)] if several else model.model_fields[name].annotation
        model = annotation
    return model
