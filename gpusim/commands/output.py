"""Prints answers to stdout, progress and errors to stderr, and checks where files may be written."""

import json
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import typer

from gpusim.errors import BadInput, CannotRun, printable
from gpusim.results.whole_file import refuse_foreign, written_for_user

PICTURE_SUFFIXES = (".png", ".svg", ".pdf")
"""Endings of pictures, which say their format."""


def open_missing_streams() -> None:
    """
    Replace standard streams that were closed when the process began.

    Writes to such a stdout fail, as to a full disk; writes to such a stderr are dropped. The replacements occupy the
    streams' file descriptors, so that the output of libraries cannot go to a file that is opened later.
    """
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_WRONLY if number == 2 else os.O_RDONLY)
    if sys.stdout is None:
        sys.stdout = os.fdopen(os.open(os.devnull, os.O_RDONLY), "w", encoding="utf-8")
    if sys.stderr is None:
        sys.stderr = os.fdopen(os.open(os.devnull, os.O_WRONLY), "w", encoding="utf-8")


def finish_stdout() -> None:
    """Drop output that stdout refuses. Otherwise Python would write it again at exit, and print an error."""
    try:
        sys.stdout.flush()
    except (OSError, ValueError):
        with suppress(OSError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


@contextmanager
def answering() -> Iterator[None]:
    """
    Print an answer within the block.

    Raises:
        BrokenPipeError: The reader of stdout has left, and needs no message.
        CannotRun: Stdout takes no answer for another reason.
    """
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        raise CannotRun(f"the answer cannot be printed (stdout: {error.strerror or error})") from error


def print_json(data: Any, *, indent: int | None = 1) -> None:
    """Print an answer as one JSON document."""
    with answering():
        typer.echo(json.dumps(data, indent=indent))


def print_text(text: str) -> None:
    """Print an answer as text. Control characters in its lines are escaped."""
    with answering():
        typer.echo("\n".join(map(printable, text.rstrip("\n").split("\n"))))


def right_aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    """Return the lines of a table whose cells are aligned right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return ["  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)) for row in rows]


def progress(message: str) -> None:
    """Print one line of progress. If stderr refuses it, the command continues."""
    _tell(one_line(message))


def complain(message: str) -> None:
    """Print an error in one line."""
    _tell(f"gpusim: {one_line(message)}")


def _tell(line: str) -> None:
    with suppress(OSError):
        typer.echo(line, err=True)


def one_line(message: str) -> str:
    """Return a message, which a library may have broken into lines, in one printable line."""
    return printable(" ".join(line.strip() for line in message.splitlines() if line.strip()))


@contextmanager
def written(path: Path, *, force: bool, follow: bool = True) -> Iterator[Path]:
    """
    Yield a name to write a file to; arguments and rule are those of ``written_for_user``.

    Raises:
        BadInput: Something is there, and may not be replaced.
        CannotRun: The file cannot be written.
    """
    try:
        with written_for_user(path, force=force, follow=follow) as aside:
            yield aside
    except OSError as error:
        raise CannotRun(f"{path}: cannot be written ({error.strerror or error})") from error


def check_picture(option: str, path: Path) -> None:
    """
    Check, before anything is computed, that a picture can be written to the path of an option.

    Raises:
        BadInput: The path does not end in .png, .svg or .pdf, or something is there that gpusim has not made.
        CannotRun: The folder of the path does not exist.
    """
    if path.suffix.lower() not in PICTURE_SUFFIXES:
        raise BadInput(f"{option} must end in {', '.join(PICTURE_SUFFIXES)}, got {str(path)!r}")
    check_folder(path)
    refuse_foreign(path)


def check_folder(path: Path) -> None:
    """
    Check that the folder of a file to be written exists.

    Raises:
        CannotRun: It does not exist. It is never created.
    """
    if not path.parent.is_dir():
        raise CannotRun(f"{path}: cannot be written ({path.parent} is no folder)")
