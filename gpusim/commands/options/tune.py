"""Declares what ``gpusim tune`` takes."""

from dataclasses import dataclass
from typing import Annotated

import typer

from gpusim.commands.options import fields


@dataclass(frozen=True, slots=True, kw_only=True)
class TuneOptions:
    """Find the fastest kernel for a scenario's problem."""

    file: fields.FileArgument = None
    cutlass: fields.CutlassOption = None
    overrides: fields.SetOption = ()
    jobs: fields.JobsOption = None
    scheduler: fields.SchedulerOption = None
    top: Annotated[int, typer.Option(min=1, max=fields.MOST_NUMBER, help="Configurations to print.")] = 8
    measure: Annotated[
        int, typer.Option(min=0, max=fields.MOST_NUMBER, help="Measure this many of the best on the GPU, with ncu.")
    ] = 0
    budget: Annotated[
        int,
        typer.Option(
            min=1, max=fields.MOST_NUMBER, help="Most simulations. Where more configurations are legal, optuna chooses."
        ),
    ] = 200
    exact: fields.ExactOption = None
    stream: fields.StreamOption = "auto"
    as_json: fields.JsonOption = False
