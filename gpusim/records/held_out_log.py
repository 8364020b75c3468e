"""The committed log of every look at held-out figures: date, commit, command, and the figures that were shown."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from gpusim.errors import CannotRun
from gpusim.records.halves import halves_file
from gpusim.results.provenance import commit

LOG: Final = "held_out_log.md"
"""Name of the log, beside the list of halves."""

_HEAD = """# Looks at held-out figures

Every command that shows a figure of the held-out half appends a line here before it shows any.

| date | commit | command | shown |
|---|---|---|---|
"""


def log_file() -> Path:
    """Return the path of the log."""
    return halves_file().parent / LOG


def note_look(command: str, shown: str) -> None:
    """
    Append a line to the log.

    Args:
        command: The command line.
        shown: The figures that it shows: "aggregates of 61 records", "rows of 61 records".

    Raises:
        CannotRun: The log cannot be written. The caller must then show nothing.
    """
    path = log_file()
    line = (
        f"| {datetime.now(tz=UTC).isoformat(timespec='seconds')} | {commit() or 'unknown'} | `{command}` | {shown} |\n"
    )
    try:
        head = "" if path.is_file() else _HEAD
        with path.open("a", encoding="utf-8") as log:
            log.write(head + line)
    except OSError as error:
        raise CannotRun(f"{path}: the look at held-out figures cannot be noted ({error.strerror or error})") from error
