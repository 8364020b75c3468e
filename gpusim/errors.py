"""The errors gpusim raises on purpose, the exit code each one means, and the name their reader may have meant."""

from collections.abc import Iterable
from difflib import get_close_matches

_LEAST_LIKENESS = 0.5
_LEAST_PART = 3


class GpusimError(Exception):
    """
    Base of every error that is the user's to read: one line, no traceback.

    Attributes:
        exit_code: What the process returns when this error ends a command.
    """

    exit_code = 1


class CannotRun(GpusimError):
    """It could not be done: an I/O error, or a device or tool that is missing."""


class BadInput(GpusimError):
    """Bad usage or a bad scenario: names the file, the key, the value and what is allowed."""

    exit_code = 2


class CheckFailed(GpusimError):
    """It was done, and a check did not hold."""

    exit_code = 3


def nearest(name: str, allowed: Iterable[str]) -> str | None:
    """The allowed name most like a wrong one, case aside, or the first that contains it; None where none is near."""
    by_lower = {other.lower(): other for other in reversed(tuple(allowed))}
    wrong = name.lower()
    near = get_close_matches(wrong, by_lower, n=1, cutoff=_LEAST_LIKENESS)
    if not near and len(wrong) >= _LEAST_PART:
        near = [other for other in reversed(by_lower) if wrong in other]
    return by_lower[near[0]] if near else None
