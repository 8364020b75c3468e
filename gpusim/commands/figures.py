"""``gpusim plot`` and ``gpusim trace``: writes a run's pictures and trace files; ``gpusim run`` uses it, too."""

from collections.abc import Callable
from pathlib import Path

from gpusim.commands.output import check_folder, check_picture, print_json, print_text
from gpusim.errors import CannotRun
from gpusim.results import run_directory
from gpusim.results.result import Result
from gpusim.results.timeline import Timeline
from gpusim.verbs.pictures import draw_picture, write_trace

RUN_FIGURES = ("overlap", "conflicts", "stalls")
"""The pictures that every run draws. Others are drawn on request."""


def plot_run(directory: Path, kind: str, out: Path | None, *, as_json: bool) -> None:
    """
    Draw one picture of a run directory, into the directory itself if ``out`` is None.

    Raises:
        BadInput: The directory is no run directory, or ``out`` does not end in .png, .svg or .pdf.
        CannotRun: The file cannot be written.
    """
    if out is not None:
        check_picture("--out", out)
    result, timeline = run_directory.read_run(directory)
    path = out or directory / run_directory.FIGURES[kind]
    draw_figure(kind, result, timeline, path)
    _answer({"kind": kind, "path": str(path)}, as_json=as_json)


def trace_run(directory: Path, trace_format: str, out: Path | None, *, as_json: bool) -> None:
    """
    Write the timeline of a run directory as a trace file, into the directory itself if ``out`` is None.

    Raises:
        BadInput: The directory is no run directory.
        CannotRun: The file cannot be written.
    """
    if out is not None:
        check_folder(out)
    result, timeline = run_directory.read_run(directory)
    path = out or directory / run_directory.TRACES[trace_format]
    write_trace_file(trace_format, result, timeline, path)
    _answer({"format": trace_format, "path": str(path)}, as_json=as_json)


def draw_figure(kind: str, result: Result, timeline: Timeline, path: Path) -> None:
    """Draw the picture ``kind``, a key of ``run_directory.FIGURES``."""
    _write(lambda: draw_picture(kind, result, timeline, path), path)


def write_trace_file(trace_format: str, result: Result, timeline: Timeline, path: Path) -> None:
    """Write a trace file in ``trace_format``, a key of ``run_directory.TRACES``."""
    _write(lambda: write_trace(trace_format, result, timeline, path), path)


def _write(write: Callable[[], object], path: Path) -> None:
    try:
        write()
    except OSError as error:
        raise CannotRun(f"{path}: cannot be written ({error.strerror or error})") from error


def _answer(data: dict[str, str], *, as_json: bool) -> None:
    if as_json:
        print_json(data)
    else:
        print_text(data["path"])
