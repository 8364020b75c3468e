"""The figures of a machine that a user has set, such as "h200 with sms = 66": how they are read and written."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate, pairwise
from typing import Any

from gpusim.errors import BadInput

_CHOICE = re.compile(r"(?P<base>.*?) with (?P<figures>[\w.-]+\s*=.*)", re.DOTALL)
_FIGURE = re.compile(r"([\w.-]+)\s*=\s*")


class BadFigure(BadInput):
    """
    A figure that a user has set is not allowed.

    Attributes:
        key: Dotted key of the figure.
    """

    def __init__(self, message: str, key: str) -> None:
        super().__init__(message)
        self.key = key


@dataclass(frozen=True, slots=True)
class MachineChoice:
    """
    A machine file, and the figures that override the file's.

    Attributes:
        base: Name or path of the file.
        figures: Values by dotted key, as plain data.
    """

    base: str
    figures: Mapping[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        """Return the text that ``read_choice`` reads: only the base if no figure is set."""
        figures = ", ".join(f"{key} = {json.dumps(value, default=str)}" for key, value in sorted(self.figures.items()))
        return f"{self.base} with {figures}" if figures else self.base


def read_choice(text: str) -> MachineChoice:
    """
    Read a machine as a scenario names it.

    Raises:
        BadInput: A figure is set twice.

    >>> read_choice("h200 with sms = 66, l2.bytes = 1048576").figures
    {'sms': 66, 'l2.bytes': 1048576}
    """
    found = _CHOICE.fullmatch(text)
    if found is None:
        return MachineChoice(text)
    figures: dict[str, Any] = {}
    for key, value in _figures(found["figures"]):
        if key in figures:
            raise BadInput(f"machine.{key} must be set once, got {figures[key]!r} and {value!r}")
        figures[key] = value
    return MachineChoice(found["base"], figures)


def with_figure(text: str, key: str, value: object) -> str:
    """
    Return a machine, as a scenario names it, with another value of one figure.

    >>> with_figure("h200 with sms = 33", "sms", 66)
    'h200 with sms = 66'
    """
    choice = read_choice(text)
    return str(MachineChoice(choice.base, {**choice.figures, key: value}))


def in_proportion(sizes: Sequence[int], total: int) -> list[int]:
    """
    Scale the sizes of groups so that they sum to ``total``.

    >>> in_proportion([8, 16, 108], 66)
    [4, 8, 54]
    """
    ends = list(accumulate(sizes, initial=0))
    return [end - begin for begin, end in pairwise(end * total // ends[-1] for end in ends)]


def _figures(text: str) -> Iterator[tuple[str, object]]:
    """Yield keys and values of "sms = 66, l2.bytes = 1048576". A value that is not JSON is kept as text."""
    while found := _FIGURE.match(text):
        rest = text[found.end() :]
        try:
            value, end = json.JSONDecoder().raw_decode(rest)
        except (ValueError, RecursionError):
            value, _, after = rest.partition(", ")
            end = len(rest) - len(after)
        yield found[1], value
        text = rest[end:].removeprefix(",").lstrip()
    if text:
        yield text, None
