"""``gpusim sweep`` of a kernel of the user's own: grid, block, arguments, macros or figures of the machine as axes."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from gpusim.commands.options.sweep import SweepOptions
from gpusim.commands.output import print_json, print_text, progress, right_aligned
from gpusim.commands.own.launch import refuse_scheduled_options
from gpusim.commands.scenario_source import read_question
from gpusim.errors import BadInput, CannotRun, GpusimError
from gpusim.python.question import answer
from gpusim.report.own.tables import stall_shares
from gpusim.results.kernel_result import SELECTED_REASON
from gpusim.results.whole_file import refuse_taken
from gpusim.scenario.own_kernel import KernelQuestion
from gpusim.scenario.text import toml_value
from gpusim.verbs.processes import in_processes
from gpusim.verbs.sweeping.axes import Axis, cell, points_of
from gpusim.verbs.sweeping.table import STEM, write_table

KERNEL_FIGURES: Final = (
    *("cycles", "time_us", "ctas_per_sm", "waves", "warp_instructions", "wavefronts", "conflicts", "sectors"),
    *("most_stalled", "error"),
)
"""Columns of the table after the keys."""

SHOWN_FIGURES: Final = ("cycles", "time_us", "ctas_per_sm", "conflicts", "sectors", "most_stalled")
SHOWN_POINTS: Final = 10

NOT_FOR_KERNELS: Final = {"scheduler": "--scheduler", "exact": "--exact", "stream": "--stream", "plot": "--plot"}
"""Options of sweeps over scenarios that gpusim schedules."""


def sweep_kernel(text: str, axes: Sequence[Axis], out: Path, options: SweepOptions) -> None:
    """
    Answer every point of a product of axes; print the path of the table and the fastest points.

    Args:
        text: The scenario.
        axes: The axes.
        out: Folder of the table.
        options: The command's options.

    Raises:
        BadInput: An option is not for kernels of the user's own, the folder has a table and ``--force`` is not given,
            or every point was refused.
        CannotRun: The folder cannot be written.
    """
    refuse_scheduled_options(options, text, NOT_FOR_KERNELS)
    for suffix in ("csv", "parquet"):
        if (out / f"{STEM}.{suffix}").exists():
            refuse_taken(out / f"{STEM}.{suffix}", force=options.force)
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise CannotRun(f"{out}: cannot be written ({error.strerror or error})") from error
    points = points_of(axes)
    settings = [tuple(f"{key}={toml_value(value)}" for key, value in point.items()) for point in points]
    work = [(text, (*options.overrides, *own)) for own in settings]
    with in_processes(kernel_point, work, options.jobs) as answers:
        rows = list[dict[str, Any]]()
        for own, point, row in zip(settings, points, answers, strict=True):
            progress(f"{len(rows) + 1} of {len(points)}: {', '.join(own)}")
            rows.append({key: cell(value) for key, value in point.items()} | row)
    keys = list(points[0])
    table = write_table(out, [*keys, *KERNEL_FIGURES], rows, options.table)
    if options.as_json:
        print_json({"table": str(table), "points": len(rows), "rows": rows})
    else:
        print_text(_text(table, keys, rows))
    if all("error" in row for row in rows):
        raise BadInput(f"every point was refused, the first: {rows[0]['error']}")


def kernel_point(text: str, overrides: tuple[str, ...]) -> dict[str, Any]:
    """Return the figures of a scenario with settings, or why it is refused, as ``error``."""
    try:
        question = read_question(text, overrides)
        if not isinstance(question, KernelQuestion):
            raise BadInput(f"{text} is no kernel of your own")
        result = answer(question).result
    except GpusimError as error:
        return {"error": str(error)}
    stalled = [reason for reason, _ in stall_shares(result) if reason != SELECTED_REASON]
    return {
        "cycles": result.cycles.elapsed,
        "time_us": result.time_us,
        "ctas_per_sm": result.ctas_per_sm,
        "waves": result.waves,
        "warp_instructions": result.warp_instructions,
        "wavefronts": result.total("wavefronts"),
        "conflicts": result.total("conflicts"),
        "sectors": result.total("sectors"),
        "most_stalled": stalled[0] if stalled else "",
    }


def _text(table: Path, keys: Sequence[str], rows: Sequence[Mapping[str, Any]]) -> str:
    refused = [row["error"] for row in rows if "error" in row]
    lines = [f"{table}: {len(rows)} points{f', {len(refused)} refused' if refused else ''}"]
    ranked = sorted((row for row in rows if "error" not in row), key=lambda row: row["cycles"])[:SHOWN_POINTS]
    if ranked:
        columns = [*keys, *SHOWN_FIGURES]
        shown = [columns, *([_shown(row[column]) for column in columns] for row in ranked)]
        lines += ["", "the fastest of them, by cycles:" if len(rows) > 1 else "the only one:"]
        lines += right_aligned(shown)
    if refused:
        lines += ["", f"the first refusal: {refused[0]}"]
    return "\n".join(lines)


def _shown(value: object) -> str:
    return f"{value:,}" if isinstance(value, int | float) else str(value)
