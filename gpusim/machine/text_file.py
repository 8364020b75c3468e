"""Reads a text file that a user has written: UTF-8 with or without a byte order mark, of bounded size."""

import sys
from pathlib import Path

MOST_BYTES = 1 << 20
"""Most bytes of a scenario or a machine file: some hundred times the largest that comes with gpusim."""

STANDARD_INPUT = "-"
"""What stands for standard input in place of a path."""


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
