"""Reports on runs: all tables and pictures of several runs, side by side, in one HTML file."""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final, TypeAlias

from gpusim.errors import BadInput, CannotRun
from gpusim.families.registry import family_of, parse_scenario
from gpusim.lower.compiled import CompilableKernel
from gpusim.lower.stream import Stream, executed_places
from gpusim.machine import load_machine
from gpusim.records.record import Record, find_record, load_record
from gpusim.report.html.page import page
from gpusim.report.html.run_data import run_data, stall_definitions
from gpusim.report.html.tracks import MOST_STALL_SPANS, run_tracks
from gpusim.results import run_directory
from gpusim.results.result import Result
from gpusim.results.timeline import Timeline
from gpusim.results.trust import trust_line
from gpusim.scenario.models import Scenario
from gpusim.verbs.compare import ComparedSide, Comparison, compare
from gpusim.verbs.sweep import read_sweep
from gpusim.verbs.sweeping.journal import DEFINITION

REPORT_SCHEMA: Final = "gpusim.report/1"

_OF_UNIT: Final = {"ldgsts": "copy", "tensor": "mma", "depbar": "wait", "barrier": "wait", "shared": "ldmatrix"}
"""Activity of a k tile by the unit that executes its instructions."""

ReportCell: TypeAlias = str | float | None
"""A value of a table; None is missing."""


@dataclass(frozen=True, slots=True)
class ReportTable:
    """
    A table of the page, which a reader can sort and filter.

    Attributes:
        title: Heading of the table.
        note: Content of the table, in a sentence.
        columns: Names of the columns.
        rows: Values by row; numbers are aligned right, None is missing.
    """

    title: str
    note: str
    columns: tuple[str, ...]
    rows: tuple[tuple[ReportCell, ...], ...]


@dataclass(frozen=True, slots=True)
class Report:
    """
    The content of a report.

    Attributes:
        names: Names of its runs.
        data: Plain data for the page.
    """

    names: tuple[str, ...]
    data: Mapping[str, Any]

    def to_dict(self) -> dict[str, Any]:
        """Return the data that the page holds as JSON."""
        return dict(self.data)

    def to_html(self) -> str:
        """Return the text of the page: one file without network requests."""
        return page(self.data, " · ".join(self.names) or "gpusim")


def report(directories: Sequence[str | Path], tables: Sequence[ReportTable] = ()) -> Report:
    """
    Make a report on run directories and sweeps. Several runs are compared with the first.

    If there is a GPU's record of a run's scenario, the run is shown beside it.

    Args:
        directories: Run directories, with pictures or without (``--no-figures``), and folders of sweeps.
        tables: Further tables; they need no run.

    Raises:
        BadInput: There are no runs, sweeps or tables, or a folder is neither a run directory nor a sweep.
        CannotRun: A sweep is running in a folder, or its journal is damaged.
    """
    if not directories and not tables:
        raise BadInput("a report needs a run directory or more, got none")
    folders = [Path(one) for one in directories]
    sweeps = [folder for folder in folders if (folder / DEFINITION).is_file()]
    read = [(folder, *run_directory.read_run(folder)) for folder in folders if folder not in sweeps]
    names = _names([directory for directory, _, _ in read])
    words: list[str] = []
    most = MOST_STALL_SPANS // max(1, len(read))
    runs = [
        _run(name, directory, (result, timeline), words, most)
        for name, (directory, result, timeline) in zip(names, read, strict=True)
    ]
    sides = [
        ComparedSide(name, "run", result, timeline=timeline)
        for name, (_, result, timeline) in zip(names, read, strict=True)
    ]
    shown = [*tables, *map(_swept, sweeps), *(_compared(compare(*sides)) if len(sides) > 1 else ())]
    data = {
        "schema": REPORT_SCHEMA,
        "runs": runs,
        "words": words,
        "stall_words": stall_definitions(),
        "tables": [asdict(table) for table in shown],
    }
    return Report((*names, *(folder.name for folder in sweeps)), data)


def _names(directories: Sequence[Path]) -> list[str]:
    """Return the name of each run: that of its folder, with the folders above if names are equal."""
    names = [directory.resolve().name for directory in directories]
    return [
        name if names.count(name) == 1 else str(directory) for name, directory in zip(names, directories, strict=True)
    ]


def _run(name: str, directory: Path, run: tuple[Result, Timeline], words: list[str], most: int) -> dict[str, Any]:
    """Return the page's data of one run. Adds the words of its tracks, of at most ``most`` spans, to ``words``."""
    result, timeline = run
    scenario = parse_scenario(result.scenario, str(directory / run_directory.SCENARIO))
    family, machine = family_of(scenario), load_machine(scenario.machine)
    described = family.words(scenario)
    pictures = family.pictures.bank_pictures(scenario) if family.has("pictures") else ()
    record = _record(name, scenario)
    measured = record.pipeline.rows if record is not None and record.pipeline is not None else ()
    return {
        **run_data(name, result, described, machine, pictures=pictures, trust=trust_line(result.trust, machine.name)),
        "command": _command(directory),
        "measured": None if record is None else _measured(record, result),
        "tracks": [track.packed(words) for track in run_tracks(timeline, result.pipeline, measured, most)],
        "sass": _sass(scenario, result, timeline),
    }


def _record(name: str, scenario: Scenario) -> Record | None:
    """Return the record of the scenario on a GPU of the machine's name; None if there is none."""
    try:
        return load_record(find_record(name, scenario.digest(), gpu=str(scenario.machine)))
    except (BadInput, CannotRun):
        return None


def _measured(record: Record, result: Result) -> dict[str, Any]:
    """Return the page's data of a record."""
    elapsed = record.counters.get("sm__cycles_elapsed.max")
    pipeline = record.pipeline
    return {
        "gpu": str(record.environment.get("gpu", record.environment.get("name", ""))),
        "date": record.date,
        "elapsed": elapsed,
        "error_percent": None if not elapsed else 100 * (result.cycles.elapsed / elapsed - 1),
        "cta_cycles": None if pipeline is None else pipeline.cta_cycles,
        "perturbation": None if pipeline is None else pipeline.perturbation,
    }


def _command(directory: Path) -> str:
    try:
        manifest = json.loads((directory / run_directory.MANIFEST).read_text(encoding="utf-8"))
        return " ".join(map(str, manifest["command"]))
    except (OSError, ValueError, KeyError, TypeError):
        return ""


def _sass(scenario: Scenario, result: Result, timeline: Timeline) -> dict[str, Any] | None:
    """
    Return the instructions of the watched CTA's warps in order, so that a stall can name the next one.

    None if the streams are not available, or if the run had a user's machine code, which is not in its directory.
    """
    if "cubin" in result.provenance or not timeline.warps or not family_of(scenario).has("timed"):
        return None
    kernel = family_of(scenario).timing.timed_kernels(scenario, load_machine(scenario.machine))[0]
    try:
        if result.stream == "compiled" and isinstance(kernel, CompilableKernel):
            one = kernel.compiled()
            stream, texts = one.stream, [[line.text for line in lines] for lines in one.listing]
        else:
            stream = kernel.stream(kernel.behaviour(timeline.warps[0].cta), result.stream)
            texts = [[one.opcode for one in segment.instructions] for segment in stream.segments]
    except (BadInput, CannotRun):
        return None
    issued = Counter({span.warp: 0 for span in timeline.warps})
    for span in timeline.warps:
        if span.reason == "selected":
            issued[span.warp] += span.end - span.begin
    lanes, first = kernel.lanes(), timeline.warps[0].warp
    if not all(0 <= warp < lanes.warps for warp in issued):
        return None  # the timeline is of another kernel
    shown, role = stream.of_warp(first, lanes), lanes.role_of(first)
    alike = {warp for warp in issued if stream.of_warp(warp, lanes) == shown}
    return {
        "origin": result.stream,
        "segments": [
            {"name": one.name, "trips": one.trips, "text": [lines[at] for at in executed_places(one, first, lanes)]}
            for one, lines in zip(stream.segments, texts, strict=True)
            if one.role == role.name
        ],
        "warps": [warp for warp in sorted(alike) if issued[warp] == stream.instructions_of(warp, lanes)],
        "opcodes": _opcodes(stream),
    }


def _opcodes(stream: Stream) -> dict[str, list[str]]:
    """Return the opcodes of the mainloop by their activity, the most frequent first."""
    found: dict[str, Counter[str]] = {}
    for segment in stream.segments:
        for one in segment.instructions if segment.name == "mainloop" else ():
            if one.unit in _OF_UNIT:
                found.setdefault(_OF_UNIT[one.unit], Counter())[one.opcode] += 1
    return {activity: [opcode for opcode, _ in counted.most_common()] for activity, counted in found.items()}


def _swept(folder: Path) -> ReportTable:
    """Return the finished points of a sweep, with the columns that any of them has."""
    found = read_sweep(folder)
    columns = [column for column in found.columns if any(row.get(column) is not None for row in found.rows)]
    return ReportTable(
        f"Sweep {folder.resolve().name}",
        f"{len(found.rows)} points, of which {found.refused} were refused: keys first, then figures.",
        tuple(columns),
        tuple(tuple(_cell(row.get(column)) for column in columns) for row in found.rows),
    )


def _cell(value: Any) -> ReportCell:
    """Return a value of a sweep for a table: a number unchanged, any other value as text."""
    if value is None or (isinstance(value, int | float) and not isinstance(value, bool)):
        return value
    return str(value)


def _compared(found: Comparison) -> list[ReportTable]:
    """Return the tables of a comparison: the keys that differ, and the figures."""
    names = tuple(side.name for side in found.sides)
    differs = ReportTable(
        "What differs",
        "Keys of the scenarios that are not equal.",
        ("key", *names),
        tuple((one.key, *(str(value) for value in one.values)) for one in found.differences),
    )
    figures = ReportTable(
        "What that did",
        f"Every figure that two runs have; ratios are to {names[0]}.",
        ("figure", "unit", *names, *(f"{name} / {names[0]}" for name in names[1:])),
        tuple((one.name, one.unit, *one.values, *one.ratios[1:]) for one in found.metrics if any(one.values)),
    )
    return [differs, figures]
