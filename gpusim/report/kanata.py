"""Writes the Kanata log of a run for the Konata viewer: a line for each warp and k tile, with activities as stages."""

from collections.abc import Sequence
from pathlib import Path

from gpusim.report.captions import footer
from gpusim.report.lanes import ACTIVITIES, KEY_BLOCK_ACTIVITIES
from gpusim.results.result import Result
from gpusim.results.timeline import KTileSpan, Timeline

VERSION = "0004"
KANATA_STAGES = {"copy": "C", "wait": "W", "ldmatrix": "L", "mma": "M"} | {
    activity: activity.replace("copy_", "C").replace("wait_", "W") for activity in KEY_BLOCK_ACTIVITIES
}
"""Name of each activity's stage in the log."""


def write_kanata(result: Result, timeline: Timeline, path: Path) -> Path:
    """Write ``kanata_log`` to ``path``, and return the path."""
    path.write_text(kanata_log(result, timeline), encoding="utf-8")
    return path


def kanata_log(result: Result, timeline: Timeline) -> str:
    """
    Return the log as text, in SM cycles.

    An instruction in Konata is here one k tile (for attention, one key block) of one warp, from its first copy to its
    last MMA. They are numbered in the order in which they begin, and the warp is the thread. Activities overlap, so
    each has a lane of its own (C copy, W wait, L fragment loads, M MMA). An activity of several k groups is one stage
    from the first to the last.

    Source: Konata ``docs/kanata-log-format.md``, version 0004.
    """
    lines = _lines(timeline.k_tiles)
    # (cycle, order within the cycle, line): ends come before begins, and a line begins before its stages.
    events: list[tuple[int, int, str]] = []
    retired = sorted(range(len(lines)), key=lambda number: (max(end for _, end in lines[number][1].values()), number))
    retire_order = {number: place for place, number in enumerate(retired)}
    for number, ((cta, warp, k_tile, stage), activities) in enumerate(lines):
        begin = min(first for first, _ in activities.values())
        end = max(last for _, last in activities.values())
        events.append((begin, 2, f"I\t{number}\t{k_tile}\t{warp}"))
        what = f"k tile {k_tile} (stage {stage})"
        if not activities.keys().isdisjoint(KEY_BLOCK_ACTIVITIES):
            what = f"key block {k_tile}"
        events.append((begin, 3, f"L\t{number}\t0\tCTA {cta} warp {warp} {what}"))
        note = ", ".join(f"{name} {first}..{last}" for name, (first, last) in activities.items())
        note += "" if number else f"; {footer(result)}"
        events.append((begin, 3, f"L\t{number}\t1\t{note}"))
        for lane, name in enumerate(ACTIVITIES):
            if name in activities:
                first, last = activities[name]
                events.append((first, 4, f"S\t{number}\t{lane}\t{KANATA_STAGES[name]}"))
                events.append((last, 0 if last > first else 5, f"E\t{number}\t{lane}\t{KANATA_STAGES[name]}"))
        events.append((end, 6, f"R\t{number}\t{retire_order[number]}\t0"))
    events.sort(key=lambda event: event[:2])
    now = events[0][0] if events else 0
    text = [f"Kanata\t{VERSION}", f"C=\t{now}"]
    for cycle, _, line in events:
        if cycle > now:
            text.append(f"C\t{cycle - now}")
            now = cycle
        text.append(line)
    return "\n".join(text) + "\n"


def _lines(
    spans: Sequence[KTileSpan],
) -> list[tuple[tuple[int, int, int, int], dict[str, tuple[int, int]]]]:
    """Return each (CTA, warp, k tile, stage), earliest first, with its activities in the order of ``ACTIVITIES``."""
    found: dict[tuple[int, int, int, int], dict[str, tuple[int, int]]] = {}
    for span in sorted(spans, key=lambda span: ACTIVITIES.index(span.activity)):
        activities = found.setdefault((span.cta, span.warp, span.k_tile, span.stage), {})
        begin, end = activities.get(span.activity, (span.begin, span.end))
        activities[span.activity] = (min(begin, span.begin), max(end, span.end))
    return sorted(found.items(), key=lambda line: (min(begin for begin, _ in line[1].values()), line[0]))
