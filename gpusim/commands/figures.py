"""``gpusim plot``, ``trace``, ``report``: writes runs' pictures, trace files and pages again."""

from gpusim.commands.options.figures import PlotOptions, ReportOptions, TraceOptions
from gpusim.commands.output import check_folder, check_picture, print_json, print_text, progress, written
from gpusim.commands.own.report import own_report
from gpusim.commands.own.trace import trace_kernel
from gpusim.errors import BadInput
from gpusim.results import run_directory
from gpusim.results.run_name import name_of_run
from gpusim.results.whole_file import refuse_taken
from gpusim.verbs.pictures import draw_picture, write_trace

LARGE_REPORT = 2_000_000
"""Size of a report above which a line on stderr states it. Larger reports are hard to pass on."""


def plot(options: PlotOptions) -> None:
    """Draw one picture of a run or of a sweep; errors are those of ``plot_run`` and of ``plot_sweep``."""
    if options.kind in run_directory.FIGURES:
        plot_run(options)
    else:
        from gpusim.commands.sweep import plot_sweep  # a picture of a run does not need it

        plot_sweep(options)


def plot_run(options: PlotOptions) -> None:
    """
    Draw one picture of a run directory, into the directory itself if ``out`` is None.

    Raises:
        BadInput: The directory is no run directory, ``out`` does not end in .png, .svg or .pdf, or another picture is
            there and ``force`` is False, or something that gpusim has not made.
        CannotRun: The file cannot be written.
    """
    directory, kind, out = options.run_directory, options.kind, options.out
    if out is not None:
        check_picture("--out", out)
    result, timeline = run_directory.read_run(directory)
    path = out or directory / run_directory.FIGURES[kind]
    with written(path, force=options.force, follow=out is not None) as aside:
        draw_picture(kind, result, timeline, aside, name_of_run(directory))
    _answer({"kind": kind, "path": str(path)}, as_json=options.as_json)


def trace_run(options: TraceOptions) -> None:
    """
    Write the timeline of a run directory as a trace file, into the directory itself if ``out`` is None.

    Raises:
        BadInput: The directory is no run directory, another trace is there and ``force`` is False, or something that
            gpusim has not made.
        CannotRun: The file cannot be written.
    """
    directory, trace_format, out = options.run_directory, options.trace_format, options.out
    if out is not None:
        check_folder(out)
    path = out or directory / run_directory.TRACES[trace_format]
    if run_directory.is_own_run(directory):
        trace_kernel(options, path)
        _answer({"format": trace_format, "path": str(path)}, as_json=options.as_json)
        return
    result, timeline = run_directory.read_run(directory)
    with written(path, force=options.force, follow=out is not None) as aside:
        write_trace(trace_format, result, timeline, aside)
    _answer({"format": trace_format, "path": str(path)}, as_json=options.as_json)


def write_report(options: ReportOptions) -> None:
    """
    Write the report of runs to a file, and print its path; as JSON also its size.

    Raises:
        BadInput: A folder is neither a run directory nor a sweep, the file does not end in .html, or it is there and
            ``force`` is False, or gpusim has not made it.
        CannotRun: The file cannot be written.
    """
    directories, out = options.run_directories, options.out
    if out.suffix.lower() not in {".html", ".htm"}:
        raise BadInput(f"--out must end in .html, got {str(out)!r}")
    check_folder(out)
    refuse_taken(out, force=options.force)
    page = own_report(directories)
    if page is None:
        from gpusim.verbs.report import report

        page = report(directories).to_html()
    text = page.encode()
    with written(out, force=options.force) as aside:
        aside.write_bytes(text)
    if len(text) > LARGE_REPORT:
        progress(f"{out}: {len(text):,} bytes, of which the timelines of {len(directories)} runs are most")
    if options.as_json:
        print_json({"path": str(out), "bytes": len(text)})
    else:
        print_text(str(out))


def _answer(data: dict[str, str], *, as_json: bool) -> None:
    if as_json:
        print_json(data)
    else:
        print_text(data["path"])
