"""Knows the cycles of several cold launches of what is recorded, of which a record takes the medians."""

import csv
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from statistics import median
from typing import Final

from gpusim.errors import BadInput

REPEATS_FILE: Final = "repeats.csv"
"""Name of the file in a GPU's folder of records."""

REPEATED: Final = (
    "sm__cycles_elapsed.max",
    "sm__cycles_active.avg",
    "sm__cycles_active.max",
    "sm__cycles_active.min",
)
"""Counters of each launch. They are of one pass of ncu: those of a record are of several."""


def repeated(record: Path) -> Mapping[str, float]:
    """
    Return medians of ``REPEATED`` over the launches of a record's kernels; nothing where they were not repeated.

    One launch in six takes up to a thousand cycles longer than the others, and a record has only one of each counter.

    Args:
        record: The record's file. The launches are in ``REPEATS_FILE`` beside it.

    Raises:
        BadInput: The file of the launches cannot be read, or lacks a column.
    """
    path = record.parent / REPEATS_FILE
    return _medians(path, path.stat().st_mtime_ns).get(record.stem, {}) if path.is_file() else {}


@lru_cache(maxsize=4)
def _medians(path: Path, _changed: int) -> Mapping[str, Mapping[str, float]]:
    launches: dict[str, list[dict[str, str]]] = {}
    try:
        with path.open(encoding="utf-8", newline="") as file:
            for row in csv.DictReader(line for line in file if not line.startswith("#")):
                launches.setdefault(row["name"], []).append(row)
        return {
            name: {metric: median(float(row[metric]) for row in rows) for metric in REPEATED}
            for name, rows in launches.items()
        }
    except (OSError, KeyError, TypeError, ValueError) as error:
        wanted = ", ".join(("name", *REPEATED))
        raise BadInput(f"{path}: not readable cycles of launches, in columns {wanted} ({error})") from error
