"""Declares what ``gpusim validate`` takes."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import typer

from gpusim.commands.options import fields


@dataclass(frozen=True, slots=True, kw_only=True)
class ValidateOptions:
    """Say how far simulated figures are from all that were recorded, in one half of the records."""

    gpu: Annotated[str, typer.Option(help="GPU whose records to use.")] = "h200"
    only: Annotated[
        tuple[str, ...],
        typer.Option(metavar="PATTERN", help="Only records of such names, e.g. 'gemm_*'.", show_default=False),
    ] = ()
    stream: Annotated[
        Literal["auto", "estimated", "compiled"],
        typer.Option(help="Origin of the instruction streams. auto: both, each in rows of its own."),
    ] = "auto"
    exact: fields.ExactOption = None
    jobs: fields.JobsOption = None
    held_out: Annotated[
        bool, typer.Option("--held-out", help="Show aggregates of the held-out half; the look is noted in the log.")
    ] = False
    held_out_rows: fields.HeldOutRowsOption = False
    cutlass_rows: Annotated[
        tuple[Path, ...],
        typer.Option(metavar="JSON", help="Measured kernels of CUTLASS's own.  [default: the committed ones]"),
    ] = ()
    out: Annotated[
        Path | None,
        typer.Option(
            parser=fields.named_path("--out", "folder"),
            metavar="FOLDER",
            help="Write the page, its data and the picture to this folder.",
        ),
    ] = None
    force: fields.ForceOption = False
    as_json: fields.JsonOption = False
