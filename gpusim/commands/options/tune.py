"""Declares what ``gpusim tune`` takes."""

from dataclasses import dataclass
from typing import Annotated

import typer

from gpusim.commands.options.fields import (
    MOST_NUMBER,
    CutlassOption,
    ExactOption,
    FileArgument,
    JobsOption,
    JsonOption,
    SchedulerOption,
    SetOption,
    StreamOption,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class TuneOptions:
    """Find the fastest kernel for a scenario's problem."""

    file: FileArgument = None
    cutlass: CutlassOption = None
    overrides: SetOption = ()
    jobs: JobsOption = None
    scheduler: SchedulerOption = None
    top: Annotated[int, typer.Option(min=1, max=MOST_NUMBER, help="Configurations to print.")] = 8
    measure: Annotated[
        int, typer.Option(min=0, max=MOST_NUMBER, help="Measure this many of the best on the GPU, with ncu.")
    ] = 0
    budget: Annotated[
        int,
        typer.Option(
            min=1, max=MOST_NUMBER, help="Most simulations. Where more configurations are legal, optuna chooses."
        ),
    ] = 200
    exact: ExactOption = None
    stream: StreamOption = "auto"
    as_json: JsonOption = False
