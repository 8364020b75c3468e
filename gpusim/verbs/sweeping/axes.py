"""The axes of a sweep: the keys that vary, their values, and the points of their product."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any, Final

from gpusim.errors import BadInput
from gpusim.machine.text_file import parse_toml, read_text_file
from gpusim.scenario.text import read_override, toml_value

LOOSE_KEYS: Final = ("machine", "file", "entry", "grid", "block", "shared_bytes")
"""Keys of scenarios that lie in no table: the machine, and those of a kernel of the user's own."""

_TABLES: Final = frozenset({"problem", "kernel", "machine", "arguments", "defines"})

_OPENING, _CLOSING, _QUOTES = "[{", "]}", "\"'"


@dataclass(frozen=True, slots=True)
class Axis:
    """
    One axis of a sweep.

    Attributes:
        name: The key that varies, or the name of several keys that vary together.
        settings: Keys and values of each position on the axis. Every position sets the same keys.
    """

    name: str
    settings: tuple[dict[str, Any], ...]

    @property
    def keys(self) -> tuple[str, ...]:
        """Keys that the axis sets."""
        return tuple(self.settings[0])


def axes_of_texts(texts: Sequence[str]) -> tuple[Axis, ...]:
    """
    Read axes as ``--over`` takes them: ``KEY=VALUE,VALUE,...``, each value in TOML or a bare word.

    Raises:
        BadInput: A text is not of this form, or the axes contradict each other.
    """
    over: dict[str, list[Any]] = {}
    for text in texts:
        key, equals, values = text.partition("=")
        if not equals or not values.strip():
            raise BadInput(f"--over must be KEY=VALUE,VALUE,..., got {text!r}")
        read = [read_override(f"{key}={value}") for value in _split(values)]
        if key.strip() in over:
            raise BadInput(f"--over names {key.strip()} twice")
        over[key.strip()] = [value for _, value in read]
    return axes_of(over, "--over")


def axes_of_file(path: Path) -> tuple[Axis, ...]:
    """
    Read axes from a TOML file.

    A key of a scenario has a list of values: ``kernel.stages = [3, 4, 5]``. An array of tables under any other name is
    an axis of several keys that vary together, such as a threadblock tile with its warps.

    Raises:
        BadInput: The file is missing, is not TOML, or is not of this form.
    """
    try:
        data = parse_toml(read_text_file(path, what="file of axes"))
    except OSError as error:
        raise BadInput(f"--axes must be a readable file, got {str(path)!r} ({error.strerror or error})") from error
    except ValueError as error:
        raise BadInput(f"--axes must be TOML: {error} ({path})") from error
    return axes_of(dict(_flat(data, "")), str(path))


def axes_of(over: Mapping[str, Sequence[Any]], where: str) -> tuple[Axis, ...]:
    """
    Return the axes of a mapping from key to values, or from a name to tables of keys that vary together.

    Args:
        over: Values by key. The values of a name without a dot are tables, but those of ``LOOSE_KEYS``.
        where: Origin of the axes, for messages.

    Raises:
        BadInput: An axis is empty or has a value twice, a key is on two axes, or tables have different keys.
    """
    axes = tuple(_axis(name, values, where) for name, values in over.items())
    if not axes:
        raise BadInput(f"a sweep needs an axis: --over KEY=VALUE,VALUE,... ({where})")
    seen: dict[str, str] = {}
    for axis in axes:
        for key in axis.keys:
            if key in seen:
                raise BadInput(f"{key} must stand on one axis, got {seen[key]} and {axis.name} ({where})")
            seen[key] = axis.name
    return axes


def points_of(axes: Sequence[Axis]) -> list[dict[str, Any]]:
    """Return the settings of every point: the product of the axes, of which the last one varies fastest."""
    return [
        {key: value for setting in chosen for key, value in setting.items()}
        for chosen in product(*(axis.settings for axis in axes))
    ]


def cell(value: Any) -> Any:
    """Return a value for a table: numbers, words and truth values unchanged, lists and tables as TOML text."""
    return value if isinstance(value, bool | int | float | str) else toml_value(value)


def _axis(name: str, values: Sequence[Any], where: str) -> Axis:
    if isinstance(values, str | Mapping) or not isinstance(values, Sequence) or not values:
        raise BadInput(f"{name} must have a list of values, at least one, got {values!r} ({where})")
    together = "." not in name and name not in LOOSE_KEYS
    if together and not all(isinstance(value, Mapping) for value in values):
        raise BadInput(f"{name} is no key of a scenario, so its values must be tables of keys ({where})")
    settings = tuple(dict(_leaves(value, "")) if together else {name: value} for value in values)
    if any(set(one) != set(settings[0]) for one in settings):
        raise BadInput(f"every table of {name} must set the same keys ({where})")
    if any(one in settings[:number] for number, one in enumerate(settings)):
        raise BadInput(f"{name} must have no value twice ({where})")
    return Axis(name, settings)


def _flat(data: Mapping[str, Any], prefix: str) -> Iterator[tuple[str, Any]]:
    """Yield the lists of nested tables by dotted key."""
    for key, value in data.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value


def _leaves(table: Mapping[str, Any], prefix: str) -> Iterator[tuple[str, Any]]:
    """Yield the values of a table by dotted key. Tables of a scenario may be written as tables or with dots."""
    for key, value in table.items():
        if isinstance(value, Mapping) and (key in _TABLES or prefix.startswith("machine.")):
            yield from _leaves(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value


def _split(text: str) -> list[str]:
    """Split at the commas outside of brackets and quotes."""
    parts, depth, quote, begin = list[str](), 0, "", 0
    for at, letter in enumerate(text):
        if quote:
            quote = "" if letter == quote else quote
        elif letter in _QUOTES:
            quote = letter
        elif letter in _OPENING:
            depth += 1
        elif letter in _CLOSING:
            depth -= 1
        elif letter == "," and not depth:
            parts.append(text[begin:at])
            begin = at + 1
    parts.append(text[begin:])
    return [part.strip() for part in parts]
