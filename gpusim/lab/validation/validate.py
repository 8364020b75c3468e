"""Validates simulated time over the records of one half. It returns data, and prints and draws nothing."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path
from typing import Final

from gpusim.errors import BadInput, CannotRun
from gpusim.lab.validation.cutlass import cutlass_rows, problem_of
from gpusim.lab.validation.observe import (
    CYCLES,
    KIND_AND_SIZE,
    KIND_FROM_SIZE,
    TRAFFIC,
    Measured,
    Observation,
    observe,
)
from gpusim.lab.validation.statistics import (
    ErrorSummary,
    KTile,
    StallSummary,
    best_of_each,
    grouped,
    k_tile_pairs,
    stall_summary,
    summarise,
    summary_of,
)
from gpusim.records.halves import Half, load_halves
from gpusim.records.record import load_record, measured_folder
from gpusim.results.result import StreamOrigin

GROUPINGS: Final = ("kind", "size", KIND_AND_SIZE, "bound", "stages")
"""The tables that divide the kernels."""

FEWEST_SHOWN: Final = 5
"""Least number of records of a shown held-out group: a smaller one would show rows."""

BEST_WITHIN: Final = 0.03
"""Share of the best kernel's cycles by which the predicted best may be slower and still count as right."""

_CUTLASS_STREAMS: tuple[StreamOrigin, ...] = ("estimated",)
"""CUTLASS's kernels have only estimated streams here, because gpusim does not ship CUTLASS's code."""


@dataclass(frozen=True, slots=True)
class StreamValidation:
    """
    The errors of simulation with streams of one origin.

    Attributes:
        overall: Errors by figure.
        groups: By grouping, group and figure of time: errors.
        stalls: Stall reasons; None if none was measured.
        k_tiles: Errors of the steady k tile by figure of time, over all pairs.
        pairs: The pairs; empty if they may not be shown.
    """

    overall: Mapping[str, ErrorSummary]
    groups: Mapping[str, Mapping[str, Mapping[str, ErrorSummary]]]
    stalls: StallSummary | None
    k_tiles: Mapping[str, ErrorSummary]
    pairs: tuple[KTile, ...]


@dataclass(frozen=True, slots=True)
class CutlassValidation:
    """
    CUTLASS's own kernels and their simulation from the configuration alone.

    Attributes:
        errors: Errors by stream and figure.
        best_within: By stream, the share of problems whose predicted best kernel is the true best or within 3 % of it.
        problems: By stream, the number of problems with two kernels or more.
    """

    errors: Mapping[str, Mapping[str, ErrorSummary]]
    best_within: Mapping[str, float]
    problems: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Validation:
    """
    The answer of one validation.

    Attributes:
        half: The half of its records.
        gpu: Folder of the records.
        mode: "default", "exact" or "sampled".
        records: Number of records.
        streams: By origin of streams.
        cutlass: CUTLASS's kernels; None if they were not requested.
        rows: Every kernel; empty if rows may not be shown.
    """

    half: Half
    gpu: str
    mode: str
    records: int
    streams: Mapping[StreamOrigin, StreamValidation]
    cutlass: CutlassValidation | None
    rows: tuple[Observation, ...]


def records_of(half: Half, gpu: str, only: Sequence[str]) -> tuple[Measured, ...]:
    """
    Read the records of a half that have counters. No file of the other half is opened.

    Args:
        half: The half.
        gpu: Folder of the records below ``measured_folder()``.
        only: Patterns of names such as ``gemm_*``; none accepts all.

    Raises:
        BadInput: A record is in no half.
        CannotRun: There are no such records.
    """
    folder, halves = measured_folder() / gpu, load_halves()
    paths = [path for path in sorted(folder.glob("*.json")) if halves.half(path.stem) == half and _chosen(path, only)]
    records = [load_record(path) for path in paths]
    found = [
        Measured(record.name, record.scenario, record.counters, int(record.environment["sms"]))
        for record in records
        if record.counters
    ]
    if not found:
        raise CannotRun(f"{folder}: no {half} record with counters" + (f" is like {', '.join(only)}" if only else ""))
    return tuple(found)


def _chosen(path: Path, only: Sequence[str]) -> bool:
    return not only or any(fnmatch(path.stem, pattern) for pattern in only)


def validate(
    measured: Sequence[Measured],
    half: Half,
    gpu: str,
    streams: Sequence[StreamOrigin],
    *,
    exact: bool | None,
    jobs: int,
    show_rows: bool,
    cutlass_files: Sequence[Path] = (),
    say: Callable[[str], None] = lambda _: None,
) -> Validation:
    """
    Simulate every kernel, and summarise its errors.

    Args:
        measured: Kernels of one half, from ``records_of``.
        half: That half.
        gpu: Folder of the records.
        streams: Origins of streams.
        exact: As of ``simulate``.
        jobs: Processes.
        show_rows: Keep rows, pairs, names of worst kernels and small groups. False for held-out records.
        cutlass_files: Files with CUTLASS's rows.
        say: Called with a line about kernels that have no stream.

    Raises:
        BadInput: No kernel of the half can be simulated.
        CannotRun: A file of CUTLASS's rows cannot be read.
    """
    observations = list(observe(measured, streams, exact=exact, jobs=jobs, say=say))
    if not observations:
        raise BadInput(f"no {half} record can be simulated with {' or '.join(streams)} streams")
    least = 1 if show_rows else FEWEST_SHOWN
    by_stream = {
        stream: _of_stream(own, least, show_rows=show_rows)
        for stream in streams
        if (own := [one for one in observations if one.stream == stream])
    }
    theirs = cutlass_rows(cutlass_files, measured[0].sms)
    return Validation(
        half=half,
        gpu=gpu,
        mode={None: "default", True: "exact", False: "sampled"}[exact],
        records=len(measured),
        streams=by_stream,
        cutlass=_of_cutlass(theirs, list(observe(theirs, _CUTLASS_STREAMS, exact=exact, jobs=jobs, say=say)))
        if theirs
        else None,
        rows=tuple(observations) if show_rows else (),
    )


def _of_stream(own: Sequence[Observation], least: int, *, show_rows: bool) -> StreamValidation:
    pairs = k_tile_pairs(own)
    errors = {figure: {" to ".join(pair.names): pair.figures[figure].error for pair in pairs} for figure in CYCLES}
    groups = {
        by: {
            group: found
            for group, members in _shown(grouped(own, by), least).items()
            if (found := _summaries(members, CYCLES, show_rows))
        }
        for by in GROUPINGS
    }
    if not show_rows:
        told = shown_sizes(*(Counter(one.groups[by] for one in own) for by in ("kind", KIND_AND_SIZE)))
        groups[KIND_AND_SIZE] = {group: found for group, found in groups[KIND_AND_SIZE].items() if group in told}
    return StreamValidation(
        overall=_summaries(own, (*CYCLES, "warp instructions", *TRAFFIC), show_rows),
        groups=groups,
        stalls=stall_summary(own),
        k_tiles={name: _named(summarise(own), show_rows) for name, own in errors.items() if len(own) >= least},
        pairs=pairs if show_rows else (),
    )


def _shown(groups: Mapping[str, list[Observation]], least: int) -> dict[str, list[Observation]]:
    return {group: members for group, members in groups.items() if len(members) >= least}


def shown_sizes(kinds: Mapping[str, int], sizes: Mapping[str, int]) -> set[str]:
    """
    Return the groups of one kind and size that may be shown beside the groups of one kind.

    The error of the kernels that are not shown follows from the error of the kind and those of its shown sizes. So they
    must not be a few: the smallest sizes are left out until the kernels not shown are none or ``FEWEST_SHOWN``.

    Args:
        kinds: Number of kernels of each kind.
        sizes: The same of each kind and size.
    """
    told: set[str] = set()
    for kind, kernels in kinds.items():
        own = {group: count for group, count in sizes.items() if group.startswith(kind + KIND_FROM_SIZE)}
        shown = sorted((group for group, count in own.items() if count >= FEWEST_SHOWN), key=own.__getitem__)
        while shown and 0 < kernels - sum(own[group] for group in shown) < FEWEST_SHOWN:
            del shown[0]
        told.update(shown)
    return told


def _summaries(own: Iterable[Observation], figures: Iterable[str], show_rows: bool) -> dict[str, ErrorSummary]:
    members = list(own)
    found = {figure: summary_of(members, figure) for figure in figures}
    return {figure: _named(summary, show_rows) for figure, summary in found.items() if summary is not None}


def _named(summary: ErrorSummary, show_rows: bool) -> ErrorSummary:
    """Return the summary without the name of the worst kernel, unless rows may be shown."""
    return summary if show_rows else summary.unnamed()


def _of_cutlass(measured: Sequence[Measured], observations: Sequence[Observation]) -> CutlassValidation:
    problems = {one.name: problem_of(one) for one in measured}
    by_stream: dict[str, list[Observation]] = {}
    for one in observations:
        by_stream.setdefault(one.stream, []).append(one)
    figures = (*CYCLES, "warp instructions", *TRAFFIC)
    slower = {stream: best_of_each(own, problems) for stream, own in by_stream.items()}
    return CutlassValidation(
        errors={stream: _summaries(own, figures, show_rows=True) for stream, own in by_stream.items()},
        best_within={
            stream: sum(one <= BEST_WITHIN for one in every) / len(every) for stream, every in slower.items() if every
        },
        problems={stream: len(every) for stream, every in slower.items() if every},
    )
