"""Declares what ``gpusim calibrate`` takes."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from gpusim.commands.options.fields import ForceOption, JsonOption


@dataclass(frozen=True, slots=True, kw_only=True)
class CalibrateOptions:
    """Measure on the GPU what a machine file needs."""

    out: Annotated[Path | None, typer.Option(help="Folder of the CSV.  [default: reports/measured/GPU/microbench]")] = (
        None
    )
    derived_from: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="Derive from the CSV there; measure nothing.")
    ] = None
    machine: Annotated[Path | None, typer.Option(metavar="TOML", help="Write the figures into this file.")] = None
    quick: Annotated[bool, typer.Option("--quick", help="Fewer warps, strides and SMs.")] = False
    only: Annotated[tuple[str, ...], typer.Option(metavar="NAME", help="Just this benchmark. Repeatable.")] = ()
    force: ForceOption = False
    as_json: JsonOption = False
