"""The directory of one run: its files, and the functions that claim, write and read it."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import fields
from operator import attrgetter
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError
from pydantic_core import to_json

from gpusim.errors import BadInput, CannotRun
from gpusim.results import result as results
from gpusim.results.kernel_result import KernelResult, is_kernel_result
from gpusim.results.kernel_warps import WarpLog
from gpusim.results.program import SELECTED
from gpusim.results.provenance import digest
from gpusim.results.result import Result
from gpusim.results.staging import StagedFolder, is_used
from gpusim.results.timeline import KTileSpan, Spans, Timeline, WarpSpan
from gpusim.results.whole_file import FORCE, refuse_foreign

SCENARIO = "scenario.resolved.toml"
MANIFEST = "manifest.json"
RESULT = "result.json"
TIMELINE = "timeline.json"
FIGURES = {"overlap": "overlap.png", "conflicts": "conflicts.png", "stalls": "stalls.png", "roofline": "roofline.png"}
TRACES = {"perfetto": "trace.pftrace", "kanata": "trace.kanata"}

FILES = (RESULT, TIMELINE, SCENARIO, *FIGURES.values(), *TRACES.values(), MANIFEST)
"""The files of a run. The manifest marks a folder, even one cut short, as a run that --force may replace."""

SCENARIO_MARK = b"# gpusim: a scenario with every default written out\n"
"""First line of a resolved scenario."""

OWN_RUN_COMMANDS = "gpusim compare, explain, report, stalls and trace"
"""The commands that take the run directory of a kernel of the user's own."""

TIMELINE_SCHEMA = "gpusim.timeline/1"

_TIMELINE = TypeAdapter(Timeline)

_MOST = 1 << 24
"""Upper limit of the CTAs, warps and slots of a run."""

_MOST_CYCLES = _MOST**2
"""Upper limit of the cycles of a run."""

_MOST_ISSUES = 1 << 16
"""Upper limit of the instructions that a warp issues without a pause."""


def default_name(scenario_name: str, resolved: dict[str, Any]) -> str:
    """Return ``<scenario>-<digest8>``: a scenario with another key gets another directory."""
    return f"{scenario_name}-{digest(resolved)[:8]}"


def claim(wanted: Path, *, force: bool = False, say: Callable[[str], None] = lambda _: None) -> StagedFolder:
    """
    Make a folder for a run, before anything is computed. ``publish`` moves the complete folder to its place.

    A directory that holds anything is never written to: the run gets the next free name ``-2``, ``-3``, ... instead.

    Args:
        wanted: Directory asked for.
        force: If ``wanted`` holds an earlier run, replace that run's files. They stay until the new run is published.
        say: Called with a line about each removed leftover of a killed run.

    Raises:
        BadInput: ``wanted`` is a file. Or it is a used folder without a name to which a number could be appended ("."
            or ".."). Or, with ``force``, it is not a run directory, or a file in it has the name of a run's file but
            was not made by gpusim.
        CannotRun: The directory cannot be made, or another process replaces the run there.
    """
    if force and is_used(wanted):
        _refuse_other_than_run(wanted)
    return StagedFolder(
        wanted, replaced=FILES if force else (), may_replace=_may_replace, first=MANIFEST, last=RESULT, say=say
    )


def _refuse_other_than_run(folder: Path) -> None:
    if not (folder / MANIFEST).is_file():
        raise BadInput(f"{folder}: {FORCE} replaces an earlier run, and this folder holds none (no {MANIFEST})")
    for name in FILES:
        refuse_foreign(folder / name, follow=False)


def _may_replace(folder: Path) -> bool:
    try:
        _refuse_other_than_run(folder)
    except BadInput:
        return False
    return True


def write_run(directory: Path, result: Result, timeline: Timeline, scenario_toml: str, command: list[str]) -> None:
    """
    Write the result, timeline, scenario and manifest. Pictures are drawn later: if one fails, these files are kept.

    Args:
        directory: The ``folder`` of a claim.
        result: Result of the run.
        timeline: Timeline of the run.
        scenario_toml: Scenario with every default written out, as TOML.
        command: Command line, for the manifest.

    Raises:
        CannotRun: A file cannot be written.
    """
    manifest = {**result.provenance, "stream": result.stream, "command": command}
    texts: dict[str, Iterable[bytes]] = {
        MANIFEST: [json.dumps(manifest, indent=1).encode() + b"\n"],
        RESULT: [results.to_json(result).encode()],
        TIMELINE: _timeline_pieces(timeline),
        SCENARIO: [SCENARIO_MARK, scenario_toml.encode()],
    }
    _write(directory, texts)


def write_kernel_run(
    directory: Path, result: KernelResult, log: WarpLog | None, scenario_toml: str, command: list[str]
) -> None:
    """Write the files of a run of a kernel of the user's own: as ``write_run``, with the log of a CTA's warps."""
    manifest = {**result.provenance, "stream": "own", "command": command}
    texts: dict[str, Iterable[bytes]] = {
        MANIFEST: [json.dumps(manifest, indent=1).encode() + b"\n"],
        RESULT: [json.dumps(result.to_dict(), indent=1).encode() + b"\n"],
        **({} if log is None else {TIMELINE: [log.to_json().encode()]}),
        SCENARIO: [SCENARIO_MARK, scenario_toml.encode()],
    }
    _write(directory, texts)


def _write(directory: Path, texts: Mapping[str, Iterable[bytes]]) -> None:
    for name, pieces in texts.items():
        try:
            with (directory / name).open("wb") as file:
                file.writelines(pieces)
        except OSError as error:
            raise CannotRun(f"{directory / name}: cannot be written ({error.strerror})") from error


def is_run(directory: str | Path) -> bool:
    """Return whether a path is a run directory."""
    try:
        return bool(str(directory)) and (Path(directory) / RESULT).is_file()
    except OSError:  # a name that is too long, or a folder that may not be entered
        return False


def is_own_run(directory: str | Path) -> bool:
    """Return whether a path is the run directory of a kernel of the user's own."""
    return is_run(directory) and is_kernel_result(Path(directory) / RESULT)


def read_run(directory: Path) -> tuple[Result, Timeline]:
    """
    Read the result and the timeline of a run directory.

    Raises:
        BadInput: The folder is not a run directory, or one of its files has another schema.
    """
    if not is_run(directory):
        raise BadInput(f"{directory}: not a run directory (it has no {RESULT}); `gpusim run` makes one")
    if is_own_run(directory):
        raise BadInput(f"{directory}: a run of a kernel of your own, which only {OWN_RUN_COMMANDS} take")
    return results.load(directory / RESULT), _read_timeline(directory / TIMELINE)


def _timeline_pieces(timeline: Timeline) -> Iterator[bytes]:
    """Yield the timeline piece by piece as JSON columns and rows, a tenth of the size of a list of objects."""
    yield b'{"schema":' + to_json(TIMELINE_SCHEMA)
    tables: dict[str, tuple[type, Sequence[Any]]] = {
        "warps": (WarpSpan, timeline.warps),
        "k_tiles": (KTileSpan, timeline.k_tiles),
    }
    for name, (kind, spans) in tables.items():
        columns = [field.name for field in fields(kind)]
        yield b',%s:{"columns":%s,"rows":[' % (to_json(name), to_json(columns))
        between = b""
        for piece in spans.pieces() if isinstance(spans, Spans) else [map(attrgetter(*columns), spans)]:
            rows = to_json(list(piece))[1:-1]  # compact, as json.dumps could write it, in half the time
            if rows:
                yield between + rows
                between = b","
        yield b"]}"
    yield b"}\n"


def _read_timeline(path: Path) -> Timeline:
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise BadInput(f"{path}: not a readable timeline.json ({error})") from error
    if not isinstance(data, dict) or data.get("schema") != TIMELINE_SCHEMA:
        found = data.get("schema") if isinstance(data, dict) else type(data).__name__
        raise BadInput(f"{path}: schema must be {TIMELINE_SCHEMA!r}, got {found!r}")
    try:
        spans = {name: _named_rows(data[name]) for name in ("warps", "k_tiles")}
    except (KeyError, TypeError, ValueError) as error:
        raise BadInput(f"{path}: damaged: warps and k_tiles must be tables of columns and rows") from error
    try:
        timeline = _TIMELINE.validate_python(spans)
    except ValidationError as error:
        raise BadInput(f"{path}: {results.damage(error)}") from error
    tables: dict[str, Sequence[WarpSpan | KTileSpan]] = {"warps": timeline.warps, "k_tiles": timeline.k_tiles}
    for name, found in tables.items():
        wrong = next((place for place, span in enumerate(found) if not _is_possible(span)), None)
        if wrong is not None:
            raise BadInput(f"{path}: damaged: {name}.{wrong}: a span must begin before it ends, and count from 0")
    return timeline


def _is_possible(span: WarpSpan | KTileSpan) -> bool:
    """Return whether the indices and cycles of a span are possible in a run."""
    in_bounds = 0 <= span.begin < _MOST_CYCLES and 0 <= span.cta < _MOST and 0 <= span.warp < _MOST
    lasts = span.end - span.begin
    if isinstance(span, WarpSpan):
        longest = _MOST_ISSUES if span.reason == SELECTED else _MOST_CYCLES
        return in_bounds and 0 <= lasts < longest and 0 <= span.smsp < _MOST
    counted = -1 <= span.k_tile < _MOST and -1 <= span.k_group < _MOST
    return in_bounds and 0 <= lasts < _MOST_CYCLES and 0 <= span.stage < _MOST and counted


def _named_rows(table: dict[str, Any]) -> tuple[dict[str, Any], ...]:
    return tuple(dict(zip(table["columns"], row, strict=True)) for row in table["rows"])
