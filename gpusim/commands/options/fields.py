"""Declares the options that several commands share; knows no command."""

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Final, Literal

import typer

from gpusim.arguments import MOST_JOBS, MOST_SEED
from gpusim.errors import BadInput

MOST_NUMBER: Final = 1_000_000
"""Greatest number of most options: far beyond what any of them can mean."""


def shipped_names(incomplete: str) -> list[str]:
    """Return the names of shipped scenarios that begin so, which a shell offers."""
    from gpusim.scenario.catalogue import shipped_scenarios

    return [scenario.name for scenario in shipped_scenarios() if scenario.name.startswith(incomplete)]


def named_path(option: str, kind: str) -> Callable[[str], Path]:
    """
    Return the parser of an option that names a file or a folder.

    The parser raises ``BadInput`` if the name is empty.

    Args:
        option: The option, as ``--out``.
        kind: What it names, in the message: "file" or "folder".
    """

    def path(text: str) -> Path:
        if not text:
            raise BadInput(f'{option} must name a {kind}, got ""')
        return Path(text)

    return path


# --- which scenario ---

FileArgument = Annotated[
    str | None,
    typer.Argument(
        metavar="FILE",
        help="A scenario file, the name of a shipped scenario, or - for standard input.",
        show_default=False,
        autocompletion=shipped_names,
    ),
]
CutlassOption = Annotated[
    str | None,
    typer.Option(
        "--cutlass",
        metavar="NAME",
        help="In place of FILE: the kernel of this name, as CUTLASS's profiler prints it; --set gives the extents.",
    ),
]
CutlassOptions = Annotated[
    tuple[str, ...],
    typer.Option(
        "--cutlass",
        metavar="NAME",
        help="Besides or in place of FILE: the kernel of this name, as CUTLASS's profiler prints it; "
        "--set gives the extents. Repeatable.",
    ),
]
SetOption = Annotated[
    tuple[str, ...], typer.Option("--set", metavar="KEY=VALUE", help="Override a key, e.g. problem.c=256. Repeatable.")
]

# --- the launch of a kernel of the user's own ---

LaunchMachineOption = Annotated[
    str | None, typer.Option(metavar="NAME", help="Machine that launches the kernel: a name, or a machine file.")
]
GridOption = Annotated[str | None, typer.Option(metavar="X[,Y[,Z]]", help="CTAs of the kernel's grid.")]
BlockOption = Annotated[str | None, typer.Option(metavar="X[,Y[,Z]]", help="Threads of the kernel's CTAs.")]
SharedOption = Annotated[
    int | None,
    typer.Option(min=0, max=MOST_NUMBER, help="Bytes of a CTA's dynamic shared memory.  [default: 0]"),
]
ArgumentsOption = Annotated[
    tuple[str, ...],
    typer.Option(
        "--arg",
        metavar="NAME=VALUE",
        help="An argument of the kernel, in the order of its signature: f32[1024,1024] (zeros), random:f32[8], "
        "random:f32[8]:SEED, ones:, arange:, x.npy; 1024, 2.5, i64:5, f64:2.5. The name is yours. Repeatable.",
    ),
]
DefinesOption = Annotated[
    tuple[str, ...],
    typer.Option("--define", "-D", metavar="NAME=VALUE", help="A macro of the kernel's source. Repeatable."),
]

# --- how it is simulated ---

ExactOption = Annotated[
    bool | None,
    typer.Option(
        "--exact/--sampled", help="Simulate every CTA, or sample.  [default: by the number of warp instructions]"
    ),
]
StreamOption = Annotated[
    Literal["auto", "estimated", "compiled"],
    typer.Option(help="Origin of the instruction streams. auto: compiled where they can be, else estimated, and why."),
]
JobsOption = Annotated[int | None, typer.Option(min=1, max=MOST_JOBS, help="Processes.  [default: one for each core]")]
SchedulerOption = Annotated[
    str | None, typer.Option(metavar="ADDRESS", help="Simulate on the cluster of this Dask scheduler instead.")
]

# --- random tensors ---

SeedOption = Annotated[int, typer.Option(min=0, max=MOST_SEED, help="Seed of the random tensors.")]
SaveTensorsOption = Annotated[
    Path | None,
    typer.Option(
        parser=named_path("--save-tensors", "folder"),
        metavar="FOLDER",
        help="Execute on random tensors, and write them to this folder, one CSV file each.",
    ),
]

# --- what is read, written and printed ---

RunArgument = Annotated[Path, typer.Argument(metavar="RUN", help="A run directory.", show_default=False)]
MetricOption = Annotated[
    str, typer.Option(metavar="NAME", help="What is drawn of a sweep: tflops, cycles, time_us, occupancy, ...")
]
HeldOutRowsOption = Annotated[
    bool, typer.Option("--held-out-rows", help="Show rows of held-out records; the look is noted in the log.")
]
ForceOption = Annotated[
    bool, typer.Option("--force", help="Replace what gpusim has written there before. Other files are never replaced.")
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON.")]
