"""Draws the pictures of a run and writes its traces, with its family's chart, its description and its machine."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, TypeAlias

from gpusim.errors import BadInput
from gpusim.families.registry import family_of, parse_scenario
from gpusim.machine import load_machine
from gpusim.report.captions import Words
from gpusim.report.conflicts import conflict_picture
from gpusim.report.kanata import write_kanata
from gpusim.report.perfetto import write_perfetto
from gpusim.report.roofline import roofline
from gpusim.report.stalls import stall_chart
from gpusim.report.style import Canvas
from gpusim.results import run_directory
from gpusim.results.program import WarpProgram
from gpusim.results.result import Result
from gpusim.results.timeline import Timeline
from gpusim.results.use import use_of
from gpusim.results.verdict import verdict
from gpusim.scenario.models import Scenario
from gpusim.verbs.program import watched_program

OF_FAMILIES: Final = ("overlap", "conflicts")
"""Pictures that a family draws of its own runs."""


def drawn_by_family(scenario: Mapping[str, Any]) -> bool:
    """Return whether the family of a resolved scenario draws pictures of its own."""
    return family_of(parse_scenario(scenario, run_directory.SCENARIO)).has("pictures")


class _Shown:
    """A run with its scenario, its family and its description."""

    def __init__(self, result: Result, timeline: Timeline, name: str) -> None:
        self.result, self.timeline = result, timeline
        self.scenario = parse_scenario(result.scenario, run_directory.SCENARIO)
        self.family = family_of(self.scenario)
        self.words = described(self.scenario, result, name)

    def program(self) -> WarpProgram | None:
        """Return the program of the watched warps; None if it is not known."""
        return watched_program(self.scenario, self.result, self.timeline)


def described(scenario: Scenario, result: Result, name: str = "") -> Words:
    """Return the description of a run for pictures: its scenario in words, its name, and what limits it."""
    words = family_of(scenario).words(scenario)
    return replace(words, name=name, verdict=verdict(result, use_of(result, load_machine(scenario.machine))))


def _overlap(run: _Shown, canvas: Canvas) -> Canvas:
    return run.family.pictures.draw_overlap(run.scenario, run.words, run.result, run.timeline, canvas)


def _conflicts(run: _Shown, canvas: Canvas) -> Canvas:
    return conflict_picture(run.result, run.words, run.family.pictures.bank_pictures(run.scenario), canvas)


def _stalls(run: _Shown, canvas: Canvas) -> Canvas:
    return stall_chart(run.result, run.words, canvas)


def _roofline(run: _Shown, canvas: Canvas) -> Canvas:
    return roofline(run.result, run.words, load_machine(run.scenario.machine), canvas)


def draw_picture(kind: str, result: Result, timeline: Timeline, canvas: Canvas, name: str = "") -> Canvas:
    """
    Draw a picture of a run.

    Args:
        kind: "overlap", "conflicts", "stalls" or "roofline".
        result: Result of the run.
        timeline: Timeline of the run.
        canvas: The file to write (PNG, SVG or PDF by its suffix), or the figure to draw into.
        name: Name of the run, for the title.

    Raises:
        BadInput: There is no such picture.
        CannotRun: The result lacks the data of this picture.
    """
    run = _Shown(result, timeline, name)
    match kind:
        case "overlap":
            return _overlap(run, canvas)
        case "conflicts":
            return _conflicts(run, canvas)
        case "stalls":
            return _stalls(run, canvas)
        case "roofline":
            return _roofline(run, canvas)
    raise BadInput(f"picture must be one of {', '.join(run_directory.FIGURES)}, got {kind!r}")


_Write: TypeAlias = Callable[[_Shown, Path], object]

_TRACES: Mapping[str, _Write] = {
    "perfetto": lambda run, path: write_perfetto(run.result, run.words, run.timeline, path, run.program()),
    "kanata": lambda run, path: write_kanata(run.result, run.timeline, path, run.program()),
}


def write_trace(trace_format: str, result: Result, timeline: Timeline, path: Path, name: str = "") -> None:
    """Write the timeline of a run as a trace file; ``trace_format`` is a key of ``run_directory.TRACES``."""
    _TRACES[trace_format](_Shown(result, timeline, name), path)
