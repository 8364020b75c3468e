"""``gpusim plot``, ``trace``, ``report``: writes runs' pictures, trace files and pages; ``gpusim run`` uses it, too."""

from collections.abc import Callable
from pathlib import Path

from gpusim.commands.output import check_folder, check_picture, print_json, print_text, progress
from gpusim.errors import BadInput, CannotRun
from gpusim.results import run_directory
from gpusim.results.result import Result
from gpusim.results.run_name import name_of_run
from gpusim.results.timeline import Timeline
from gpusim.results.whole_file import written_whole
from gpusim.verbs.pictures import draw_picture, write_trace

RUN_FIGURES = ("overlap", "conflicts", "stalls", "roofline")
"""The pictures of a run. A run that multiplies nothing has no roofline."""


LARGE_REPORT = 2_000_000
"""Size up to which a report is easily passed on; a larger one is written all the same, and said."""


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
    draw_figure(kind, result, timeline, path, name_of_run(directory), follow=out is not None)
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
    write_trace_file(trace_format, result, timeline, path, follow=out is not None)
    _answer({"format": trace_format, "path": str(path)}, as_json=as_json)


def write_report(directories: list[Path], out: Path, *, force: bool, as_json: bool) -> None:
    """
    Write the report of runs to a file.

    Args:
        directories: Run directories, the first of which the others are compared with, and folders of sweeps.
        out: The HTML file.
        force: Replace a file that is there.
        as_json: Print the path and the size as JSON.

    Raises:
        BadInput: A folder is neither a run directory nor a sweep, or the file is there or does not end in .html.
        CannotRun: The file cannot be written.
    """
    if out.suffix.lower() not in {".html", ".htm"}:
        raise BadInput(f"--out must end in .html, got {str(out)!r}")
    check_folder(out)
    if out.exists() and not (force and out.is_file()):
        raise BadInput(f"{out}: is there already; --force replaces {'it' if out.is_file() else 'files only'}")
    from gpusim.verbs.report import report

    text = report(directories).to_html().encode()
    _write(lambda aside: aside.write_bytes(text), out, follow=True)
    if len(text) > LARGE_REPORT:
        progress(f"{out}: {len(text):,} bytes, of which the timelines of {len(directories)} runs are most")
    if as_json:
        print_json({"path": str(out), "bytes": len(text)})
    else:
        print_text(str(out))


def draw_figure(kind: str, result: Result, timeline: Timeline, path: Path, name: str, *, follow: bool = False) -> None:
    """Draw the picture ``kind`` of the run of this name; ``follow`` as of ``written_whole``."""
    _write(lambda aside: draw_picture(kind, result, timeline, aside, name), path, follow=follow)


def write_trace_file(
    trace_format: str, result: Result, timeline: Timeline, path: Path, *, follow: bool = False
) -> None:
    """Write a trace file in ``trace_format``, a key of ``run_directory.TRACES``; ``follow`` as of ``written_whole``."""
    _write(lambda aside: write_trace(trace_format, result, timeline, aside), path, follow=follow)


def _write(write: Callable[[Path], object], path: Path, *, follow: bool = False) -> None:
    """Write a file whole or not at all; ``follow`` as of ``written_whole``."""
    try:
        with written_whole(path, follow=follow) as aside:
            write(aside)
    except OSError as error:
        raise CannotRun(f"{path}: cannot be written ({error.strerror or error})") from error


def _answer(data: dict[str, str], *, as_json: bool) -> None:
    if as_json:
        print_json(data)
    else:
        print_text(data["path"])
