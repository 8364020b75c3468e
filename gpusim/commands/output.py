"""Prints answers to stdout, progress and errors to stderr, and checks where files may be written."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import typer

from gpusim.errors import BadInput, CannotRun
from gpusim.results.whole_file import refuse_foreign, written_for_user

PICTURE_SUFFIXES = (".png", ".svg", ".pdf")
"""Endings of pictures, which say their format."""


def print_json(data: Any, *, indent: int | None = 1) -> None:
    """Print an answer as one JSON document."""
    typer.echo(json.dumps(data, indent=indent))


def print_text(text: str) -> None:
    """Print an answer as text."""
    typer.echo(text.rstrip("\n"))


def progress(message: str) -> None:
    """Print one line of progress."""
    typer.echo(one_line(message), err=True)


def complain(message: str) -> None:
    """Print an error in one line."""
    typer.echo(f"gpusim: {one_line(message)}", err=True)


def one_line(message: str) -> str:
    """Return a message, which a library may have broken into lines, in one line."""
    return " ".join(line.strip() for line in message.splitlines() if line.strip())


@contextmanager
def written(path: Path, *, force: bool, follow: bool = True) -> Iterator[Path]:
    """
    Yield a name to write a file to; arguments and law are those of ``written_for_user``.

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
        CannotRun: Its folder does not exist.
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
