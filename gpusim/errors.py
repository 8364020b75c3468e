"""
The errors gpusim raises on purpose, the exit code each one means, and what messages make of names.

A name may have any character. In a message each stands in its place, and those that would break the line or steer a
terminal as their escapes.
"""

import sys
from collections.abc import Callable, Iterable
from difflib import get_close_matches
from unicodedata import category

_STEERING = {"Cc", "Cs", "Zl", "Zp"}
"""Categories of control characters, of bytes that are no UTF-8, and of ends of lines."""

_TURNING = {*"\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"}
"""Characters that turn the direction of what follows."""

_LEAST_BYTE, _MOST_BYTE = 0xDC80, 0xDCFF
"""What stands for a byte that is no UTF-8, in names that the system gives."""

_LEAST_LIKENESS = 0.5
_LEAST_PART = 3


def printable(text: str) -> str:
    """Return a text in one line that is safe to print: whatever would break it or steer a terminal is escaped."""
    if text.isprintable():
        return text
    return "".join(_escaped(one) if category(one) in _STEERING or one in _TURNING else one for one in text)


def _escaped(character: str) -> str:
    if _LEAST_BYTE <= ord(character) <= _MOST_BYTE:
        return f"\\x{ord(character) - 0xDC00:02x}"
    return character.encode("unicode_escape").decode()


class GpusimError(Exception):
    """
    Base class of every error meant for the user, who is shown one printable line and no traceback.

    Attributes:
        exit_code: Exit status of the process when this error ends a command.
    """

    exit_code = 1

    def __str__(self) -> str:
        """Return the message, in one printable line."""
        return printable(super().__str__())


class CannotRun(GpusimError):
    """The work could not be done: an I/O error, or a missing device or tool."""


class Unsupported(CannotRun):
    """Machine code has something that gpusim does not decode or emulate; the message names it."""


class BadInput(GpusimError):
    """The usage or the scenario is wrong; the message names the file, the key, the value and what is allowed."""

    exit_code = 2


class CheckFailed(GpusimError):
    """The work was done, and one of its checks failed."""

    exit_code = 3


class Interrupted(GpusimError):
    """The user interrupted the work; the message says what is kept. The exit code is what shells expect."""

    exit_code = 130


def exit_code_of(work: Callable[[], None]) -> int:
    """Do the work of a command; return 0, or show the error in one line on stderr and return its exit code."""
    try:
        work()
    except GpusimError as error:
        sys.stderr.write(f"{error}\n")
        return error.exit_code
    return 0


def missing_extra(what: str, extra: str) -> CannotRun:
    """
    Return the error about an optional library that is not installed.

    Args:
        what: What needs it.
        extra: Extra of gpusim that installs it.
    """
    return CannotRun(f"{what} needs an optional library: pip install 'gpusim[{extra}]'")


def nearest(name: str, allowed: Iterable[str]) -> str | None:
    """
    Suggest the allowed name that a misspelled name most resembles, ignoring case.

    Args:
        name: The name as it was given.
        allowed: The names to choose from.

    Returns:
        The most similar name, else the first one that contains ``name``, else None.
    """
    by_lower = {other.lower(): other for other in reversed(tuple(allowed))}
    wrong = name.lower()
    near = get_close_matches(wrong, by_lower, n=1, cutoff=_LEAST_LIKENESS)
    if not near and len(wrong) >= _LEAST_PART:
        near = [other for other in reversed(by_lower) if wrong in other]
    return by_lower[near[0]] if near else None
