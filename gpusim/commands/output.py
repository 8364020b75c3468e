"""Where a command's words go: answers to stdout, progress and errors to stderr."""

import json
from typing import Any

import typer


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
