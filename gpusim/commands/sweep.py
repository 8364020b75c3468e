"""``gpusim sweep``: simulates a scenario over axes, keeps each point as it finishes, and prints the best ones."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from gpusim.commands.options.figures import PlotOptions
from gpusim.commands.options.sweep import SweepChart, SweepOptions
from gpusim.commands.output import check_picture, print_json, print_text, progress, right_aligned, written
from gpusim.commands.scenario_source import read_question, scenario_name, scenario_text
from gpusim.errors import BadInput, Interrupted
from gpusim.results.provenance import digest
from gpusim.results.result import ELAPSED
from gpusim.scenario.own_kernel import KernelQuestion
from gpusim.verbs.sweep import Sweep, keys_of, read_sweep, sweep
from gpusim.verbs.sweeping.axes import Axis, axes_of_file, axes_of_texts, cell
from gpusim.verbs.sweeping.journal import JOURNAL
from gpusim.verbs.sweeping.point import about_streams

SWEEPS = Path("sweeps")

CHARTS: Final = {"sweep": "lines.png", "sweep-map": "map.png"}
"""Pictures of a sweep's folder, and their files."""

_KINDS: Final = {SweepChart.LINES: "sweep", SweepChart.MAP: "sweep-map"}

SHOWN: Final = 10
"""Points that are printed: the fastest."""


def sweep_scenario(options: SweepOptions) -> None:
    """
    Sweep a scenario, and print the path of the table and the fastest points.

    Raises:
        BadInput: The scenario's file is missing, an axis is wrong, the folder holds another sweep, or every point was
            refused, which is said after the answer.
        CannotRun: The folder cannot be written, or no scheduler answers.
        Interrupted: The user interrupted the sweep. The message says what is kept.
    """
    text = scenario_text(options.file, options.cutlass)
    axes = axes_of_file(options.axes) if options.axes is not None else ()
    if options.over or not axes:
        axes += axes_of_texts(options.over)
    _require_distinct(axes)
    name = scenario_name(text)
    out = options.out or SWEEPS / f"{name}-{_digest(text, axes, options)}"
    if isinstance(read_question(text, options.overrides), KernelQuestion):
        from gpusim.commands.own.sweep import sweep_kernel  # a scenario that gpusim schedules does not need it

        sweep_kernel(text, axes, out, options)
        return
    try:
        found = sweep(
            text,
            axes,
            out,
            options.jobs,
            overrides=options.overrides,
            scheduler=options.scheduler,
            exact=options.exact,
            stream=options.stream,
            table=options.table,
            force=options.force,
            progress=progress,
        )
    except KeyboardInterrupt as error:
        raise Interrupted(_kept(out)) from error
    if options.as_json:
        print_json(found.to_dict())
    else:
        print_text(_text(found))
    if found.rows and found.refused == len(found.rows):
        raise BadInput(f"every point was refused, the first: {found.rows[0]['error']}")
    for chart in options.plot:
        kind = _KINDS[chart]
        draw_sweep(found, kind, options.metric, out / CHARTS[kind], force=options.force, follow=False)


def plot_sweep(options: PlotOptions) -> None:
    """
    Draw a picture of a sweep's folder, into the folder itself if ``out`` is None.

    Raises:
        BadInput: The folder holds no sweep, there is no such metric, ``out`` does not end in .png, .svg or .pdf, or
            another picture is there and ``force`` is False, or something that gpusim has not made.
        CannotRun: The file cannot be written.
    """
    folder, kind, out = options.run_directory, options.kind, options.out
    if out is not None:
        check_picture("--out", out)
    path = out or folder / CHARTS[kind]
    draw_sweep(read_sweep(folder), kind, options.metric, path, force=options.force, follow=out is not None)
    if options.as_json:
        print_json({"kind": kind, "path": str(path)})
    else:
        print_text(str(path))


def draw_sweep(found: Sweep, kind: str, metric: str, path: Path, *, force: bool, follow: bool) -> None:
    """
    Draw the picture ``kind``, a key of ``CHARTS``; ``force`` and ``follow`` are those of ``written_for_user``.

    Raises:
        BadInput: There is no such metric, no point has it, a map is asked for and the sweep has one axis, or something
            is there that may not be replaced.
        CannotRun: The file cannot be written.
    """
    from gpusim.report.sweep_charts import SweptAxis, sweep_lines, sweep_map  # slow to import

    axes = [
        SweptAxis(one.name, one.keys, tuple(tuple(cell(setting[key]) for key in one.keys) for setting in one.settings))
        for one in found.axes
    ]
    draw: Callable[[Sequence[SweptAxis], Sequence[Mapping[str, Any]], str, str, Path], object]
    draw = sweep_map if kind == "sweep-map" else sweep_lines
    title = f"Sweep over {', '.join(one.name for one in found.axes)}"
    with written(path, force=force, follow=follow) as aside:
        draw(axes, found.rows, metric, title, aside)


def _require_distinct(axes: Sequence[Axis]) -> None:
    keys = keys_of(axes)
    for key in keys:
        if keys.count(key) > 1:
            raise BadInput(f"{key} must stand on one axis, got it in --over and --axes")


def _digest(text: str, axes: Sequence[Axis], options: SweepOptions) -> str:
    settings = [list(options.overrides), options.exact, options.stream]
    return digest([text, [[axis.name, list(axis.settings)] for axis in axes], settings])[:8]


def _kept(out: Path) -> str:
    try:
        lines = (out / JOURNAL).read_bytes().count(b"\n")
    except OSError:
        lines = 0
    return f"interrupted: {lines} points are kept in {out}; the same command goes on with the others"


def _text(found: Sweep) -> str:
    """Return the path of the table, and the fastest points, as text."""
    refused = f", {found.refused} refused" if found.refused else ""
    lines = [f"{found.table}: {len(found.rows)} points{refused}"]
    ranked = sorted((row for row in found.rows if "error" not in row), key=lambda row: row["time_us"])
    if ranked:
        columns = [*keys_of(found.axes), "cycles", "time_us", "tflops", "occupancy", "bank_conflicts", "bound"]
        table = [columns, *([_shown(row[column]) for column in columns] for row in ranked[:SHOWN])]
        lines += ["", f"the fastest of them, by {ELAPSED} and the clock:" if len(ranked) > 1 else "the only one:"]
        lines += right_aligned(table)
    streams = about_streams(found.rows)
    if streams:
        lines += ["", streams]
    first = next((row["error"] for row in found.rows if "error" in row), None)
    if first is not None:
        lines += ["", f"the first refusal: {first}"]
    return "\n".join(lines)


def _shown(value: object) -> str:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value)
    return f"{value:,}" if isinstance(value, int) else f"{value:,.4g}" if value < 1000 else f"{value:,.1f}"
