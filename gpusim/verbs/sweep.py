"""Sweeps a scenario over any of its keys. Points are simulated in parallel, and each is stored when it finishes."""

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import gpusim
from gpusim.arguments import exactness, flag, function, plain_table, refusal, word
from gpusim.arguments import path as path_of
from gpusim.errors import BadInput
from gpusim.machine.load import load_machine
from gpusim.results.plain import frame, plain
from gpusim.results.provenance import digest
from gpusim.verbs.load import ScenarioSource
from gpusim.verbs.simulate import STREAM_CHOICES
from gpusim.verbs.sweeping.axes import Axis, axes_of, cell, points_of
from gpusim.verbs.sweeping.journal import Journal, read_definition
from gpusim.verbs.sweeping.kept import axes_of_definition
from gpusim.verbs.sweeping.point import POINT_FIGURES, Base, PointRow, base_of
from gpusim.verbs.sweeping.table import TableFormat, write_table
from gpusim.verbs.sweeping.workers import processes_of, simulated

if TYPE_CHECKING:
    import pandas as pd

_SAY_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class Sweep:
    """
    A finished sweep.

    Attributes:
        axes: The axes, of which the last one varies fastest.
        rows: One row a point, in the order of the axes: the keys, then the figures. A refused point has an ``error``
            and no figures.
        out: Folder of the sweep; None if nothing was kept.
        table: The file of its table.
    """

    axes: tuple[Axis, ...]
    rows: tuple[PointRow, ...]
    out: Path | None = None
    table: Path | None = None

    def __hash__(self) -> int:
        """Return a hash; equal sweeps have equal hashes."""
        return hash((self.columns, len(self.rows), self.out, self.table))

    @property
    def columns(self) -> tuple[str, ...]:
        """Columns of the table: keys, then figures."""
        return (*keys_of(self.axes), *POINT_FIGURES)

    @property
    def refused(self) -> int:
        """Number of points with an error."""
        return sum("error" in row for row in self.rows)

    def to_dict(self) -> dict[str, Any]:
        """Return the sweep as plain data, as ``gpusim sweep --json`` prints it."""
        return {
            "out": None if self.out is None else str(self.out),
            "table": None if self.table is None else str(self.table),
            "axes": [plain(axis) for axis in self.axes],
            "points": len(self.rows),
            "refused": self.refused,
            "rows": [{column: row.get(column) for column in self.columns} for row in self.rows],
        }

    def to_dataframe(self) -> "pd.DataFrame":
        """
        Return the table as a pandas data frame.

        Raises:
            CannotRun: pandas is not installed.
        """
        return frame([{column: row.get(column) for column in self.columns} for row in self.rows], self.columns)


def sweep(
    scenario: ScenarioSource,
    over: Mapping[str, Sequence[Any]] | Sequence[Axis],
    out: str | Path | None = None,
    jobs: int | None = None,
    *,
    overrides: Iterable[str] = (),
    scheduler: str | None = None,
    exact: bool | None = None,
    stream: str = "auto",
    table: TableFormat = "auto",
    force: bool = False,
    progress: Callable[[str], None] | None = None,
) -> Sweep:
    """
    Simulate a scenario at every point of a product of axes.

    With ``out``, each finished point is kept at once. The same call with the same folder repeats none of them, so it
    continues a killed sweep.

    Args:
        scenario: A scenario, or what ``gpusim.load`` takes: a file, the name of a shipped scenario, data.
        over: Values by key, such as ``{"kernel.stages": [3, 4, 5]}``. A name without a dot has tables of keys that vary
            together: ``{"tile": [{"kernel.threadblock": [128, 128, 32], "kernel.warp": [64, 64, 32]}, ...]}``.
        out: Folder of the sweep; None keeps nothing.
        jobs: Processes; None takes one for each core, 1 simulates in this process.
        overrides: Settings ``key=value`` for all points.
        scheduler: Address of a Dask scheduler; its workers then simulate the points.
        exact: True simulates every CTA, False samples; None chooses by the number of warp instructions.
        stream: Origin of the instruction streams, as in ``gpusim.simulate``.
        table: Format of the table in ``out``.
        force: Replace the points of any sweep that the folder holds, this one or another. Other files there are kept.
        progress: Called with a line every few seconds.

    Returns:
        All points. A point that is refused or cannot be simulated is a row with an ``error``.

    Raises:
        BadInput: An axis is wrong, or the folder holds another sweep or anything else.
        CannotRun: The folder cannot be written or is in use, no scheduler answers, or processes cannot be started.
        KeyboardInterrupt: The sweep was interrupted. Finished points are kept, and are in the table.

    >>> found = sweep("gemm_ragged", {"kernel.stages": [3, 4], "problem.k": [128, 256]}, jobs=1)
    >>> [row["kernel.stages"] for row in found.rows]
    [3, 3, 4, 4]
    """
    axes = axes_of(plain_table("over", over), "over") if isinstance(over, Mapping) else _axes(over)
    processes = processes_of(jobs, scheduler)
    word("table", table, get_args(TableFormat))
    function("progress", progress)
    anew = flag("force", force)
    folder = None if out is None else path_of("out", out)
    exact, stream = exactness(exact), word("stream", stream, STREAM_CHOICES)
    base = base_of(scenario, overrides, exact=exact, stream=stream)
    points = dict(enumerate(points_of(axes)))
    work = _Work(base, points, processes, scheduler, progress or (lambda _: None))
    if folder is None:
        rows: dict[int, PointRow] = {}
        work.finish(rows, rows.__setitem__)
        return Sweep(axes, _table_rows(points, rows))
    with Journal(folder, _definition(base, axes), anew=anew) as journal:
        try:
            work.finish(journal.rows, journal.add)
        finally:
            kept = _table_rows({number: points[number] for number in sorted(journal.rows)}, journal.rows)
            path = write_table(folder, (*keys_of(axes), *POINT_FIGURES), kept, table)
    return Sweep(axes, kept, folder, path)


def _axes(over: object) -> tuple[Axis, ...]:
    axes = tuple(over) if isinstance(over, Sequence) and not isinstance(over, str | bytes) else ()
    if not axes or not all(isinstance(axis, Axis) for axis in axes):
        raise refusal("over", "a table of keys and their values, or axes", over)
    return axes


def read_sweep(folder: Path) -> Sweep:
    """
    Read the points of a sweep that have finished so far.

    Raises:
        BadInput: The folder holds no sweep.
        CannotRun: Its journal is damaged, or a sweep is running there.
    """
    kept = read_definition(folder)
    axes = axes_of_definition(kept)
    points = points_of(axes)
    with Journal(folder, {key: value for key, value in kept.items() if key != "schema"}) as journal:
        rows = journal.rows
    return Sweep(axes, _table_rows({number: points[number] for number in sorted(rows)}, rows), folder)


def keys_of(axes: Iterable[Axis]) -> tuple[str, ...]:
    """Return the keys that the axes set, in order."""
    return tuple(key for axis in axes for key in axis.keys)


@dataclass(frozen=True, slots=True)
class _Work:
    """The points of a sweep, and the processes or the cluster that simulates them."""

    base: Base
    points: dict[int, dict[str, Any]]
    jobs: int
    scheduler: str | None
    say: Callable[[str], None]

    def finish(self, rows: Mapping[int, PointRow], add: Callable[[int, PointRow], None]) -> None:
        """Simulate the points that have no row yet, and add theirs as they finish."""
        waiting = {number: settings for number, settings in self.points.items() if number not in rows}
        if len(waiting) < len(self.points):
            self.say(f"{len(self.points) - len(waiting)} of {len(self.points)} points are there already")
        begun = said = time.monotonic()
        for done, (number, row) in enumerate(
            simulated(self.base, waiting, jobs=self.jobs, scheduler=self.scheduler) if waiting else (), 1
        ):
            add(number, row)
            now = time.monotonic()
            if now - said > _SAY_SECONDS:
                said = now
                self.say(f"{len(rows)} of {len(self.points)} points, {done / (now - begun):.1f} a second")


def _definition(base: Base, axes: Sequence[Axis]) -> dict[str, Any]:
    """Return the definition that identifies a sweep; the number of processes and the table format are no part of it."""
    return {
        "version": gpusim.__version__,
        "machines": _machine_digests(base, axes),
        **asdict(base),
        "axes": [asdict(axis) for axis in axes],
    }


def _machine_digests(base: Base, axes: Sequence[Axis]) -> dict[str, str]:
    """Return the digest of each machine's figures; a refused machine has none."""
    names = {setting["machine"] for axis in axes for setting in axis.settings if "machine" in setting}
    found = {}
    for name in sorted(str(one) for one in names or {base.data.get("machine")}):
        try:
            found[name] = load_machine(name).digest()
        except BadInput as error:
            found[name] = digest(str(error))
    return found


def _table_rows(points: Mapping[int, Mapping[str, Any]], rows: Mapping[int, PointRow]) -> tuple[PointRow, ...]:
    return tuple(
        {key: cell(value) for key, value in settings.items()} | rows[number] for number, settings in points.items()
    )
