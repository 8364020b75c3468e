"""The figures of a report on speed, and how they are kept as JSON."""

import json
from collections.abc import Callable, Hashable, Iterable
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias, TypeVar

from gpusim.errors import BadInput
from gpusim.lab.host import Host

BENCH_SCHEMA: Final = "gpusim.bench/1"

RowT = TypeVar("RowT")

Mode: TypeAlias = Literal["exact", "sampled"]
"""How a launch is simulated."""


@dataclass(frozen=True, slots=True)
class RunRow:
    """
    The cost of ``gpusim run`` of one scenario in one mode on one execution of the core.

    Attributes:
        table: The table that it belongs to.
        name: The scenario, in words.
        mode: How the launch was simulated.
        engine: The execution, as the result names it.
        runs: Processes, of which all figures are medians.
        user_s, peak_mb: As in ``Cost``.
        instructions: Warp instructions simulated.
        seconds: Wall time of the core's execution alone, unrounded.
        rate: Warp instructions a second: ``instructions`` over ``seconds`` of the same process.
        gpu_us: Simulated time of the launch on the GPU, microseconds.
        slowdown: ``seconds`` over that time.
        stream: Origin of the instruction streams.
    """

    table: str
    name: str
    mode: Mode
    engine: str
    runs: int
    user_s: float
    peak_mb: float
    instructions: int
    seconds: float
    rate: float
    gpu_us: float
    slowdown: float
    stream: str


@dataclass(frozen=True, slots=True)
class OtherRow:
    """
    The cost of another process.

    Attributes:
        name: The command, in words.
        runs: Processes, of which all figures are medians.
        user_s, wall_s, peak_mb: As in ``Cost``.
    """

    name: str
    runs: int
    user_s: float
    wall_s: float
    peak_mb: float


@dataclass(frozen=True, slots=True)
class LoopRow:
    """
    Points that one process simulates in a second.

    Attributes:
        size: M and N of the GEMM; K is different for each point, and ``size`` in the mean.
        runs: Processes, of which all figures are medians.
        points: Points after the first. The first one includes imports and all that is computed once.
        first_s: CPU seconds of the first point.
        points_per_s: Points in a second of CPU.
    """

    size: int
    runs: int
    points: int
    first_s: float
    points_per_s: float


@dataclass(frozen=True, slots=True)
class BenchReport:
    """
    All figures of one run of the bench.

    Attributes:
        host: Host of the measurement.
        runs: Costs of ``gpusim run``, by table.
        others: Imports, ``--help`` and ``verify``.
        loops: Points a second.
        note: A remark on the measurement.
    """

    host: Host
    runs: tuple[RunRow, ...] = ()
    others: tuple[OtherRow, ...] = ()
    loops: tuple[LoopRow, ...] = ()
    note: str = ""
    schema: str = field(default=BENCH_SCHEMA)

    def run_of(self, name: str, mode: Mode, engine: str = "compiled") -> RunRow | None:
        """Return the row of a run; None if it was not measured."""
        found = [row for row in self.runs if (row.name, row.mode, row.engine) == (name, mode, engine)]
        return found[0] if found else None

    def other_of(self, name: str) -> OtherRow | None:
        """Return the row of another process; None if it was not measured."""
        return next((row for row in self.others if row.name == name), None)

    def loop_of(self, size: int) -> LoopRow | None:
        """Return the row of a loop; None if it was not measured."""
        return next((row for row in self.loops if row.size == size), None)


def merged(kept: BenchReport, new: BenchReport) -> BenchReport:
    """
    Return a report with the rows of two. If both have a row of one name, the new one counts.

    Args:
        kept: An earlier report of the same machine and commit.
        new: The later report. If it has a note, this replaces the earlier note.
    """
    return replace(
        new,
        runs=_merged(kept.runs, new.runs, lambda row: (row.table, row.name, row.mode, row.engine)),
        others=_merged(kept.others, new.others, lambda row: row.name),
        loops=_merged(kept.loops, new.loops, lambda row: row.size),
        note=new.note or kept.note,
    )


def _merged(kept: Iterable[RowT], new: Iterable[RowT], key: Callable[[RowT], Hashable]) -> tuple[RowT, ...]:
    return tuple(({key(row): row for row in kept} | {key(row): row for row in new}).values())


def other_host(kept: Host, new: Host) -> list[str]:
    """Return the differences of two hosts, except the day."""
    names = (one.name for one in fields(Host) if one.name != "date")
    return [name for name in names if getattr(kept, name) != getattr(new, name)]


def write_bench(report: BenchReport, path: Path) -> None:
    """Write a report as JSON."""
    path.write_text(json.dumps(asdict(report), indent=1) + "\n", encoding="utf-8")


def load_bench(path: Path) -> BenchReport:
    """
    Read a report.

    Raises:
        BadInput: It is of another schema.
    """
    data: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    if data.get("schema") != BENCH_SCHEMA:
        raise BadInput(f"{path}: schema must be {BENCH_SCHEMA!r}, got {data.get('schema')!r}")
    return BenchReport(
        host=Host(**data["host"]),
        runs=tuple(RunRow(**row) for row in data["runs"]),
        others=tuple(OtherRow(**row) for row in data["others"]),
        loops=tuple(LoopRow(**row) for row in data["loops"]),
        note=data["note"],
    )
