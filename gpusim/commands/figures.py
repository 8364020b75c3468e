"""``gpusim plot`` and ``gpusim trace``: writes a run's pictures and trace files; ``gpusim run`` uses it, too."""

from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

from gpusim.commands.output import check_folder, check_picture, print_json, print_text
from gpusim.errors import CannotRun
from gpusim.families.registry import family_of, parse_scenario
from gpusim.machine import load_machine
from gpusim.report.conflicts import conflict_picture
from gpusim.report.kanata import write_kanata
from gpusim.report.perfetto import write_perfetto
from gpusim.report.roofline import roofline
from gpusim.report.stalls import stall_chart
from gpusim.results import run_directory
from gpusim.results.program import WarpProgram
from gpusim.results.result import Result
from gpusim.results.timeline import Timeline
from gpusim.results.whole_file import written_whole
from gpusim.verbs.program import watched_program

RUN_FIGURES = ("overlap", "conflicts", "stalls")
"""The pictures that every run draws. Others are drawn on request."""


class _Run:
    """A run with its scenario, its family and its description."""

    def __init__(self, result: Result, timeline: Timeline) -> None:
        self.result, self.timeline = result, timeline
        self.scenario = parse_scenario(result.scenario, run_directory.SCENARIO)
        self.family = family_of(self.scenario)
        self.words = self.family.words(self.scenario)

    def program(self) -> WarpProgram | None:
        """Return what the watched warps execute; None where it is not known."""
        return watched_program(self.scenario, self.result, self.timeline)


Draw: TypeAlias = Callable[[_Run, Path], object]


def _draw_overlap(run: _Run, path: Path) -> object:
    return run.family.pictures.draw_overlap(run.scenario, run.result, run.timeline, path)


def _draw_conflicts(run: _Run, path: Path) -> object:
    return conflict_picture(run.result, run.words, run.family.pictures.bank_pictures(run.scenario), path)


_FIGURES: dict[str, Draw] = {
    "overlap": _draw_overlap,
    "conflicts": _draw_conflicts,
    "stalls": lambda run, path: stall_chart(run.result, run.words, path),
    "roofline": lambda run, path: roofline(run.result, run.words, load_machine(run.scenario.machine), path),
}

_TRACES: dict[str, Draw] = {
    "perfetto": lambda run, path: write_perfetto(run.result, run.words, run.timeline, path, run.program()),
    "kanata": lambda run, path: write_kanata(run.result, run.timeline, path, run.program()),
}


def plot_run(directory: Path, kind: str, out: Path | None, *, as_json: bool) -> None:
    """
    Draw one picture of a run directory, into the directory itself if ``out`` is None.

    Raises:
        BadInput: The directory is no run directory, or ``out`` does not end in .png.
        CannotRun: The file cannot be written.
    """
    if out is not None:
        check_picture("--out", out)
    result, timeline = run_directory.read_run(directory)
    path = out or directory / run_directory.FIGURES[kind]
    _write(_FIGURES[kind], result, timeline, path, follow=out is not None)
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
    _write(_TRACES[trace_format], result, timeline, path, follow=out is not None)
    _answer({"format": trace_format, "path": str(path)}, as_json=as_json)


def draw_figure(kind: str, result: Result, timeline: Timeline, path: Path) -> None:
    """Draw the picture ``kind``, a key of ``run_directory.FIGURES``."""
    _write(_FIGURES[kind], result, timeline, path)


def write_trace(trace_format: str, result: Result, timeline: Timeline, path: Path) -> None:
    """Write a trace file in ``trace_format``, a key of ``run_directory.TRACES``."""
    _write(_TRACES[trace_format], result, timeline, path)


def _write(draw: Draw, result: Result, timeline: Timeline, path: Path, *, follow: bool = False) -> None:
    """Write a file whole or not at all; ``follow`` as of ``written_whole``."""
    run = _Run(result, timeline)
    try:
        with written_whole(path, follow=follow) as aside:
            draw(run, aside)
    except OSError as error:
        raise CannotRun(f"{path}: cannot be written ({error.strerror or error})") from error


def _answer(data: dict[str, str], *, as_json: bool) -> None:
    if as_json:
        print_json(data)
    else:
        print_text(data["path"])
