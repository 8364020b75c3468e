"""
The errors that gpusim raises on purpose, their exit codes, and the escaping of names in messages.

A name may have any character. A message shows each character, but escapes those that would end the line or control a
terminal.
"""

import sys
from collections.abc import Callable, Iterable
from difflib import get_close_matches
from unicodedata import category

_STEERING = {"Cc", "Cs", "Zl", "Zp"}
"""Categories of control characters, of bytes that are not UTF-8, and of line ends."""

_TURNING = {*"\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"}
"""Characters that change the direction of the following text."""

_LEAST_BYTE, _MOST_BYTE = 0xDC80, 0xDCFF
"""Range of the code points for bytes that are not UTF-8, in names from the operating system."""

_LEAST_LIKENESS = 0.5
_LEAST_PART = 3


def printable(text: str) -> str:
    """Return a text as one line that is safe to print: line ends and terminal controls are escaped."""
    if text.isprintable():
        return text
    return "".join(_escaped(one) if category(one) in _STEERING or one in _TURNING else one for one in text)


def _escaped(character: str) -> str:
    if _LEAST_BYTE <= ord(character) <= _MOST_BYTE:
        return f"\\x{ord(character) - 0xDC00:02x}"
    return character.encode("unicode_escape").decode()


class GpusimError(Exception):
    """
    Base class of every error for the user. It is shown as one printable line, without a traceback.

    Attributes:
        exit_code: Exit status of a command that this error ends.
    """

    exit_code = 1

    def __str__(self) -> str:
        """Return the message, in one printable line."""
        return printable(super().__str__())


class CannotRun(GpusimError):
    """The work could not be done: an I/O error, or a missing device or tool."""


class Unsupported(CannotRun):
    """gpusim cannot decode or emulate a part of the machine code; the message names it."""


class BadInput(GpusimError):
    """The usage or the scenario is wrong; the message names the file, the key, the value and what is allowed."""

    exit_code = 2


class CheckFailed(GpusimError):
    """The work was done, and one of its checks failed."""

    exit_code = 3


class Interrupted(GpusimError):
    """The user interrupted the work; the message says what is kept. The exit code is the one that shells expect."""

    exit_code = 130


def exit_code_of(work: Callable[[], None]) -> int:
    """Execute a command; return 0, or print its error in one line to stderr and return the error's exit code."""
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
        what: The feature that needs the library.
        extra: Extra of gpusim that installs the library.
    """
    return CannotRun(f"{what} needs an optional library: pip install 'gpusim[{extra}]'")


def nearest(name: str, allowed: Iterable[str]) -> str | None:
    """
    Suggest the allowed name that a misspelled name most resembles, ignoring case.

    Args:
        name: The misspelled name.
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
