"""Takes the errors by group of kernels, which ship with gpusim, from the committed reports of validation."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from gpusim.errors import CannotRun
from gpusim.lab.validation.observe import KIND_AND_SIZE, KIND_FROM_SIZE
from gpusim.results.trust import VALIDATED, Validated, ValidatedHalf, validated_text

REPORTS = ("held_out.json", "development.json")
"""Reports of both halves, in one folder."""


def write_trust(folder: Path, file: Path) -> None:
    """
    Write the errors of groups of kernels from a folder's reports to the file that ships.

    Args:
        folder: Folder of the reports; one of them may be missing.
        file: The file, from ``trust_file``.

    Raises:
        CannotRun: The file cannot be written.
    """
    try:
        file.parent.mkdir(exist_ok=True)
        file.write_text(validated_text(tuple(validated_rows(folder))), encoding="utf-8")
    except OSError as error:
        raise CannotRun(f"{file}: cannot be written ({error.strerror or error})") from error


def trust_file(machine: str) -> Path:
    """Return the path of the file that ships for a machine."""
    return VALIDATED / f"{machine}.json"


def validated_rows(folder: Path) -> Iterator[Validated]:
    """
    Yield the errors of elapsed cycles by group of kernels, from the aggregates of the reports in a folder.

    Rows of single kernels are not read. CUTLASS's kernels are one group.

    Raises:
        CannotRun: A report cannot be read.
    """
    for path in (folder / name for name in REPORTS):
        if not path.is_file():
            continue
        try:
            report = json.loads(path.read_text(encoding="utf-8"))
            half, streams, theirs = report["half"], report["streams"], report["cutlass"]
        except (OSError, ValueError, KeyError) as error:
            raise CannotRun(f"{path}: not a report of a validation ({error})") from error
        for stream, own in streams.items():
            for group, figures in own["groups"]["kind"].items():
                yield from _row(half, stream, group, "", figures)
            for group, figures in own["groups"].get(KIND_AND_SIZE, {}).items():
                kind, _, size = group.partition(KIND_FROM_SIZE)
                yield from _row(half, stream, kind, size, figures)
        for stream, figures in (theirs or {"errors": {}})["errors"].items():
            yield from _row("cutlass", stream, "", "", figures)


def _row(half: ValidatedHalf, stream: str, kind: str, size: str, figures: Mapping[str, Any]) -> Iterator[Validated]:
    elapsed = figures.get("elapsed")
    if elapsed is not None:
        mean, p90 = (round(100 * elapsed[figure], 1) for figure in ("mean", "p90"))
        yield Validated(half, stream, kind, size, elapsed["kernels"], mean, p90)
