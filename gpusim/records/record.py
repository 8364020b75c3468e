"""The measurements of one scenario on one GPU, and their file, reports/measured/<gpu>/<scenario>.json."""

import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any, TypeAlias

from gpusim.errors import BadInput, CannotRun
from gpusim.records.repeats import repeated
from gpusim.results.result import PipelineRow
from gpusim.results.whole_file import written_whole

RECORD_SCHEMA = "gpusim.record/1"

Opcodes: TypeAlias = dict[str, dict[str, float]]
"""Totals over the grid by SASS opcode and figure: ``executed`` warp instructions, ``wavefronts`` and ``ideal``."""

WHERE_RECORDS_ARE = (
    "they come with gpusim's source tree, not with a wheel: run this in a folder that has its reports/measured"
)
"""Hint in a message about missing records: their place."""

_TREE = Path(__file__).parents[2]


@dataclass(frozen=True, slots=True)
class Numerics:
    """
    The comparison of the kernel's output with the float64 reference, on random inputs.

    The output is filled with NaN or unlikely values before the launch.

    Attributes:
        seed: Seed of the inputs.
        elements: Elements of the output.
        wrong_elements: Elements beyond their bound, or not a number.
        max_error: Largest absolute difference; None if an element is not a number.
        max_error_over_bound: Largest quotient of difference and bound, at most 1 for a correct output; None if an
            element is not a number.
        worst_element: (row, column) of that quotient.
    """

    seed: int
    elements: int
    wrong_elements: int
    max_error: float | None
    max_error_over_bound: float | None
    worst_element: tuple[int, int]


@dataclass(frozen=True, slots=True)
class TraceCheck:
    """
    The comparison of the instrumented kernel's stream with the Python stream.

    Attributes:
        ctas: Linear block indices of the traced CTAs, blockIdx x fastest.
        records: Warp-level records compared.
        sha256: Digest of the GPU's stream in canonical form (``cuda.trace.stream_digest``).
        equal: Whether every record of every warp and lane equals the Python stream's.
        first_difference: The first difference in words, with its coordinates; None when equal.
    """

    ctas: tuple[int, ...]
    records: int
    sha256: str
    equal: bool
    first_difference: str | None


@dataclass(frozen=True, slots=True)
class LoopTime:
    """
    The time of one launch in a warm loop, in microseconds, by CUDA events.

    Attributes:
        batches: Batches timed.
        launches: Launches of one batch.
        median, least, most: Median, least and greatest time of one launch over the batches.
    """

    batches: int
    launches: int
    median: float
    least: float
    most: float


@dataclass(frozen=True, slots=True)
class MeasuredPipeline:
    """
    The pipeline of warp 0 of CTA 0, from clock stamps of the timeline build.

    Attributes:
        rows: One row for each k tile, in cycles from the CTA's start; ``copy_done`` is never observed.
        instrumented_us: Microseconds of the timeline build in a warm loop; None if not timed.
        perturbation: The timeline build's time over the plain build's; None if not timed.
        cta_cycles: Cycles of the recorded CTA from start to end.
    """

    rows: tuple[PipelineRow, ...]
    instrumented_us: float | None
    perturbation: float | None
    cta_cycles: int


@dataclass(frozen=True, slots=True)
class Record:
    """
    All measurements of one scenario. A part that was not measured is None or empty, and ``missing`` says why.

    Attributes:
        name: Stem of the scenario's file.
        scenario: The resolved scenario, as plain data.
        scenario_sha256: Digest of the scenario.
        environment: GPU, driver and tools (``gpu.device.environment``), and the profiler's version.
        kernel: The launched kernel: compiler, registers, bytes, digests of source and machine code.
        counters: Values of one cold launch, by full ncu metric name. ``load_record`` replaces its cycles by medians of
            several launches if these were measured (``records.repeats``).
        opcodes: Figures by SASS opcode, of the same launch.
        missing: Reason for each part that could not be measured.
        commit, date, command: Origin of the figures.
    """

    name: str
    scenario: dict[str, Any]
    scenario_sha256: str
    environment: dict[str, Any]
    kernel: dict[str, Any]
    numerics: Numerics | None
    trace: TraceCheck | None
    time_us: LoopTime | None
    pipeline: MeasuredPipeline | None
    counters: dict[str, float]
    opcodes: Opcodes
    missing: dict[str, str]
    commit: str | None
    date: str
    command: tuple[str, ...]
    schema: str = RECORD_SCHEMA


def measured_folder() -> Path:
    """
    Return the folder of the records: in the source tree, or for a wheel under the current folder.
    """
    return reports_folder() / "measured"


def reports_folder() -> Path:
    """Return the folder of the reports, in which the records' folder is."""
    return _tree() / "reports"


def golden_folder() -> Path:
    """Return the folder of the golden data of the tests, beside the reports."""
    return _tree() / "tests" / "golden" / "data"


def _tree() -> Path:
    return _TREE if (_TREE / "pyproject.toml").is_file() else Path()


def to_json(record: Record) -> str:
    """Return the text of a record. Keys are in field order, and each pipeline row, counter or opcode is one line."""
    text = json.dumps(asdict(record), indent=1)
    # Short tables, such as rows of numbers, are easier to read and to diff on one line.
    return re.sub(r"[\[{][^\[\]{}]*[\]}]", _joined, text) + "\n"


def write_record(record: Record, folder: Path) -> Path:
    """
    Write ``folder/<name>.json``, either completely or not at all.

    Raises:
        CannotRun: The file cannot be written.
    """
    path = folder / f"{record.name}.json"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with written_whole(path) as aside:
            aside.write_text(to_json(record), encoding="utf-8")
    except OSError as error:
        raise CannotRun(f"{path}: cannot be written ({error.strerror or error})") from error
    return path


def load_record(path: Path) -> Record:
    """
    Read a record. Its cycles are medians of several launches if these were measured (``records.repeats``).

    Raises:
        BadInput: The file is not a record, or has another schema; or the file of the launches cannot be read.
    """
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise BadInput(f"{path}: not a readable record ({error})") from error
    found = data.get("schema") if isinstance(data, dict) else type(data).__name__
    if found != RECORD_SCHEMA:
        raise BadInput(f"{path}: schema must be {RECORD_SCHEMA!r}, got {found!r}")
    known = {field.name for field in fields(Record)}
    if set(data) != known:
        raise BadInput(f"{path}: keys must be {', '.join(sorted(known))}, got {', '.join(sorted(data))}")
    record = Record(**{key: _PARTS[key](value) if key in _PARTS else value for key, value in data.items()})
    # The counters of a parallel split-K are sums over both launches; a record without counters gets no cycles.
    return replace(record, counters={**record.counters, **repeated(path, record.date)}) if record.counters else record


def find_record(name: str, digest: str, folder: Path | None = None, gpu: str | None = None) -> Path:
    """
    Find the record of a scenario: by the name of its file, else by the scenario's digest.

    Args:
        name: Stem of the scenario's file.
        digest: Digest of the scenario, ``Scenario.digest()``.
        folder: Folder of all GPUs' records; None takes ``measured_folder()``.
        gpu: Folder of one GPU, such as "h200"; None takes the first that has the record.

    Raises:
        CannotRun: There is no record, or the record of that name is of another scenario.
    """
    folder = folder or measured_folder()
    gpus = [folder / gpu] if gpu else sorted(path for path in folder.glob("*") if path.is_dir())
    same_name = [path for path in (one / f"{name}.json" for one in gpus) if path.is_file()]
    others = [path for one in gpus for path in sorted(one.glob("*.json")) if path not in same_name]
    for path in (*same_name, *others):
        if f'"scenario_sha256": "{digest}"' in path.read_text(encoding="utf-8"):
            return path
    if same_name:
        raise CannotRun(f"{same_name[0]}: records another scenario of this name; measure it anew with --record")
    place = folder / gpu if gpu else folder
    if not folder.is_dir():
        raise CannotRun(f"{name}: there are no records in {folder}; {WHERE_RECORDS_ARE}")
    raise CannotRun(f"{name}: no record under {place}; measure it on a GPU with `gpusim check {name} --record`")


def _pipeline(data: Mapping[str, Any] | None) -> MeasuredPipeline | None:
    if data is None:
        return None
    return MeasuredPipeline(**{**data, "rows": tuple(PipelineRow(**row) for row in data["rows"])})


def _numerics(data: Mapping[str, Any] | None) -> Numerics | None:
    return None if data is None else Numerics(**{**data, "worst_element": tuple(data["worst_element"])})


def _trace(data: Mapping[str, Any] | None) -> TraceCheck | None:
    return None if data is None else TraceCheck(**{**data, "ctas": tuple(data["ctas"])})


def _time(data: Mapping[str, Any] | None) -> LoopTime | None:
    return None if data is None else LoopTime(**data)


_PARTS: dict[str, Any] = {
    "numerics": _numerics,
    "trace": _trace,
    "time_us": _time,
    "pipeline": _pipeline,
    "command": tuple,
}


def _joined(match: re.Match[str]) -> str:
    """Return a JSON list or table without nested ones on one line, if that is at most 160 characters."""
    line = re.sub(r"\n\s*", " ", match[0]).replace("[ ", "[").replace(" ]", "]")
    return line if len(line) <= 160 else match[0]
