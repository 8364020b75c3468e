"""Declares what ``gpusim run`` takes."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import typer

from gpusim.commands.options import fields


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOptions:
    """Simulate scenarios, or a kernel of your own, and write a run directory for each."""

    files: Annotated[
        tuple[str, ...],
        typer.Argument(
            metavar="FILE...",
            help="Scenario files, names of shipped scenarios, or - for standard input; or a kernel (.cu, .ptx, .cubin) "
            "with the options of its launch.",
            show_default=False,
            autocompletion=fields.shipped_names,
        ),
    ] = ()
    cutlass: fields.CutlassOptions = ()
    overrides: fields.SetOption = ()
    out: Annotated[
        Path | None,
        typer.Option(
            parser=fields.named_path("--out", "folder"),
            metavar="FOLDER",
            help="The run directory; with several files, the folder that holds theirs. "
            "If it is not empty, -2, -3, ... is appended.  [default: runs/NAME-DIGEST]",
        ),
    ] = None
    exact: Annotated[
        bool | None,
        typer.Option(
            "--exact/--sampled",
            help="Simulate every CTA and k tile, or sample.  [default: exact up to 50 million warp instructions]",
        ),
    ] = None
    stream: fields.StreamOption = "auto"
    engine: Annotated[
        Literal["auto", "compiled", "interpreted"],
        typer.Option(help="Execution of the simulator's core. auto: the compiled one where it was built."),
    ] = "auto"
    cubin: Annotated[
        Path | None,
        typer.Option(
            parser=fields.named_path("--cubin", "file"),
            metavar="KERNEL.cubin",
            help="Take the machine code of this file instead of gpusim's kernel; addresses come from the schedule.",
        ),
    ] = None
    entry: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help="Name of the kernel in its file or in --cubin, or a part that only its name has."
        ),
    ] = None
    machine: fields.LaunchMachineOption = None
    grid: fields.GridOption = None
    block: fields.BlockOption = None
    shared: fields.SharedOption = None
    arguments: fields.ArgumentsOption = ()
    defines: fields.DefinesOption = ()
    save: Annotated[
        tuple[str, ...],
        typer.Option(
            metavar="NAME=FILE.npy", help="Execute the kernel in full, and write an array to a file. Repeatable."
        ),
    ] = ()
    no_figures: Annotated[bool, typer.Option("--no-figures", help="Write no pictures and no trace.")] = False
    force: fields.ForceOption = False
    reference_check: Annotated[
        bool, typer.Option("--reference-check", help="Execute on random tensors, and compare with the reference.")
    ] = False
    save_tensors: fields.SaveTensorsOption = None
    seed: fields.SeedOption = 0
    as_json: fields.JsonOption = False
