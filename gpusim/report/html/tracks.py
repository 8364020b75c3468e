"""Arranges the timeline of a run in tracks for the page: packed columns of spans that do not overlap."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple, TypeAlias

from gpusim.report.pipeline import WarpPipeline, from_rows, from_timeline
from gpusim.report.span_lanes import ISSUING, KEY_BLOCK_ACTIVITIES, stall_slices
from gpusim.results.result import PipelineRow
from gpusim.results.timeline import KTileSpan, Timeline, WarpSpan

NOWHERE: Final = -1
"""K tile, k group or stage of a span that has none."""

MOST_STALL_SPANS: Final = 220_000
"""Most spans of all warps of a page, about 1.2 MB. In a larger run, cycles ``selected`` and ``wait`` are joined."""

_KEY_BLOCK_TRACKS: Final = {
    "copies of Q and K": ("copy_q", "copy_k"),
    "copies of V": ("copy_v",),
    "S = Q·Kᵀ": ("qk",),
    "softmax": ("softmax",),
    "O += P·V": ("pv",),
    "output": ("output",),
    "waits": tuple(name for name in KEY_BLOCK_ACTIVITIES if name.startswith("wait")),
}
"""Activities of attention by the name of their track."""

_ISSUED: Final = ("selected", "wait")

PackedColumn: TypeAlias = int | list[int]
"""Integers of the spans of a track; one integer if all are equal."""


class TrackSpan(NamedTuple):
    """An interval of cycles [begin, end) on a track, with its k tile, k group and ring slot."""

    begin: int
    end: int
    what: str
    k_tile: int = NOWHERE
    k_group: int = NOWHERE
    stage: int = NOWHERE


@dataclass(frozen=True, slots=True)
class Track:
    """
    One row of the timeline.

    Attributes:
        group: Heading above it, such as "simulated, warp 0".
        name: Name of the row.
        kind: "operation" or "stall".
        spans: Spans of the row, by begin; no two overlap.
        unit: The word for its k tiles: "k tile" or "key block".
    """

    group: str
    name: str
    kind: str
    spans: Sequence[TrackSpan] = field(repr=False)
    unit: str = "k tile"

    def packed(self, words: list[str]) -> dict[str, Any]:
        """
        Return the track as plain data: gaps and lengths in cycles, and indices into ``words``, to which it adds.

        A page unpacks it with ``unpackTrack`` of timeline_data.js.
        """
        at = {word: place for place, word in enumerate(words)}
        gaps, lengths, whats, last = [], [], [], 0
        for span in self.spans:
            if span.what not in at:
                at[span.what] = len(words)
                words.append(span.what)
            gaps.append(span.begin - last)
            lengths.append(span.end - span.begin)
            whats.append(at[span.what])
            last = span.end
        return {
            "group": self.group,
            "name": self.name,
            "kind": self.kind,
            "unit": self.unit,
            "count": len(self.spans),
            "gap": column(gaps),
            "length": column(lengths),
            "what": column(whats),
            "tile": column([span.k_tile for span in self.spans]),
            "step": column([span.k_group for span in self.spans]),
            "stage": column([span.stage for span in self.spans]),
        }


def column(values: list[int]) -> PackedColumn:
    """Return integers as a column: a single integer if all are equal."""
    return values[0] if values and values.count(values[0]) == len(values) else values


def run_tracks(
    timeline: Timeline, rows: Sequence[PipelineRow], measured: Sequence[PipelineRow] = (), most: int = MOST_STALL_SPANS
) -> list[Track]:
    """
    Return the tracks of a run: measured ones, the operations of warp 0 on each k tile, and the stalls of each warp.

    Args:
        timeline: Timeline of the run.
        rows: Pipeline rows of the run.
        measured: Pipeline rows that a GPU recorded, of the same CTA.
        most: Most spans of warps that are shown one by one.
    """
    tracks = []
    if measured:
        tracks += _ring("measured on a GPU", from_rows(measured), measured=True)
    tracks += _operations(timeline, rows)
    return tracks + list(_warps(timeline.warps, joined=len(timeline.warps) > most))


def _operations(timeline: Timeline, rows: Sequence[PipelineRow]) -> list[Track]:
    """Return the tracks of warp 0: of its key blocks, or of its k tiles and the shared-memory ring."""
    own = [span for span in timeline.k_tiles if span.warp == 0]
    if any(span.activity in KEY_BLOCK_ACTIVITIES for span in own):
        return list(_key_blocks(own))
    return _ring("simulated, warp 0", from_timeline(timeline, rows)) if rows else []


def _key_blocks(own: Sequence[KTileSpan]) -> Iterable[Track]:
    for name, activities in _KEY_BLOCK_TRACKS.items():
        spans = [
            TrackSpan(span.begin, span.end, span.activity, span.k_tile) for span in own if span.activity in activities
        ]
        yield from _apart("simulated, warp 0", name, spans, "key block")


def _ring(group: str, pipeline: WarpPipeline, *, measured: bool = False) -> list[Track]:
    """Return a track for each slot of the ring, and tracks of waits, fragment loads and MMAs."""
    tracks: list[Track] = []
    for stage in sorted({fill.stage for fill in pipeline.fills}):
        spans = []
        for fill in pipeline.fills:
            if fill.stage != stage:
                continue
            landed = fill.wait_end if fill.landed is None else fill.landed
            where = (fill.k_tile, NOWHERE, stage)
            if measured:
                spans.append(TrackSpan(fill.issue, landed, "copy (landing not seen)", *where))
                continue
            spans.append(TrackSpan(fill.issue, landed, "copy", *where))
            spans.append(TrackSpan(landed, fill.read_begin, "landed", *where))
            spans.append(TrackSpan(fill.read_begin, fill.read_end, "read", *where))
        tracks += _apart(group, f"stage {stage}", spans)
    parts = (
        ("waits", "wait", pipeline.waits),
        ("fragment loads", "ldmatrix", pipeline.loads),
        ("MMA", "mma (issue)" if measured else "mma", pipeline.mma),
    )
    for name, what, blocks in parts:
        spans = [TrackSpan(one.begin, one.end, what, one.k_tile, one.k_group, one.stage) for one in blocks]
        tracks += _apart(group, name, spans)
    return tracks


def _warps(spans: Sequence[WarpSpan], *, joined: bool) -> Iterable[Track]:
    """Yield a track of stall reasons for each warp."""
    warps: dict[int, list[WarpSpan]] = {}
    for span in spans:
        warps.setdefault(span.warp, []).append(span)
    for warp, own in sorted(warps.items()):
        own.sort(key=lambda span: span.begin)
        shown = _joined(own) if joined else [TrackSpan(span.begin, span.end, span.reason) for span in own]
        note = " (selected and wait are joined)" if joined else ""
        yield Track(f"stalls of each warp{note}", f"warp {warp}, SMSP {own[0].smsp}", "stall", shown)


def _joined(spans: Sequence[WarpSpan]) -> list[TrackSpan]:
    """Return a warp's spans with cycles ``selected`` and ``wait`` joined."""
    places = {reason: place for place, reason in enumerate(dict.fromkeys((*_ISSUED, *(one.reason for one in spans))))}
    words = list(places)
    return [
        TrackSpan(piece.begin, piece.end, ISSUING if piece.reason < 0 else words[piece.reason])
        for piece in stall_slices((span.begin, span.end, places[span.reason]) for span in spans)
    ]


def _apart(group: str, name: str, spans: Iterable[TrackSpan], unit: str = "k tile") -> list[Track]:
    """Return the fewest tracks in which no spans overlap; none without spans."""
    rows: list[list[TrackSpan]] = []
    for span in sorted(span for span in spans if span.end > span.begin):
        row = next((row for row in rows if row[-1].end <= span.begin), None)
        if row is None:
            rows.append([span])
        else:
            row.append(span)
    return [
        Track(group, name if not number else f"{name}, overlapping", "operation", row, unit)
        for number, row in enumerate(rows)
    ]
