"""Declares what ``gpusim verify`` takes."""

from dataclasses import dataclass
from typing import Annotated

import typer

from gpusim.commands.options import fields


@dataclass(frozen=True, slots=True, kw_only=True)
class VerifyOptions:
    """Execute a schedule on real data: compare with a reference, find hazards."""

    file: fields.FileArgument = None
    cutlass: fields.CutlassOption = None
    overrides: fields.SetOption = ()
    seed: fields.SeedOption = 0
    mutate: Annotated[
        str | None,
        typer.Option(help="Break the schedule on purpose: lax_wait, missing_barrier, ... Exit 3 when it is caught."),
    ] = None
    reference_check: Annotated[
        bool, typer.Option("--reference-check/--no-reference-check", help="Compare the output with the reference.")
    ] = True
    save_tensors: fields.SaveTensorsOption = None
    force: fields.ForceOption = False
    as_json: fields.JsonOption = False
