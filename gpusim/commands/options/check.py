"""Declares what ``gpusim check`` takes."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from gpusim.commands.options import fields


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckOptions:
    """Run a scenario's kernel on the GPU, and compare it with the simulation."""

    files: Annotated[
        tuple[str, ...],
        typer.Argument(
            metavar="[FILE...]",
            help="Scenario files, or names of shipped ones.",
            show_default=False,
            autocompletion=fields.shipped_names,
        ),
    ] = ()
    cutlass: fields.CutlassOptions = ()
    overrides: fields.SetOption = ()
    recorded: Annotated[
        bool, typer.Option("--recorded", help="Compare with the records; without FILE, with all of them. Needs no GPU.")
    ] = False
    record: Annotated[bool, typer.Option("--record", help="Keep what is measured in reports/measured.")] = False
    gpu: Annotated[str | None, typer.Option(help="GPU whose records to use, e.g. h200.  [default: any]")] = None
    seed: fields.SeedOption = 0
    overlay: Annotated[
        Path | None, typer.Option(metavar="PNG", help="Draw the measured pipeline above the simulated one.")
    ] = None
    held_out_rows: fields.HeldOutRowsOption = False
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Keep each answer in this file as it comes, a line of JSON each. What it has already is not checked "
            "again, so that a command that was interrupted goes on where it was.",
        ),
    ] = None
    force: fields.ForceOption = False
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON; with several scenarios, a line each.")] = False
