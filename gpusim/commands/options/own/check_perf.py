"""Declares what ``gpusim check-perf`` takes."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from gpusim.commands.options import fields


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckPerfOptions:
    """
    Compare kernels of your own with a committed baseline; exit code 3 if a metric is worse than its threshold allows.
    """

    files: Annotated[
        tuple[str, ...],
        typer.Argument(
            metavar="[FILE...]",
            help='Scenarios with kind = "kernel", or one kernel (.cu, .ptx, .cubin) with the options of its launch.  '
            "[default: every kernel of the baseline]",
            show_default=False,
        ),
    ] = ()
    baseline: Annotated[
        Path,
        typer.Option(
            parser=fields.named_path("--baseline", "file"),
            metavar="FILE",
            help="The baseline.",
            show_default="gpusim-perf.toml",
        ),
    ] = Path("gpusim-perf.toml")
    write_baseline: Annotated[
        bool,
        typer.Option(
            "--write-baseline", help="Write today's metrics of the kernels into the baseline, and compare nothing."
        ),
    ] = False
    thresholds: Annotated[
        tuple[str, ...],
        typer.Option(
            "--threshold",
            metavar="METRIC=PERCENT",
            help="Percent by which a metric may be worse: cycles (3), registers (10), ctas_per_sm (0), conflicts (5), "
            "sectors (5), instructions (5). inf switches it off. Repeatable.",
        ),
    ] = ()
    bisect: Annotated[
        bool,
        typer.Option(
            "--bisect",
            help="Exit codes for `git bisect run`: 0 good, 3 bad, 125 if a kernel cannot be compiled or run, "
            "128 if the baseline cannot be read.",
        ),
    ] = False
    markdown: Annotated[
        Path | None,
        typer.Option(
            parser=fields.named_path("--markdown", "file"),
            metavar="FILE",
            help="Write the table to this file, too, for the comment of a pull request.",
        ),
    ] = None
    overrides: fields.SetOption = ()
    entry: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Name of the kernel in its file, or a part that only its name has."),
    ] = None
    machine: fields.LaunchMachineOption = None
    grid: fields.GridOption = None
    block: fields.BlockOption = None
    shared: fields.SharedOption = None
    arguments: fields.ArgumentsOption = ()
    defines: fields.DefinesOption = ()
    force: fields.ForceOption = False
    as_json: fields.JsonOption = False
