"""Scenario text: where a value was written, how a message shows it, and how plain data is printed as TOML."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from gpusim.errors import BadInput
from gpusim.machine.text_file import MOST_KEY_PARTS, parse_toml

_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")


def toml_value(value: object) -> str:
    """
    Return one value in TOML, on one line.

    Raises:
        TypeError: TOML has no form for the value (None, for example).
    """
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, str):
        return quoted(value)
    if isinstance(value, Mapping):
        inner = ", ".join(f"{bare_or_quoted(str(key))} = {toml_value(item)}" for key, item in value.items())
        return f"{{ {inner} }}" if inner else "{}"
    if isinstance(value, Sequence):
        return f"[{', '.join(toml_value(item) for item in value)}]"
    raise TypeError(f"TOML has no form for {type(value).__name__}")


def write_toml(data: Mapping[str, object]) -> str:
    """
    Return plain data as TOML text, for which ``tomllib.loads`` gives the data back.

    Tables that hold only scalars and lists, two levels down or deeper, are written inline.
    """
    return "\n".join(_lines(data, "")).strip("\n") + "\n"


def _lines(table: Mapping[str, object], prefix: str) -> list[str]:
    nested = {
        key: value
        for key, value in table.items()
        if isinstance(value, Mapping) and (not prefix or any(isinstance(item, Mapping) for item in value.values()))
    }
    lines = [f"{bare_or_quoted(key)} = {toml_value(value)}" for key, value in table.items() if key not in nested]
    for key, value in nested.items():
        name = f"{prefix}{bare_or_quoted(key)}"
        lines += ["", f"[{name}]", *_lines(value, f"{name}.")]
    return lines


def bare_or_quoted(key: str) -> str:
    """Return a key in TOML, quoted if it needs quotes."""
    return key if _BARE_KEY.fullmatch(key) else quoted(key)


def quoted(text: str) -> str:
    """Return text as a TOML basic string: JSON's escapes, and DEL, which JSON does not escape."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def shown(value: object) -> str:
    """Return a value as messages show it: in TOML, shortened if it is long."""
    try:
        text = toml_value(value)
    except TypeError:
        text = str(value)
    return text if len(text) <= 60 else text[:57] + "..."


def read_override(text: str) -> tuple[str, object]:
    """
    Parse ``key=value`` into key and value; the value is TOML or, failing that, a bare string.

    Raises:
        BadInput: There is no key or no "=".
    """
    key, equals, right = text.partition("=")
    key, right = key.strip(), right.strip()
    if "\n" in text or not equals or not all(_BARE_KEY.fullmatch(part) for part in key.split(".")):
        raise BadInput(f"--set must be KEY=VALUE with a dotted key, got {shown(text)}")
    if len(key.split(".")) > MOST_KEY_PARTS:
        raise BadInput(f"--set must be KEY=VALUE with at most {MOST_KEY_PARTS} parts of KEY, got {shown(text)}")
    try:
        return key, parse_toml(f"value = {right}")["value"]
    except ValueError:  # not TOML, or an integer of thousands of digits
        return key, right


@dataclass(frozen=True, slots=True)
class Origin:
    """
    Places at which the values of a scenario were written.

    Attributes:
        file: Name of the scenario file in messages.
        overrides: The ``--set`` text that gave each dotted key.
    """

    file: str
    overrides: Mapping[str, str] = field(default_factory=dict)

    def at(self, key: str) -> str:
        """Return the place of a dotted key, for the end of a message."""
        for name, text in self.overrides.items():
            if key == name or key.startswith(f"{name}."):
                return f"{self.file}: {key}, by --set {text}"
        return f"{self.file}: {key}"

    def require(self, holds: bool, key: str, rule: str, found: object) -> None:
        """
        Refuse a value unless its rule holds.

        Raises:
            BadInput: The rule does not hold: ``refusal``.
        """
        if not holds:
            raise self.refusal(key, rule, found)

    def refusal(self, key: str, rule: str, found: object) -> BadInput:
        """
        Return the error "NAME must be RULE, got FOUND (PLACE)".

        Args:
            key: Dotted key. NAME is its last part, or its last two parts in a table within a table.
            rule: The rule: the allowed values.
            found: The value; None means that the key is missing.
        """
        got = "nothing" if found is None else shown(found)
        parts = key.split(".")
        name = ".".join(parts[-1:] if len(parts) < 3 else parts[-2:])
        return BadInput(f"{name} must be {rule}, got {got} ({self.at(key)})")
