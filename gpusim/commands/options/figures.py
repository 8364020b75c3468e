"""Declares what ``gpusim plot``, ``trace`` and ``report`` take."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import typer

from gpusim.commands.options.fields import ForceOption, JsonOption, MetricOption, RunArgument


@dataclass(frozen=True, slots=True, kw_only=True)
class PlotOptions:
    """Draw a picture of a run or a sweep again."""

    run_directory: RunArgument
    kind: Annotated[
        Literal["overlap", "conflicts", "stalls", "roofline", "sweep", "sweep-map"],
        typer.Argument(
            metavar="KIND", help="overlap, conflicts, stalls or roofline; of a sweep's folder sweep or sweep-map."
        ),
    ]
    out: Annotated[Path | None, typer.Option(help="The file: .png, .svg or .pdf.  [default: RUN/KIND.png]")] = None
    metric: MetricOption = "tflops"
    force: ForceOption = False
    as_json: JsonOption = False


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceOptions:
    """Write the timeline of a run as a trace file."""

    run_directory: RunArgument
    trace_format: Annotated[Literal["perfetto", "kanata"], typer.Option("--format", help="File format.")] = "perfetto"
    out: Annotated[Path | None, typer.Option(help="The file.  [default: RUN/trace.pftrace or trace.kanata]")] = None
    force: ForceOption = False
    as_json: JsonOption = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportOptions:
    """Write one HTML file about runs, which works offline: verdict, timeline, banks, stalls, roofline, provenance."""

    run_directories: Annotated[
        tuple[Path, ...],
        typer.Argument(metavar="RUN...", help="Run directories, compared with the first, and folders of sweeps."),
    ]
    out: Annotated[Path, typer.Option(help="The HTML file.")]
    force: ForceOption = False
    as_json: JsonOption = False
