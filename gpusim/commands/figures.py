"""``gpusim plot``, ``trace``, ``report``: writes runs' pictures, trace files and pages again."""

from pathlib import Path

from gpusim.commands.output import check_folder, check_picture, print_json, print_text, progress, written
from gpusim.errors import BadInput
from gpusim.results import run_directory
from gpusim.results.run_name import name_of_run
from gpusim.results.whole_file import refuse_taken
from gpusim.verbs.pictures import draw_picture, write_trace

LARGE_REPORT = 2_000_000
"""Size up to which a report is easily passed on; a larger one is written all the same, and said."""


def plot_run(directory: Path, kind: str, out: Path | None, *, force: bool, as_json: bool) -> None:
    """
    Draw one picture of a run directory, into the directory itself if ``out`` is None.

    Raises:
        BadInput: The directory is no run directory, ``out`` does not end in .png, .svg or .pdf, or another picture is
            there and ``force`` is False, or something that gpusim has not made.
        CannotRun: The file cannot be written.
    """
    if out is not None:
        check_picture("--out", out)
    result, timeline = run_directory.read_run(directory)
    path = out or directory / run_directory.FIGURES[kind]
    with written(path, force=force, follow=out is not None) as aside:
        draw_picture(kind, result, timeline, aside, name_of_run(directory))
    _answer({"kind": kind, "path": str(path)}, as_json=as_json)


def trace_run(directory: Path, trace_format: str, out: Path | None, *, force: bool, as_json: bool) -> None:
    """
    Write the timeline of a run directory as a trace file, into the directory itself if ``out`` is None.

    Raises:
        BadInput: The directory is no run directory, another trace is there and ``force`` is False, or something that
            gpusim has not made.
        CannotRun: The file cannot be written.
    """
    if out is not None:
        check_folder(out)
    result, timeline = run_directory.read_run(directory)
    path = out or directory / run_directory.TRACES[trace_format]
    with written(path, force=force, follow=out is not None) as aside:
        write_trace(trace_format, result, timeline, aside)
    _answer({"format": trace_format, "path": str(path)}, as_json=as_json)


def write_report(directories: list[Path], out: Path, *, force: bool, as_json: bool) -> None:
    """
    Write the report of runs to a file.

    Args:
        directories: Run directories, the first of which the others are compared with, and folders of sweeps.
        out: The HTML file.
        force: Replace an earlier report.
        as_json: Print the path and the size as JSON.

    Raises:
        BadInput: A folder is neither a run directory nor a sweep, the file does not end in .html, or it is there and
            ``force`` is False, or gpusim has not made it.
        CannotRun: The file cannot be written.
    """
    if out.suffix.lower() not in {".html", ".htm"}:
        raise BadInput(f"--out must end in .html, got {str(out)!r}")
    check_folder(out)
    refuse_taken(out, force=force)
    from gpusim.verbs.report import report

    text = report(directories).to_html().encode()
    with written(out, force=force) as aside:
        aside.write_bytes(text)
    if len(text) > LARGE_REPORT:
        progress(f"{out}: {len(text):,} bytes, of which the timelines of {len(directories)} runs are most")
    if as_json:
        print_json({"path": str(out), "bytes": len(text)})
    else:
        print_text(str(out))


def _answer(data: dict[str, str], *, as_json: bool) -> None:
    if as_json:
        print_json(data)
    else:
        print_text(data["path"])
