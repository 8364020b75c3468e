"""The cycles of several cold launches of each recorded kernel. A record takes their medians."""

import csv
from collections.abc import Mapping
from datetime import datetime
from functools import lru_cache
from pathlib import Path
from statistics import median
from typing import Final

from gpusim.errors import BadInput

REPEATS_FILE: Final = "repeats.csv"
"""Name of the file that a measurement writes, in a GPU's folder of records."""

REPEATS_FILES: Final = "repeats*.csv"
"""Pattern of the files of cold launches in a GPU's folder of records: one file for each measurement."""

DATE: Final = "# date: "
"""Beginning of the line with the date of the measurement."""

REPEATED: Final = ("sm__cycles_elapsed.max", "sm__cycles_active.avg", "sm__cycles_active.max", "sm__cycles_active.min")
"""Counters of each launch, all of one pass of ncu. The counters of a record are of several passes."""


def repeated(record: Path, date: str) -> Mapping[str, float]:
    """
    Return medians of ``REPEATED`` over the launches of a record's kernels; empty if they were not repeated.

    Launches scatter both ways (docs/cross-checking.md), and a record has only one value of each counter. Launches
    older than the record are ignored, because the kernel may have changed since.

    Args:
        record: The record's file. The launches are in ``REPEATS_FILES`` beside it; the newest one with them counts.
        date: Date of the record, ISO 8601.

    Raises:
        BadInput: A file of launches cannot be read, has no date, or lacks a column.
    """
    files = [_medians(path, path.stat().st_mtime_ns) for path in record.parent.glob(REPEATS_FILES)]
    own = [file for file in files if record.stem in file[1] and file[0] >= datetime.fromisoformat(date)]
    return max(own, key=lambda file: file[0])[1][record.stem] if own else {}


@lru_cache(maxsize=32)
def _medians(path: Path, _changed: int) -> tuple[datetime, Mapping[str, Mapping[str, float]]]:
    launches: dict[str, list[dict[str, str]]] = {}
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
        date = next(line.removeprefix(DATE) for line in lines if line.startswith(DATE))
        for row in csv.DictReader(line for line in lines if not line.startswith("#")):
            launches.setdefault(row["name"], []).append(row)
        return datetime.fromisoformat(date), {
            name: {metric: median(float(row[metric]) for row in rows) for metric in REPEATED}
            for name, rows in launches.items()
        }
    except (OSError, KeyError, TypeError, ValueError, StopIteration, csv.Error) as error:
        wanted = ", ".join(("name", *REPEATED))
        raise BadInput(
            f"{path}: not readable cycles of launches, with a line {DATE!r} and columns {wanted} ({error})"
        ) from error
