"""Declares what ``gpusim explain`` takes."""

from dataclasses import dataclass
from typing import Annotated, Literal

import typer

from gpusim.commands.options.fields import CutlassOption, ExactOption, JsonOption, SetOption


@dataclass(frozen=True, slots=True, kw_only=True)
class ExplainOptions:
    """Say what bounds a kernel, where each per cent of the time goes, and what would help."""

    what: Annotated[
        str | None,
        typer.Argument(
            metavar="RUN|FILE",
            help="A run directory, a scenario file, or the name of a shipped scenario.",
            show_default=False,
        ),
    ] = None
    cutlass: CutlassOption = None
    overrides: SetOption = ()
    exact: ExactOption = None
    stream: Annotated[
        Literal["auto", "estimated", "compiled"],
        typer.Option(help="Origin of the instruction streams; a run has its own."),
    ] = "auto"
    as_json: JsonOption = False
