"""Declares what ``gpusim version``, ``keys``, ``schema`` and ``scenarios`` take."""

from dataclasses import dataclass
from typing import Annotated

import typer

from gpusim.commands.options.fields import JsonOption


@dataclass(frozen=True, slots=True, kw_only=True)
class KeysOptions:
    """List the keys of scenarios by kind, and of machine files: allowed values, default and meaning."""

    what: Annotated[
        str | None,
        typer.Argument(
            metavar="[KIND|KEY|machine]",
            help="A kind of problem, a key or a table of keys, or machine for the keys of machine files.",
            show_default=False,
        ),
    ] = None
    as_json: JsonOption = False


@dataclass(frozen=True, slots=True, kw_only=True)
class SchemaOptions:
    """Print the JSON Schema of a scenario."""

    as_json: JsonOption = True
    """It knows no other form."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScenariosOptions:
    """List the shipped scenarios and the question that each asks."""

    as_json: JsonOption = False


@dataclass(frozen=True, slots=True, kw_only=True)
class VersionOptions:
    """Print the version and the commit."""

    as_json: JsonOption = False
