"""The keys of a scenario by kind: their JSON Schema, meanings, allowed values and defaults."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel

from gpusim.scenario.text import toml_value

_MOST_EXTENT = 2**31 - 1
_NOT_SHOWN = ("title", "supported", "discriminator")


@dataclass(frozen=True, slots=True)
class ScenarioKey:
    """
    One key of a scenario.

    Attributes:
        key: Dotted key, as ``--set`` takes it.
        values: Allowed values, in words.
        default: Default value in TOML; empty if the key is required, or if its
            default follows from other keys.
        required: Whether the key must be given.
        meaning: Description of the key.
    """

    key: str
    values: str
    default: str
    required: bool
    meaning: str


def schema_of(model: type[BaseModel], narrowed: Mapping[str, Sequence[object]]) -> dict[str, Any]:
    """
    Return the JSON Schema of a scenario file of one kind, which lists only values that the kind has.

    Args:
        model: Model of the file.
        narrowed: Allowed values, by dotted key, of keys for which the kind has fewer than the model.
    """
    schema = model.model_json_schema()
    found: dict[str, Any] = _inlined(schema, schema.get("$defs", {}))
    for key, values in narrowed.items():
        of = found
        for name in key.split("."):
            of = of["properties"][name]
        of["enum"] = [list(one) if isinstance(one, tuple) else one for one in values]
    found["properties"]["problem"]["required"] = ["kind", *found["properties"]["problem"].get("required", [])]
    return found


def keys_of(schema: Mapping[str, Any]) -> Iterator[ScenarioKey]:
    """Yield the dotted keys of a scenario, with the required keys of each table first."""
    yield from _keys(schema, "")


def shared_keys(keys: Mapping[str, Sequence[ScenarioKey]]) -> dict[tuple[str, ...], list[ScenarioKey]]:
    """
    Group the keys by the kinds that have them, so that each occurs once; keys of most kinds come first.

    Args:
        keys: Keys by kind.
    """
    kinds: dict[ScenarioKey, list[str]] = {}
    for kind, own in keys.items():
        for key in own:
            kinds.setdefault(key, []).append(kind)
    found: dict[tuple[str, ...], list[ScenarioKey]] = {}
    for key, names in kinds.items():
        found.setdefault(tuple(names), []).append(key)
    return dict(sorted(found.items(), key=lambda item: -len(item[0])))


def _inlined(part: Any, tables: Mapping[str, Any]) -> Any:
    """Return a part of a schema with referenced tables inlined, and with only the values that work today."""
    if isinstance(part, list):
        return [_inlined(one, tables) for one in part]
    if not isinstance(part, dict):
        return part
    if "$ref" in part:
        table = tables[part["$ref"].rpartition("/")[2]]
        about = {key: part[key] for key in ("description",) if key in part}
        return _inlined(table, tables) | about
    options = [one for one in part.get("anyOf", ()) if one != {"type": "null"}]  # TOML has no null
    if len(options) == 1:
        part = {**options[0], **{key: value for key, value in part.items() if key != "anyOf"}}
    if "supported" in part:
        kept = {key: part[key] for key in ("default", "description", "type") if key in part}
        return {"enum": part["supported"], **kept}
    properties = {name: _inlined(one, tables) for name, one in part.get("properties", {}).items()}
    rest = {
        key: _inlined(value, tables)
        for key, value in part.items()
        if key not in {*_NOT_SHOWN, "$defs", "properties"} and not (key == "default" and isinstance(value, dict))
    }
    return {**rest, **({"properties": properties} if properties else {})}


def _keys(table: Mapping[str, Any], prefix: str) -> Iterator[ScenarioKey]:
    required = table.get("required", ())
    for name, of in sorted(table["properties"].items(), key=lambda one: (one[0] != "kind", one[0] not in required)):
        if "properties" in of:
            yield from _keys(of, f"{prefix}{name}.")
            continue
        default = of.get("default")
        shown = "" if name in required or default is None else toml_value(default)
        yield ScenarioKey(
            prefix + name, _values(of), shown, name in required, of.get("description", "Kind of the problem.")
        )


def _values(of: Mapping[str, Any]) -> str:
    """Return the allowed values of a key, in words."""
    if "const" in of:
        return toml_value(of["const"])
    if "anyOf" in of:
        return " | ".join(_values(one) for one in of["anyOf"] if one.get("type") != "null")
    if "enum" in of:
        return " | ".join(toml_value(one) for one in of["enum"])
    if of.get("type") == "array":
        items = of.get("prefixItems")
        if items is None:
            return f"a list, each {_values(of['items'])}"
        return f"[{', '.join('integer' for _ in items)}], each at least {items[0]['minimum']}"
    least, most = of.get("minimum"), of.get("maximum")
    bounds = (
        "" if least is None else f", at least {least}" + ("" if most in {None, _MOST_EXTENT} else f", at most {most}")
    )
    return ("true | false" if of["type"] == "boolean" else str(of["type"])) + bounds
