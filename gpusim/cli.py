"""Defines the command line: turns arguments into calls and errors into exit codes; imports nothing slow for --help."""

import io
import sys
from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from gpusim.arguments import MOST_JOBS, MOST_SEED
from gpusim.commands.output import answering, complain, finish_stdout, open_missing_streams
from gpusim.errors import BadInput, GpusimError

app = typer.Typer(
    name="gpusim",
    help="Simulates CUTLASS tile kernels inside an NVIDIA SM, without a GPU.",
    epilog="Exit codes: 0 done; 1 it could not be done; 2 bad usage or scenario; 3 done, and a check did not hold.",
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 120},
)


_MOST = 1_000_000
"""Greatest number of most options: far beyond what any of them can mean."""

_INTERRUPTED = 130
"""Exit code of an interrupted command, as shells expect it; typer returns it for an interrupt, and no command does."""


class PictureKind(StrEnum):
    """The kinds of pictures of a run."""

    OVERLAP = "overlap"
    CONFLICTS = "conflicts"
    STALLS = "stalls"
    ROOFLINE = "roofline"
    SWEEP = "sweep"
    SWEEP_MAP = "sweep-map"


class SweepChart(StrEnum):
    """The pictures that a sweep can draw."""

    LINES = "lines"
    MAP = "map"


class TableChoice(StrEnum):
    """The formats of a sweep's table."""

    AUTO = "auto"
    CSV = "csv"
    PARQUET = "parquet"


class TraceFormat(StrEnum):
    """The formats of trace files."""

    PERFETTO = "perfetto"
    KANATA = "kanata"


class StreamChoice(StrEnum):
    """The origins of instruction streams."""

    AUTO = "auto"
    ESTIMATED = "estimated"
    COMPILED = "compiled"


class EngineName(StrEnum):
    """The executions of the simulator's core."""

    AUTO = "auto"
    COMPILED = "compiled"
    INTERPRETED = "interpreted"


def _scenario(file: str | None, name: str | None) -> str:
    from gpusim.commands.scenario_source import scenario_text

    return scenario_text(file, name)


def _folder(text: str) -> Path:
    if not text:
        raise BadInput('--out must name a folder, got ""')
    return Path(text)


def _cubin(text: str) -> Path:
    if not text:
        raise BadInput('--cubin must name a file, got ""')
    return Path(text)


def _tensor_folder(text: str) -> Path:
    if not text:
        raise BadInput('--save-tensors must name a folder, got ""')
    return Path(text)


def _shipped_names(incomplete: str) -> list[str]:
    from gpusim.scenario.catalogue import shipped_scenarios

    return [scenario.name for scenario in shipped_scenarios() if scenario.name.startswith(incomplete)]


ScenarioArgument = Annotated[
    str | None,
    typer.Argument(
        metavar="FILE",
        help="A scenario file, the name of a shipped scenario, or - for standard input.",
        show_default=False,
        autocompletion=_shipped_names,
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
    list[str] | None,
    typer.Option(
        "--cutlass",
        metavar="NAME",
        help="Besides or in place of FILE: the kernel of this name, as CUTLASS's profiler prints it; "
        "--set gives the extents. Repeatable.",
    ),
]
RunArgument = Annotated[Path, typer.Argument(metavar="RUN", help="A run directory.", show_default=False)]
SetOption = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="Override a key, e.g. problem.c=256. Repeatable."),
]
SaveTensorsOption = Annotated[
    Path | None,
    typer.Option(
        parser=_tensor_folder,
        metavar="FOLDER",
        help="Execute on random tensors, and write them to this folder, one CSV file each.",
    ),
]
ForceOption = Annotated[
    bool, typer.Option("--force", help="Replace what gpusim has written there before. Other files are never replaced.")
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON.")]
MetricOption = Annotated[
    str, typer.Option(metavar="NAME", help="What is drawn of a sweep: tflops, cycles, time_us, occupancy, ...")
]
HeldOutRowsOption = Annotated[
    bool, typer.Option("--held-out-rows", help="Show rows of held-out records; the look is noted in the log.")
]


def _print_version(asked: bool) -> None:
    if asked:
        from gpusim.commands.about import print_version

        print_version(as_json=False)
        raise typer.Exit


@app.callback()
def gpusim(
    *,
    version: Annotated[  # its callback prints and ends
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version, and exit.")
    ] = False,
) -> None:
    """Simulates CUTLASS tile kernels inside an NVIDIA SM, without a GPU."""


@app.command()
def run(
    files: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="FILE...",
            help="Scenario files, names of shipped scenarios, or - for standard input.",
            show_default=False,
            autocompletion=_shipped_names,
        ),
    ] = None,
    *,
    cutlass: CutlassOptions = None,
    overrides: SetOption = None,
    out: Annotated[
        Path | None,
        typer.Option(
            parser=_folder,
            metavar="FOLDER",
            help="The run directory; with several files, the folder that holds theirs. "
            "If it is not empty, -2, -3, ... is appended.  [default: runs/NAME-DIGEST]",
        ),
    ] = None,
    exact: Annotated[
        bool | None,
        typer.Option(
            "--exact/--sampled",
            help="Simulate every CTA and k tile, or sample.  [default: exact up to 50 million warp instructions]",
            show_default=False,
        ),
    ] = None,
    stream: Annotated[
        StreamChoice,
        typer.Option(
            help="Origin of the instruction streams. auto: compiled where they can be, else estimated, and why."
        ),
    ] = StreamChoice.AUTO,
    engine: Annotated[
        EngineName, typer.Option(help="Execution of the simulator's core. auto: the compiled one where it was built.")
    ] = EngineName.AUTO,
    cubin: Annotated[
        Path | None,
        typer.Option(
            parser=_cubin,
            metavar="KERNEL.cubin",
            help="Take the machine code of this file instead of gpusim's kernel; addresses come from the schedule.",
        ),
    ] = None,
    entry: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Name of the kernel in --cubin, or a part that only its name has."),
    ] = None,
    no_figures: Annotated[bool, typer.Option("--no-figures", help="Write no pictures and no trace.")] = False,
    force: ForceOption = False,
    reference_check: Annotated[
        bool, typer.Option("--reference-check", help="Execute on random tensors, and compare with the reference.")
    ] = False,
    save_tensors: SaveTensorsOption = None,
    seed: Annotated[int, typer.Option(min=0, max=MOST_SEED, help="Seed of the random tensors.")] = 0,
    as_json: JsonOption = False,
) -> None:
    """Simulate scenarios, and write a run directory for each."""
    from gpusim.commands.run import RunOptions, run_scenarios
    from gpusim.commands.scenario_source import scenario_texts

    options = RunOptions(
        overrides=tuple(overrides or ()),
        out=out,
        exact=exact,
        stream=stream.value,
        engine=engine.value,
        cubin=cubin,
        entry=entry,
        figures=not no_figures,
        force=force,
        reference_check=reference_check,
        save_tensors=save_tensors,
        seed=seed,
        as_json=as_json,
    )
    raise typer.Exit(run_scenarios(scenario_texts(files or [], cutlass or []), options))


@app.command()
def verify(
    file: ScenarioArgument = None,
    *,
    cutlass: CutlassOption = None,
    overrides: SetOption = None,
    seed: Annotated[int, typer.Option(min=0, max=MOST_SEED, help="Seed of the random tensors.")] = 0,
    mutate: Annotated[
        str | None,
        typer.Option(help="Break the schedule on purpose: lax_wait, missing_barrier, ... Exit 3 when it is caught."),
    ] = None,
    reference_check: Annotated[
        bool, typer.Option("--reference-check/--no-reference-check", help="Compare the output with the reference.")
    ] = True,
    save_tensors: SaveTensorsOption = None,
    force: ForceOption = False,
    as_json: JsonOption = False,
) -> None:
    """Execute a schedule on real data: compare with a reference, find hazards."""
    from gpusim.commands.verify import VerifyOptions, verify_scenario

    options = VerifyOptions(
        overrides=tuple(overrides or ()),
        seed=seed,
        mutation=mutate,
        reference_check=reference_check,
        save_tensors=save_tensors,
        force=force,
        as_json=as_json,
    )
    verify_scenario(_scenario(file, cutlass), options)


@app.command()
def addresses(
    file: ScenarioArgument = None,
    stream: Annotated[
        str | None,
        typer.Argument(
            metavar="STREAM",
            help="gmem_a, gmem_b, smem_store_a, smem_store_b, ldmatrix_a, ldmatrix_b, epilogue or events; of attention "
            "_q, _k, _p, _v for _a, _b.",
            show_default=False,
        ),
    ] = None,
    *,
    cutlass: CutlassOption = None,
    overrides: SetOption = None,
    ctaid: Annotated[
        str, typer.Option(metavar="X,Y,Z", help="blockIdx of the CTA. Trailing 0s may be left out.")
    ] = "0,0,0",
    threads: Annotated[str | None, typer.Option(help="Only these threads, e.g. 0-31,64.")] = None,
    k_tiles: Annotated[str | None, typer.Option(help="Only these k tiles, e.g. 0-2.")] = None,
    thread: Annotated[
        int | None, typer.Option(min=0, max=_MOST, help="The thread whose events are printed.  [default: 0]")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Print an address stream of a CTA."""
    from gpusim.commands.addresses import print_addresses

    if cutlass is not None and stream is None:
        file, stream = None, file
    text = _scenario(file, cutlass)
    if stream is None:
        raise BadInput("addresses needs a STREAM (see `gpusim addresses --help`)")
    print_addresses(
        text,
        tuple(overrides or ()),
        stream,
        ctaid=ctaid,
        threads=threads,
        k_tiles=k_tiles,
        thread=thread,
        as_json=as_json,
    )


def _accesses(metavar: str, words: str) -> Any:
    return typer.Option(metavar=metavar, help=f"{words} Repeatable.")


@app.command()
def layout(
    spec: Annotated[
        str,
        typer.Argument(
            metavar="SPEC",
            help="crosswise, row_major, padded<8>, 'Swizzle<3,3,3>', or a layout as CuTe prints it: "
            "'Sw<3,3,3> o _0 o (_8,_64):(_64,_1)'.",
        ),
    ] = "row_major",
    *,
    bits: Annotated[int, typer.Option(min=1, max=_MOST, help="Bits of one element.")] = 16,
    tile: Annotated[
        str | None,
        typer.Option(metavar="CxS", help="Contiguous x strided elements.  [default: what SPEC states, or 64x128]"),
    ] = None,
    stages: Annotated[
        int | None,
        typer.Option(min=1, max=_MOST, help="Slots of the shared-memory ring.  [default: what SPEC states, or 1]"),
    ] = None,
    base: Annotated[
        int, typer.Option(min=0, max=_MOST, metavar="BYTES", help="Address of the tile in shared memory.")
    ] = 0,
    store: Annotated[list[str] | None, _accesses("WIDTH[@C:S]", "Count a store by rows: 16B, 16B@0:32.")] = None,
    load: Annotated[list[str] | None, _accesses("WIDTH[@C:S]", "Count a load by rows: 16B, 4B@0:32.")] = None,
    cp_async: Annotated[
        list[str] | None,
        _accesses("WIDTH[.cg:LEADING][@C:S]", "Count a cp.async by rows; with rows of global memory: 16B.cg:4096."),
    ] = None,
    ldmatrix: Annotated[list[str] | None, _accesses("xN[.trans][@C:S]", "Count an ldmatrix: x4, x4@16:64.")] = None,
    stmatrix: Annotated[list[str] | None, _accesses("xN[.trans][@C:S]", "Count an stmatrix: x4, x2@0:16.")] = None,
    lds: Annotated[
        list[str] | None,
        _accesses("FRAGMENT[@C:S]", "Count the loads of an MMA fragment: m16n8k8.tf32.a, m16n8k16.f16.b.mn."),
    ] = None,
    sts: Annotated[
        list[str] | None, _accesses("FRAGMENT[@C:S]", "Count the stores of an MMA fragment: m16n8k16.f16.c.")
    ] = None,
    copy_from: Annotated[
        list[str] | None,
        _accesses(
            "TILEDCOPY",
            "Count a CuTe TiledCopy that reads the tile: its print, 'ATOM, THREADS, VALUES' or 'ATOM, MMA.A 2x2'.",
        ),
    ] = None,
    copy_to: Annotated[list[str] | None, _accesses("TILEDCOPY", "Count a CuTe TiledCopy that writes the tile.")] = None,
    access: Annotated[
        list[str] | None,
        _accesses("WIDTH@C:S,...", "Count an access lane by lane, or by expressions: 16B@lane%8*8:lane/8."),
    ] = None,
    search: Annotated[
        bool, typer.Option("--search", help="Find a swizzle or a padding without conflicts for these accesses.")
    ] = False,
    png: Annotated[
        Path | None, typer.Option("--png", "--picture", help="Draw the bank map to this .png, .svg or .pdf.")
    ] = None,
    force: ForceOption = False,
    as_json: JsonOption = False,
) -> None:
    """Map a shared-memory layout to banks."""
    from gpusim.commands.layout import LayoutQuestion, print_layout

    asked = {
        "store": store,
        "load": load,
        "cp-async": cp_async,
        "ldmatrix": ldmatrix,
        "stmatrix": stmatrix,
        "lds": lds,
        "sts": sts,
        "copy-from": copy_from,
        "copy-to": copy_to,
        "access": access,
    }
    question = LayoutQuestion(
        spec=spec,
        bits=bits,
        tile=tile,
        stages=stages,
        accesses=tuple((kind, argument) for kind, arguments in asked.items() for argument in arguments or ()),
        base=base,
        search=search,
    )
    print_layout(question, picture=png, force=force, as_json=as_json)


@app.command()
def plot(
    run_directory: RunArgument,
    kind: Annotated[
        PictureKind,
        typer.Argument(
            metavar="KIND", help="overlap, conflicts, stalls or roofline; of a sweep's folder sweep or sweep-map."
        ),
    ],
    *,
    out: Annotated[Path | None, typer.Option(help="The file: .png, .svg or .pdf.  [default: RUN/KIND.png]")] = None,
    metric: MetricOption = "tflops",
    force: ForceOption = False,
    as_json: JsonOption = False,
) -> None:
    """Draw a picture of a run or a sweep again."""
    if kind in {PictureKind.SWEEP, PictureKind.SWEEP_MAP}:
        from gpusim.commands.sweep import plot_sweep

        plot_sweep(run_directory, kind.value, metric, out, force=force, as_json=as_json)
        return
    from gpusim.commands.figures import plot_run

    plot_run(run_directory, kind.value, out, force=force, as_json=as_json)


@app.command()
def trace(
    run_directory: RunArgument,
    *,
    trace_format: Annotated[TraceFormat, typer.Option("--format", help="File format.")] = TraceFormat.PERFETTO,
    out: Annotated[Path | None, typer.Option(help="The file.  [default: RUN/trace.pftrace or trace.kanata]")] = None,
    force: ForceOption = False,
    as_json: JsonOption = False,
) -> None:
    """Write the timeline of a run as a trace file."""
    from gpusim.commands.figures import trace_run

    trace_run(run_directory, trace_format.value, out, force=force, as_json=as_json)


@app.command()
def report(
    run_directories: Annotated[
        list[Path],
        typer.Argument(metavar="RUN...", help="Run directories, compared with the first, and folders of sweeps."),
    ],
    out: Annotated[Path, typer.Option(help="The HTML file.")],
    *,
    force: ForceOption = False,
    as_json: JsonOption = False,
) -> None:
    """Write one HTML file about runs, which works offline: verdict, timeline, banks, stalls, roofline, provenance."""
    from gpusim.commands.figures import write_report

    write_report(run_directories, out, force=force, as_json=as_json)


@app.command()
def check(
    files: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[FILE...]",
            help="Scenario files, or names of shipped ones.",
            show_default=False,
            autocompletion=_shipped_names,
        ),
    ] = None,
    *,
    cutlass: CutlassOptions = None,
    overrides: SetOption = None,
    recorded: Annotated[
        bool, typer.Option("--recorded", help="Compare with the records; without FILE, with all of them. Needs no GPU.")
    ] = False,
    record: Annotated[bool, typer.Option("--record", help="Keep what is measured in reports/measured.")] = False,
    gpu: Annotated[str | None, typer.Option(help="GPU whose records to use, e.g. h200.  [default: any]")] = None,
    seed: Annotated[int, typer.Option(min=0, max=MOST_SEED, help="Seed of the random tensors.")] = 0,
    overlay: Annotated[
        Path | None, typer.Option(metavar="PNG", help="Draw the measured pipeline above the simulated one.")
    ] = None,
    held_out_rows: HeldOutRowsOption = False,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Keep each answer in this file as it comes, a line of JSON each. What it has already is not checked "
            "again, so that a command that was interrupted goes on where it was.",
        ),
    ] = None,
    force: ForceOption = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON; with several scenarios, a line each.")] = False,
) -> None:
    """Run a scenario's kernel on the GPU, and compare it with the simulation."""
    from gpusim.commands.check import CheckOptions, check_scenarios
    from gpusim.commands.scenario_source import scenario_texts

    options = CheckOptions(
        overrides=tuple(overrides or ()),
        recorded=recorded,
        record=record,
        gpu=gpu,
        seed=seed,
        overlay=overlay,
        held_out_rows=held_out_rows,
        out=out,
        force=force,
        as_json=as_json,
    )
    given = scenario_texts(files or [], cutlass or []) if files or cutlass else []
    raise typer.Exit(check_scenarios(given, options))


@app.command()
def validate(
    *,
    gpu: Annotated[str, typer.Option(help="GPU whose records to use.")] = "h200",
    only: Annotated[
        list[str] | None,
        typer.Option(metavar="PATTERN", help="Only records of such names, e.g. 'gemm_*'.", show_default=False),
    ] = None,
    stream: Annotated[
        StreamChoice, typer.Option(help="Origin of the instruction streams. auto: both, each in rows of its own.")
    ] = StreamChoice.AUTO,
    exact: Annotated[
        bool | None,
        typer.Option(
            "--exact/--sampled", help="Simulate every CTA, or sample.  [default: by the number of warp instructions]"
        ),
    ] = None,
    jobs: Annotated[
        int | None, typer.Option(min=1, max=MOST_JOBS, help="Processes.  [default: one for each core]")
    ] = None,
    held_out: Annotated[
        bool, typer.Option("--held-out", help="Show aggregates of the held-out half; the look is noted in the log.")
    ] = False,
    held_out_rows: HeldOutRowsOption = False,
    cutlass_rows: Annotated[
        list[Path] | None,
        typer.Option(metavar="JSON", help="Measured kernels of CUTLASS's own.  [default: the committed ones]"),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(parser=_folder, metavar="FOLDER", help="Write the page, its data and the picture to this folder."),
    ] = None,
    force: ForceOption = False,
    as_json: JsonOption = False,
) -> None:
    """Say how far simulated figures are from all that were recorded, in one half of the records."""
    from gpusim.commands.validate import ValidateOptions, validate_records

    options = ValidateOptions(
        gpu=gpu,
        only=tuple(only or ()),
        stream=stream.value,
        exact=exact,
        jobs=jobs,
        held_out=held_out,
        held_out_rows=held_out_rows,
        cutlass_rows=tuple(cutlass_rows or ()),
        out=out,
        force=force,
        as_json=as_json,
    )
    validate_records(options)


@app.command()
def sweep(
    file: ScenarioArgument = None,
    *,
    cutlass: CutlassOption = None,
    overrides: SetOption = None,
    over: Annotated[
        list[str] | None,
        typer.Option(
            metavar="KEY=V,V,...", help="An axis: a key and its values, e.g. kernel.stages=3,4,5. Repeatable."
        ),
    ] = None,
    axes: Annotated[
        Path | None, typer.Option(metavar="TOML", help="A file of axes; an array of tables varies keys together.")
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            parser=_folder,
            metavar="DIR",
            help="Folder of the sweep; where it holds the same one, that goes on.  [default: sweeps/NAME-DIGEST]",
        ),
    ] = None,
    jobs: Annotated[
        int | None, typer.Option(min=1, max=MOST_JOBS, help="Processes.  [default: one for each core]")
    ] = None,
    scheduler: Annotated[
        str | None, typer.Option(metavar="ADDRESS", help="Simulate on the cluster of this Dask scheduler instead.")
    ] = None,
    exact: Annotated[
        bool | None,
        typer.Option(
            "--exact/--sampled", help="Simulate every CTA, or sample.  [default: by the number of warp instructions]"
        ),
    ] = None,
    stream: Annotated[
        StreamChoice,
        typer.Option(
            help="Origin of the instruction streams. auto: compiled where they can be, else estimated, and why."
        ),
    ] = StreamChoice.AUTO,
    table: Annotated[
        TableChoice, typer.Option(help="Format of the table. auto: Parquet where pyarrow is installed.")
    ] = TableChoice.AUTO,
    plot: Annotated[
        list[SweepChart] | None, typer.Option("--plot", help="Draw lines or a heat map into DIR. Repeatable.")
    ] = None,
    metric: MetricOption = "tflops",
    force: Annotated[
        bool, typer.Option("--force", help="Begin anew where DIR holds a sweep, this one or another. Other files stay.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Simulate a scenario over axes of keys, into one table."""
    from gpusim.commands.sweep import SweepOptions, sweep_scenario

    charts = {SweepChart.LINES: "sweep", SweepChart.MAP: "sweep-map"}
    options = SweepOptions(
        overrides=tuple(overrides or ()),
        over=tuple(over or ()),
        axes=axes,
        out=out,
        jobs=jobs,
        scheduler=scheduler,
        exact=exact,
        stream=stream.value,
        table=table.value,
        charts=tuple(charts[one] for one in plot or ()),
        metric=metric,
        force=force,
        as_json=as_json,
    )
    sweep_scenario(_scenario(file, cutlass), options)


@app.command()
def tune(
    file: ScenarioArgument = None,
    *,
    cutlass: CutlassOption = None,
    overrides: SetOption = None,
    jobs: Annotated[
        int | None, typer.Option(min=1, max=MOST_JOBS, help="Processes.  [default: one for each core]")
    ] = None,
    scheduler: Annotated[
        str | None, typer.Option(metavar="ADDRESS", help="Simulate on the cluster of this Dask scheduler instead.")
    ] = None,
    top: Annotated[int, typer.Option(min=1, max=_MOST, help="Configurations to print.")] = 8,
    measure: Annotated[
        int, typer.Option(min=0, max=_MOST, help="Measure this many of the best on the GPU, with ncu.")
    ] = 0,
    budget: Annotated[
        int,
        typer.Option(min=1, max=_MOST, help="Most simulations. Where more configurations are legal, optuna chooses."),
    ] = 200,
    exact: Annotated[
        bool | None,
        typer.Option(
            "--exact/--sampled", help="Simulate every CTA, or sample.  [default: by the number of warp instructions]"
        ),
    ] = None,
    stream: Annotated[
        StreamChoice,
        typer.Option(
            help="Origin of the instruction streams. auto: compiled where they can be, else estimated, and why."
        ),
    ] = StreamChoice.AUTO,
    as_json: JsonOption = False,
) -> None:
    """Find the fastest kernel for a scenario's problem."""
    from gpusim.commands.tune import TuneOptions, tune_scenario

    options = TuneOptions(
        overrides=tuple(overrides or ()),
        jobs=jobs,
        scheduler=scheduler,
        top=top,
        measure=measure,
        budget=budget,
        exact=exact,
        stream=stream.value,
        as_json=as_json,
    )
    tune_scenario(_scenario(file, cutlass), options)


@app.command()
def sass(
    file: ScenarioArgument = None,
    *,
    cutlass: CutlassOption = None,
    overrides: SetOption = None,
    segment: Annotated[str | None, typer.Option(help="Only the prologue, mainloop, tail or epilogue.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Print the compiled kernel with its simulated issue cycles."""
    from gpusim.commands.sass import print_sass

    print_sass(_scenario(file, cutlass), tuple(overrides or ()), segment, as_json=as_json)


@app.command()
def name(
    file: ScenarioArgument = None,
    *,
    cutlass: CutlassOption = None,
    overrides: SetOption = None,
    as_json: JsonOption = False,
) -> None:
    """Print the name that CUTLASS's profiler gives a scenario's kernel."""
    from gpusim.commands.name import print_name

    print_name(_scenario(file, cutlass), tuple(overrides or ()), as_json=as_json)


@app.command()
def compare(
    sides: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="A B...",
            help="Run directories, scenario files or names, ncu reports (.ncu-rep) or ncu's CSV.",
            show_default=False,
        ),
    ] = None,
    *,
    overrides: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="Of one side, make a second with this key. Repeatable."),
    ] = None,
    kernel: Annotated[str | None, typer.Option(help="Only launches of kernels whose name matches.")] = None,
    launch: Annotated[
        int | None, typer.Option(min=0, max=_MOST, help="Number of the launch among them, from 0.")
    ] = None,
    exact: Annotated[
        bool | None,
        typer.Option(
            "--exact/--sampled",
            help="Simulate every CTA of a scenario, or sample.  [default: by the number of warp instructions]",
            show_default=False,
        ),
    ] = None,
    stream: Annotated[
        StreamChoice, typer.Option(help="Origin of the instruction streams of scenarios; a run has its own.")
    ] = StreamChoice.AUTO,
    png: Annotated[Path | None, typer.Option(help="Draw pipelines and stalls on one axis to this file.")] = None,
    force: ForceOption = False,
    as_json: JsonOption = False,
) -> None:
    """Compare runs, scenarios and profiles: what differs, and what that did."""
    from gpusim.commands.compare import CompareOptions, compare_sides

    options = CompareOptions(
        overrides=tuple(overrides or ()),
        kernel=kernel,
        launch=launch,
        exact=exact,
        stream=stream.value,
        png=png,
        force=force,
        as_json=as_json,
    )
    compare_sides(sides or [], options)


@app.command()
def explain(
    what: Annotated[
        str | None,
        typer.Argument(
            metavar="RUN|FILE",
            help="A run directory, a scenario file, or the name of a shipped scenario.",
            show_default=False,
        ),
    ] = None,
    *,
    cutlass: CutlassOption = None,
    overrides: SetOption = None,
    exact: Annotated[
        bool | None,
        typer.Option(
            "--exact/--sampled",
            help="Simulate every CTA, or sample.  [default: by the number of warp instructions]",
            show_default=False,
        ),
    ] = None,
    stream: Annotated[
        StreamChoice, typer.Option(help="Origin of the instruction streams; a run has its own.")
    ] = StreamChoice.AUTO,
    as_json: JsonOption = False,
) -> None:
    """Say what bounds a kernel, where each per cent of the time goes, and what would help."""
    from gpusim.commands.explain import print_explanation

    print_explanation(
        what if what is not None and cutlass is None and Path(what).is_dir() else _scenario(what, cutlass),
        tuple(overrides or ()),
        exact=exact,
        stream=stream.value,
        as_json=as_json,
    )


@app.command()
def calibrate(
    *,
    out: Annotated[
        Path | None, typer.Option(help="Folder of the CSV.  [default: reports/measured/GPU/microbench]")
    ] = None,
    derived_from: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="Derive from the CSV there; measure nothing.")
    ] = None,
    machine: Annotated[Path | None, typer.Option(metavar="TOML", help="Write the figures into this file.")] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Fewer warps, strides and SMs.")] = False,
    only: Annotated[list[str] | None, typer.Option(metavar="NAME", help="Just this benchmark. Repeatable.")] = None,
    force: ForceOption = False,
    as_json: JsonOption = False,
) -> None:
    """Measure on the GPU what a machine file needs."""
    from gpusim.commands.calibrate import CalibrateOptions, calibrate_machine

    options = CalibrateOptions(
        out=out,
        derived_from=derived_from,
        machine=machine,
        quick=quick,
        only=tuple(only or ()),
        force=force,
        as_json=as_json,
    )
    calibrate_machine(options)


@app.command()
def machine(
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[NAME|FILE]...",
            help="A shipped machine, or a machine file; with other figures: 'h200 with sms = 66'.",
            show_default=False,
        ),
    ] = None,
    *,
    as_json: JsonOption = False,
) -> None:
    """List the machines; show one: its figures by kind, with unit and source; of several, say which figures differ."""
    from gpusim.commands.machine import print_machine, print_machine_differences, print_machines

    if not names:
        print_machines(as_json=as_json)
    elif len(names) == 1:
        print_machine(names[0], as_json=as_json)
    else:
        print_machine_differences(names, as_json=as_json)


@app.command()
def stalls(
    run_directory: Annotated[
        Path | None,
        typer.Argument(metavar="[RUN]", help="A run directory, whose stalls to explain.", show_default=False),
    ] = None,
    *,
    as_json: JsonOption = False,
) -> None:
    """Say what each stall reason means, and what helps; of a run, with its shares."""
    from gpusim.commands.stalls import print_stalls

    print_stalls(run_directory, as_json=as_json)


@app.command()
def keys(
    what: Annotated[
        str | None,
        typer.Argument(
            metavar="[KIND|KEY|machine]",
            help="A kind of problem, a key or a table of keys, or machine for the keys of machine files.",
            show_default=False,
        ),
    ] = None,
    *,
    as_json: JsonOption = False,
) -> None:
    """List the keys of scenarios by kind, and of machine files: allowed values, default and meaning."""
    from gpusim.commands.about import print_keys

    print_keys(what, as_json=as_json)


@app.command()
def schema(as_json: JsonOption = True) -> None:  # noqa: ARG001 # it knows no other form
    """Print the JSON Schema of a scenario."""
    from gpusim.commands.about import print_schema

    print_schema()


@app.command()
def scenarios(as_json: JsonOption = False) -> None:
    """List the shipped scenarios and the question that each asks."""
    from gpusim.commands.about import print_scenarios

    print_scenarios(as_json=as_json)


@app.command()
def doctor(as_json: JsonOption = False) -> None:
    """Print what this machine can do, and what it lacks."""
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

    Every expected error becomes one line on stderr. An answer that stdout does not take is exit code 1. A character
    that stdout's encoding lacks is printed as its escape.

    Args:
        argv: Arguments without the program's name; None takes the process's.

    Returns:
        The exit code; 130 after an interrupt, which is one line on stderr, too.
    """
    open_missing_streams()
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        code = app(args=argv, prog_name="gpusim", standalone_mode=False)
        if code == _INTERRUPTED:
            complain("interrupted")
        with answering():
            sys.stdout.flush()
    except GpusimError as error:
        return _complain(str(error), error.exit_code)
    except typer.TyperException as error:
        context = getattr(error, "ctx", None)
        command = context.command_path if context is not None else "gpusim"
        return _complain(f"{error.format_message()} (see `{command} --help`)", error.exit_code)
    except SystemExit as error:
        return error.code if isinstance(error.code, int) else 1
    except BrokenPipeError:  # the reader of stdout has closed it
        return 1
    except (OSError, MemoryError) as error:
        return _complain(_reason(error), 1)
    finally:
        finish_stdout()
    return int(code or 0)


def _complain(message: str, code: int) -> int:
    complain(message)
    return code


def _reason(error: OSError | MemoryError) -> str:
    if isinstance(error, MemoryError):
        return f"out of memory ({error})" if str(error) else "out of memory"
    where = f"{error.filename}: " if error.filename else ""
    return f"{where}{error.strerror or error}"
