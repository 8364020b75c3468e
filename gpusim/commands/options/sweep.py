"""Declares what ``gpusim sweep`` takes."""

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Literal

import typer

from gpusim.commands.options import fields


class SweepChart(StrEnum):
    """The pictures that a sweep can draw; typer takes several of an enumeration, but not of a ``Literal``."""

    LINES = "lines"
    MAP = "map"


@dataclass(frozen=True, slots=True, kw_only=True)
class SweepOptions:
    """Simulate a scenario over axes of keys, into one table."""

    file: fields.FileArgument = None
    cutlass: fields.CutlassOption = None
    overrides: fields.SetOption = ()
    over: Annotated[
        tuple[str, ...],
        typer.Option(
            metavar="KEY=V,V,...", help="An axis: a key and its values, e.g. kernel.stages=3,4,5. Repeatable."
        ),
    ] = ()
    axes: Annotated[
        Path | None, typer.Option(metavar="TOML", help="A file of axes; an array of tables varies keys together.")
    ] = None
    out: Annotated[
        Path | None,
        typer.Option(
            parser=fields.named_path("--out", "folder"),
            metavar="DIR",
            help="Folder of the sweep; where it holds the same one, that goes on.  [default: sweeps/NAME-DIGEST]",
        ),
    ] = None
    jobs: fields.JobsOption = None
    scheduler: fields.SchedulerOption = None
    exact: fields.ExactOption = None
    stream: fields.StreamOption = "auto"
    table: Annotated[
        Literal["auto", "csv", "parquet"],
        typer.Option(help="Format of the table. auto: Parquet where pyarrow is installed."),
    ] = "auto"
    plot: Annotated[
        tuple[SweepChart, ...], typer.Option("--plot", help="Draw lines or a heat map into DIR. Repeatable.")
    ] = ()
    metric: fields.MetricOption = "tflops"
    force: Annotated[
        bool, typer.Option("--force", help="Begin anew where DIR holds a sweep, this one or another. Other files stay.")
    ] = False
    as_json: fields.JsonOption = False
