"""Declares what ``gpusim compare`` takes."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import typer

from gpusim.commands.options.fields import MOST_NUMBER, ForceOption, JsonOption


@dataclass(frozen=True, slots=True, kw_only=True)
class CompareOptions:
    """Compare runs, scenarios and profiles: what differs, and what that did."""

    sides: Annotated[
        tuple[str, ...],
        typer.Argument(
            metavar="A B...",
            help="Run directories, scenario files or names, ncu reports (.ncu-rep) or ncu's CSV.",
            show_default=False,
        ),
    ] = ()
    overrides: Annotated[
        tuple[str, ...],
        typer.Option("--set", metavar="KEY=VALUE", help="Of one side, make a second with this key. Repeatable."),
    ] = ()
    kernel: Annotated[str | None, typer.Option(help="Only launches of kernels whose name matches.")] = None
    launch: Annotated[
        int | None, typer.Option(min=0, max=MOST_NUMBER, help="Number of the launch among them, from 0.")
    ] = None
    exact: Annotated[
        bool | None,
        typer.Option(
            "--exact/--sampled",
            help="Simulate every CTA of a scenario, or sample.  [default: by the number of warp instructions]",
        ),
    ] = None
    stream: Annotated[
        Literal["auto", "estimated", "compiled"],
        typer.Option(help="Origin of the instruction streams of scenarios; a run has its own."),
    ] = "auto"
    png: Annotated[Path | None, typer.Option(help="Draw pipelines and stalls on one axis to this file.")] = None
    force: ForceOption = False
    as_json: JsonOption = False
