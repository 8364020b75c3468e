"""The command line: arguments to calls, errors to exit codes; no logic, and no import that --help would wait for."""

import os
import sys
from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from gpusim.commands.output import complain
from gpusim.errors import GpusimError

app = typer.Typer(
    name="gpusim",
    help="Simulates CUTLASS tile kernels inside an NVIDIA SM, without a GPU.",
    epilog="Exit codes: 0 done; 1 it could not be done; 2 bad usage or scenario; 3 done, and a check did not hold.",
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 120},
)


class FigureKind(StrEnum):
    """The pictures of a run."""

    OVERLAP = "overlap"
    CONFLICTS = "conflicts"
    STALLS = "stalls"
    ROOFLINE = "roofline"


class TraceFormat(StrEnum):
    """The timeline files of a run."""

    PERFETTO = "perfetto"
    KANATA = "kanata"


class StreamOrigin(StrEnum):
    """Where the instruction streams come from."""

    ESTIMATED = "estimated"


ScenarioArgument = Annotated[
    str, typer.Argument(metavar="FILE", help="A scenario file, or the name of a shipped scenario.", show_default=False)
]
RunArgument = Annotated[Path, typer.Argument(metavar="RUN", help="A run directory.", show_default=False)]
SetOption = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="Override a key, e.g. problem.c=256. Repeatable."),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON.")]


@app.command()
def run(
    files: Annotated[
        list[str], typer.Argument(metavar="FILE...", help="Scenario files, or names of shipped scenarios.")
    ],
    *,
    overrides: SetOption = None,
    out: Annotated[
        Path | None,
        typer.Option(
            help="The run directory; with several files, the folder that holds theirs. "
            "One in use is kept: -2, -3, ... is appended.  [default: runs/NAME-DIGEST]"
        ),
    ] = None,
    exact: Annotated[bool, typer.Option("--exact", help="Simulate every CTA and k tile: no sampling.")] = False,
    stream: Annotated[StreamOrigin, typer.Option(help="Origin of the instruction streams.")] = StreamOrigin.ESTIMATED,
    no_figures: Annotated[bool, typer.Option("--no-figures", help="Write no pictures and no trace.")] = False,
    force: Annotated[bool, typer.Option("--force", help="Replace an earlier run in the run directory.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Simulate scenarios; write a run directory for each."""
    from gpusim.commands.run import RunOptions, run_scenarios

    options = RunOptions(
        overrides=tuple(overrides or ()),
        out=out,
        exact=exact,
        stream=stream.value,
        figures=not no_figures,
        force=force,
        as_json=as_json,
    )
    raise typer.Exit(run_scenarios(files, options))


@app.command()
def verify(
    file: ScenarioArgument,
    *,
    overrides: SetOption = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the random tensors.")] = 0,
    mutate: Annotated[
        str | None, typer.Option(help="Break the schedule on purpose: lax_wait, missing_barrier, ...")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Move real data: compare with a reference, find hazards."""
    from gpusim.commands.verify import verify_scenario

    verify_scenario(file, tuple(overrides or ()), seed, mutate, as_json=as_json)


@app.command()
def addresses(
    file: ScenarioArgument,
    stream: Annotated[
        str,
        typer.Argument(
            metavar="STREAM",
            help="gmem_a, gmem_b, smem_store_a, smem_store_b, ldmatrix_a, ldmatrix_b, epilogue or events.",
        ),
    ],
    *,
    overrides: SetOption = None,
    ctaid: Annotated[str, typer.Option(metavar="X,Y,Z", help="blockIdx of the CTA.")] = "0,0,0",
    threads: Annotated[str | None, typer.Option(help="Only these threads, e.g. 0-31,64.")] = None,
    k_tiles: Annotated[str | None, typer.Option(help="Only these k tiles, e.g. 0-2.")] = None,
    thread: Annotated[int, typer.Option(min=0, help="The thread whose events are printed.")] = 0,
    as_json: JsonOption = False,
) -> None:
    """Print an address stream of a CTA."""
    from gpusim.commands.addresses import print_addresses

    print_addresses(
        file,
        tuple(overrides or ()),
        stream,
        ctaid=ctaid,
        threads=threads,
        k_tiles=k_tiles,
        thread=thread,
        as_json=as_json,
    )


@app.command()
def layout(
    spec: Annotated[str, typer.Argument(metavar="SPEC", help="crosswise, row_major, padded<8>, 'Swizzle<3,3,3>' ...")],
    *,
    bits: Annotated[int, typer.Option(help="Bits of one element.")] = 16,
    tile: Annotated[str, typer.Option(metavar="CxS", help="Contiguous x strided elements.")] = "64x128",
    stages: Annotated[int, typer.Option(min=1, help="Slots of the shared-memory ring.")] = 1,
    store: Annotated[
        list[str] | None, typer.Option(metavar="WIDTH[@C:S]", help="Count a store: 16B, 16B@0:32. Repeatable.")
    ] = None,
    ldmatrix: Annotated[
        list[str] | None, typer.Option(metavar="xN[.trans][@C:S]", help="Count an ldmatrix: x4, x4@16:64. Repeatable.")
    ] = None,
    access: Annotated[
        list[str] | None,
        typer.Option(metavar="WIDTH@C:S,...", help="Count an access given lane by lane. Repeatable."),
    ] = None,
    png: Annotated[Path | None, typer.Option(help="Draw the bank map to this file.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Map a shared-memory layout to banks."""
    from gpusim.commands.layout import LayoutQuestion, print_layout

    asked = {"store": store, "ldmatrix": ldmatrix, "access": access}
    question = LayoutQuestion(
        spec=spec,
        bits=bits,
        tile=tile,
        stages=stages,
        accesses=tuple((kind, argument) for kind, arguments in asked.items() for argument in arguments or ()),
    )
    print_layout(question, png=png, as_json=as_json)


@app.command()
def plot(
    run_directory: RunArgument,
    kind: Annotated[FigureKind, typer.Argument(metavar="KIND", help="overlap, conflicts, stalls or roofline.")],
    out: Annotated[Path | None, typer.Option(help="The PNG file.  [default: RUN/KIND.png]")] = None,
    as_json: JsonOption = False,
) -> None:
    """Draw a picture of a run again."""
    from gpusim.commands.figures import plot_run

    plot_run(run_directory, kind.value, out, as_json=as_json)


@app.command()
def trace(
    run_directory: RunArgument,
    trace_format: Annotated[TraceFormat, typer.Option("--format", help="File format.")] = TraceFormat.PERFETTO,
    out: Annotated[Path | None, typer.Option(help="The file.  [default: RUN/trace.pftrace or trace.kanata]")] = None,
    as_json: JsonOption = False,
) -> None:
    """Write the timeline of a run as a trace file."""
    from gpusim.commands.figures import trace_run

    trace_run(run_directory, trace_format.value, out, as_json=as_json)


@app.command()
def schema(as_json: JsonOption = True) -> None:  # noqa: ARG001 # it knows no other form
    """Print the JSON Schema of a scenario."""
    from gpusim.commands.about import print_schema

    print_schema()


@app.command()
def scenarios(as_json: JsonOption = False) -> None:
    """List the shipped scenarios and the question each asks."""
    from gpusim.commands.about import print_scenarios

    print_scenarios(as_json=as_json)


@app.command()
def doctor(as_json: JsonOption = False) -> None:
    """Say what this machine can do, and what it lacks."""
    from gpusim.commands.doctor import print_findings

    print_findings(as_json=as_json)


@app.command()
def version(as_json: JsonOption = False) -> None:
    """Print the version and the commit."""
    from gpusim.commands.about import print_version

    print_version(as_json=as_json)


def main(argv: Sequence[str] | None = None) -> int:
    """
    Run the command line.

    Every error that is the user's to read becomes one line on stderr. An interrupt exits with 130, as shells expect.

    Args:
        argv: Arguments without the program's name; None takes the process's.

    Returns:
        The exit code.
    """
    try:
        code = app(args=argv, prog_name="gpusim", standalone_mode=False)
        sys.stdout.flush()
    except GpusimError as error:
        return _complain(str(error), error.exit_code)
    except typer.TyperException as error:
        context = getattr(error, "ctx", None)
        command = context.command_path if context is not None else "gpusim"
        return _complain(f"{error.format_message()} (see `{command} --help`)", error.exit_code)
    except SystemExit as error:
        return error.code if isinstance(error.code, int) else 1
    except BrokenPipeError:
        # Who read our output has gone; what is still buffered must not be written at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        return _complain(f"{where}{error.strerror or error}", 1)
    return int(code or 0)


def _complain(message: str, code: int) -> int:
    complain(message)
    return code
