"""Declares what ``gpusim machine`` takes."""

from dataclasses import dataclass
from typing import Annotated

import typer

from gpusim.commands.options.fields import JsonOption


@dataclass(frozen=True, slots=True, kw_only=True)
class MachineOptions:
    """List the machines; show one: its figures by kind, with unit and source; of several, say which figures differ."""

    names: Annotated[
        tuple[str, ...],
        typer.Argument(
            metavar="[NAME|FILE]...",
            help="A shipped machine, or a machine file; with other figures: 'h200 with sms = 66'.",
            show_default=False,
        ),
    ] = ()
    as_json: JsonOption = False
