"""Declares what ``gpusim stalls`` takes."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from gpusim.commands.options.fields import JsonOption


@dataclass(frozen=True, slots=True, kw_only=True)
class StallsOptions:
    """Say what each stall reason means, and what helps; of a run, with its shares."""

    run_directory: Annotated[
        Path | None,
        typer.Argument(metavar="[RUN]", help="A run directory, whose stalls to explain.", show_default=False),
    ] = None
    as_json: JsonOption = False
