"""Where a command's words go: answers to stdout, progress and errors to stderr; and where its pictures may go."""

import json
from pathlib import Path
from typing import Any

import typer

from gpusim.errors import BadInput, CannotRun


def print_json(data: Any, *, indent: int | None = 1) -> None:
    """An answer as JSON, one document."""
    typer.echo(json.dumps(data, indent=indent))


def print_text(text: str) -> None:
    """An answer as text."""
    typer.echo(text.rstrip("\n"))


def progress(message: str) -> None:
    """One line of progress."""
    typer.echo(one_line(message), err=True)


def complain(message: str) -> None:
    """One line that says what went wrong."""
    typer.echo(f"gpusim: {one_line(message)}", err=True)


def one_line(message: str) -> str:
    """A message that a library may have broken into lines, on one."""
    return " ".join(line.strip() for line in message.splitlines() if line.strip())


def check_picture(option: str, path: Path) -> None:
    """
    See, before anything is computed, that a picture can be written where an option says.

    Raises:
        BadInput: It is named as something else than a PNG.
        CannotRun: Its folder is not there.
    """
    if path.suffix.lower() != ".png":
        raise BadInput(f"{option} must end in .png, got {str(path)!r}")
    check_folder(path)


def check_folder(path: Path) -> None:
    """
    See that the folder of a file to be written is there.

    Raises:
        CannotRun: It is not; it is never made.
    """
    if not path.parent.is_dir():
        raise CannotRun(f"{path}: cannot be written ({path.parent} is no folder)")
