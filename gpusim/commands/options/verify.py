"""Declares what ``gpusim verify`` takes."""

from dataclasses import dataclass
from typing import Annotated

import typer

from gpusim.commands.options.fields import (
    CutlassOption,
    FileArgument,
    ForceOption,
    JsonOption,
    SaveTensorsOption,
    SeedOption,
    SetOption,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class VerifyOptions:
    """Execute a schedule on real data: compare with a reference, find hazards."""

    file: FileArgument = None
    cutlass: CutlassOption = None
    overrides: SetOption = ()
    seed: SeedOption = 0
    mutate: Annotated[
        str | None,
        typer.Option(help="Break the schedule on purpose: lax_wait, missing_barrier, ... Exit 3 when it is caught."),
    ] = None
    reference_check: Annotated[
        bool, typer.Option("--reference-check/--no-reference-check", help="Compare the output with the reference.")
    ] = True
    save_tensors: SaveTensorsOption = None
    force: ForceOption = False
    as_json: JsonOption = False
