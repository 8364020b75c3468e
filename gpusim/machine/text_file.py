"""Reads a user's text file (UTF-8 with or without a byte order mark, of bounded size) and parses its TOML."""

import re
import sys
import tomllib
from pathlib import Path
from typing import Any

MOST_BYTES = 1 << 20
"""Largest size of a scenario or machine file: about a hundred times the largest file of gpusim."""

MOST_KEY_PARTS, MOST_KEY_LENGTH = 8, 1000
"""
Most parts and most characters of a dotted key. No key of a scenario or machine file has more than half as many parts.

``tomllib`` takes time and memory that grow with the square of the parts.
"""

_PART = r"""(?:[A-Za-z0-9_-]+|"(?:[^"\\\n]|\\.)*"|'[^'\n]*')"""
_PARTS = re.compile(_PART)
_DOTTED = re.compile(
    rf"""#[^\n]*|\"{{3}}(?s:.)*?\"{{3}}|'{{3}}(?s:.)*?'{{3}}|(?P<key>{_PART}(?:[ \t]*\.[ \t]*{_PART})*)"""
    r"(?P<assigned>[ \t]*=)?"
)
"""Matches comments and long strings, which contain no key, and everything that may be a dotted key."""

STANDARD_INPUT = "-"
"""Path that means standard input."""


def read_text_file(path: str | Path, *, what: str) -> str:
    """
    Return the content of a file, with line ends as Python has them.

    Args:
        path: The file; text "-" reads standard input.
        what: Kind of the file in messages.

    Raises:
        OSError: It cannot be read.
        ValueError: It is too large, or not UTF-8; or the path has a null byte.
    """
    if str(path) == STANDARD_INPUT:
        if sys.stdin is None:
            raise OSError("standard input is closed")
        content = sys.stdin.buffer.read(MOST_BYTES + 1)
    else:
        with Path(path).open("rb") as file:
            content = file.read(MOST_BYTES + 1)
    if len(content) > MOST_BYTES:
        raise ValueError(f"a {what} has at most {MOST_BYTES} bytes")
    return content.decode("utf-8-sig").replace("\r\n", "\n").replace("\r", "\n")


def parse_toml(text: str) -> dict[str, Any]:
    """
    Return the data of a TOML text.

    Raises:
        ValueError: It is not TOML; or a key is longer than ``MOST_KEY_LENGTH``, or has more than ``MOST_KEY_PARTS``.
    """
    for match in _DOTTED.finditer(text):
        key = match["key"]
        if key is None or len(key) <= 2 * MOST_KEY_PARTS:
            continue
        line, parts = text.count("\n", 0, match.start()) + 1, len(_PARTS.findall(key))
        if parts > MOST_KEY_PARTS:
            raise ValueError(f"a key has at most {MOST_KEY_PARTS} parts, not {parts} (at line {line})")
        # A lone string is a value of any length, unless a value is assigned to it.
        if (parts > 1 or match["assigned"]) and len(key) > MOST_KEY_LENGTH:
            raise ValueError(f"a key has at most {MOST_KEY_LENGTH} characters, not {len(key)} (at line {line})")
    try:
        return tomllib.loads(text)
    except RecursionError as error:
        raise ValueError("tables and lists lie too deep in each other") from error
