"""Keeps a sweep in a folder: its definition, and a line for each finished point. A killed sweep continues from it."""

import json
import os
import time
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

from gpusim.errors import BadInput, CannotRun
from gpusim.results.whole_file import refuse_foreign
from gpusim.verbs.sweeping.kept import axes_of_definition, count_points, row_damage

DEFINITION: Final = "sweep.json"
"""File of the sweep's definition."""

JOURNAL: Final = "journal.jsonl"
"""File of the finished points: one line of JSON each, in the order in which they finished."""

SWEEP_SCHEMA: Final = "gpusim.sweep/1"

_SYNC_SECONDS = 1.0


class Journal:
    """
    The journal of a sweep in its folder, open for appending.

    A line is written by one system call. So a killed process leaves at most the last line incomplete, and the next
    sweep drops it. Once a second the lines are flushed to the disk.

    Attributes:
        folder: The folder.
        rows: PointRow of each finished point, by the point's number.
    """

    def __init__(self, folder: Path, definition: Mapping[str, Any], *, anew: bool = False) -> None:
        """
        Open the folder of a sweep, which may be new, empty, or hold the same sweep.

        Args:
            folder: The folder.
            definition: Definition of the sweep, as JSON data: equal for sweeps that may share a folder.
            anew: Replace the points of any sweep that the folder holds. Other files in it are not touched.

        Raises:
            BadInput: The folder holds another sweep, or anything else.
            CannotRun: The folder cannot be written, is in use by another process, or its journal is damaged.
        """
        self.folder = folder
        self._synced = time.monotonic()
        wanted = {"schema": SWEEP_SCHEMA, **json.loads(json.dumps(definition))}
        replaces = anew and (folder / DEFINITION).is_file()
        if replaces:
            read_definition(folder)
            if (folder / JOURNAL).is_file() and (folder / JOURNAL).stat().st_size:
                refuse_foreign(folder / JOURNAL, follow=False)
        else:
            _claim(folder, wanted)
        self._points = count_points(definition["axes"])
        try:
            self._file = os.open(folder / JOURNAL, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o644)
        except OSError as error:
            raise CannotRun(f"{folder}: cannot be written ({error.strerror})") from error
        try:
            self._lock()
            if replaces:
                self._replace(wanted)
            self.rows = self._read()
        except BaseException:
            os.close(self._file)
            raise

    def __enter__(self) -> Self:
        """Return the open journal."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the file."""
        os.fsync(self._file)
        os.close(self._file)

    def add(self, number: int, row: Mapping[str, Any]) -> None:
        """
        Append the row of a finished point.

        Raises:
            CannotRun: The disk is full.
        """
        line = (json.dumps({"point": number, "row": row}) + "\n").encode()
        try:
            if os.write(self._file, line) != len(line):
                raise CannotRun(f"{self.folder / JOURNAL}: cannot be written (no space left)")
            if time.monotonic() - self._synced > _SYNC_SECONDS:
                os.fsync(self._file)
                self._synced = time.monotonic()
        except OSError as error:
            raise CannotRun(f"{self.folder / JOURNAL}: cannot be written ({error.strerror})") from error
        self.rows[number] = dict(row)

    def _replace(self, definition: dict[str, Any]) -> None:
        """Drop the points of the folder's sweep, then write another definition; the table is rewritten later."""
        try:
            os.ftruncate(self._file, 0)
            _define(self.folder, definition)
        except OSError as error:
            raise CannotRun(f"{self.folder}: cannot be written ({error.strerror})") from error

    def _lock(self) -> None:
        try:
            fcntl: Any = import_module("fcntl")
        except ImportError:  # not a POSIX system: two sweeps can write to one folder
            return
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise CannotRun(f"{self.folder}: another process sweeps into this folder") from error

    def _read(self) -> dict[int, dict[str, Any]]:
        """Return the rows of the complete lines, and cut off an incomplete last one."""
        data = (self.folder / JOURNAL).read_bytes()
        whole = data.rfind(b"\n") + 1
        if whole != len(data):
            os.ftruncate(self._file, whole)
        rows = {}
        for number, line in enumerate(data[:whole].splitlines(), 1):
            place = f"{self.folder / JOURNAL}: line {number} is damaged"
            try:
                read = json.loads(line)
            except (ValueError, RecursionError) as error:
                raise CannotRun(f"{place}: it is no JSON") from error
            wrong = row_damage(read, self._points)
            if wrong:
                raise CannotRun(f"{place}: {wrong}")
            rows[read["point"]] = dict(read["row"])
        return rows


def read_definition(folder: Path) -> dict[str, Any]:
    """
    Return the definition of the sweep in a folder.

    Raises:
        BadInput: The folder holds no sweep, or one of another schema.
    """
    path = folder / DEFINITION
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise BadInput(f"{folder}: holds no sweep (no readable {DEFINITION}); `gpusim sweep` makes one") from error
    found = data.get("schema") if isinstance(data, dict) else None
    if found != SWEEP_SCHEMA:
        raise BadInput(f"{path}: schema must be {SWEEP_SCHEMA!r}, got {found!r:.60}")
    try:
        axes_of_definition(data)
    except ValueError as error:
        raise BadInput(f"{path}: {error}") from error
    return dict(data)


def _claim(folder: Path, definition: dict[str, Any]) -> None:
    """Write the definition into a new or empty folder, or check that the folder holds the same definition."""
    try:
        if folder.exists() and not folder.is_dir():
            raise BadInput(f"{folder}: is a file; a sweep is written to a folder")
        if (folder / DEFINITION).is_file():
            _require_same(folder, read_definition(folder), definition)
            return
        if folder.is_dir() and any(one.suffix != ".part" for one in folder.iterdir()):
            raise BadInput(f"{folder}: is in use, and holds no sweep; give --out another folder")
        folder.mkdir(parents=True, exist_ok=True)
        _define(folder, definition)
    except OSError as error:
        raise CannotRun(f"{folder}: cannot be written ({error.strerror or error})") from error


def _define(folder: Path, definition: dict[str, Any]) -> None:
    part = folder / f"{DEFINITION}.part"
    part.write_text(json.dumps(definition, indent=1) + "\n", encoding="utf-8")
    part.replace(folder / DEFINITION)


def _require_same(folder: Path, kept: dict[str, Any], wanted: dict[str, Any]) -> None:
    different = [key for key in {**kept, **wanted} if kept.get(key) != wanted.get(key)]
    if different:
        rule = "give --out another folder, or --force to replace it"
        raise BadInput(f"{folder}: holds another sweep ({', '.join(different)} differ); {rule}")
