"""Writes the Kanata log of a run for the Konata viewer: a line for each warp instruction, its stalls as stages."""

from bisect import bisect_left
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from gpusim.report.captions import footer
from gpusim.report.span_lanes import CONSUMED_BY, activity_rank, consumer_of
from gpusim.results.program import SELECTED, WarpProgram
from gpusim.results.result import Result
from gpusim.results.timeline import KTileSpan, Timeline, WarpSpan

VERSION = "0004"

KANATA_STAGES = {
    "selected": "Is",
    "wait": "Wa",
    "short_scoreboard": "Ss",
    "long_scoreboard": "Ls",
    "barrier": "Ba",
    "math_pipe_throttle": "Mp",
    "mio_throttle": "Mi",
    "lg_throttle": "Lg",
    "not_selected": "Ns",
    "branch_resolving": "Br",
    "no_instruction": "Ni",
    "imc_miss": "Im",
    "drain": "Dr",
    "dispatch_stall": "Di",
    "membar": "Mb",
    "gmma": "Gm",
    "sleeping": "Sl",
}
"""Konata stage of each stall reason of an instruction; in ``Is`` it issues."""

IN_FLIGHT = "Fl"
"""Stage from the issue of a copy, fragment load or MMA to the last result of its activity."""

MOST_LOGGED = 250_000
"""Most instructions of a log, some 100 MB. The log of a longer run ends there, and its first line says so."""

LEGEND = (
    "; ".join(f"{stage} {reason}" for reason, stage in KANATA_STAGES.items())
    + f"; {IN_FLIGHT} in flight until the last result of its k tile's activity"
)

_ENDS, _BEGINS, _LABELS, _STARTS, _WAKES, _RETIRES = range(6)


class Flight(NamedTuple):
    """
    An activity of a k tile of one warp, while its log is written.

    Attributes:
        end: One past its last cycle.
        activity, k_tile: The activity and its k tile.
    """

    end: int
    activity: str
    k_tile: int


@dataclass(frozen=True, slots=True)
class _Logged:
    """
    One instruction of a log.

    Attributes:
        warp, number: The warp, and the instruction's place in its program.
        stalls: (begin, end, stage) of its stalls, without gaps, and last of its issue.
        flight: The activity that it is part of; None if none is known.
        program: The warp's program; None if it is not known.
    """

    warp: int
    number: int
    stalls: tuple[tuple[int, int, str], ...]
    flight: Flight | None
    program: WarpProgram | None

    @property
    def begin(self) -> int:
        """Cycle from which it is the warp's next instruction."""
        return self.stalls[0][0]

    @property
    def end(self) -> int:
        """One past its last cycle."""
        issued = self.stalls[-1][1]
        return issued if self.flight is None else max(issued, self.flight.end)


def write_kanata(result: Result, timeline: Timeline, path: Path, program: WarpProgram | None = None) -> Path:
    """Write ``kanata_log`` to ``path``, and return the path."""
    with path.open("w", encoding="utf-8") as file:
        file.writelines(f"{line}\n" for line in kanata_log(result, timeline, program))
    return path


def kanata_log(result: Result, timeline: Timeline, program: WarpProgram | None = None) -> Iterator[str]:
    """
    Yield the lines of the log, in SM cycles.

    An instruction in Konata is one warp instruction, and its thread is the warp. Its stages in lane 0 are its stall
    reasons since the warp's previous issue (``KANATA_STAGES``), then its issue, and for a copy, a fragment load or an
    MMA the time until the last result of its activity. An arrow leads from the last copy of a wait to the instruction
    that ends the wait. Instruction 0 spans the run; its label explains the stages.

    Args:
        result: Result of the run.
        timeline: Timeline of the run.
        program: Instructions of the warps. Without them, instructions have no names, flights and arrows.

    Source: Konata ``docs/kanata-log-format.md``, version 0004.
    """
    logged = sorted(_instructions(timeline, program), key=lambda one: (one.begin, one.warp, one.number))
    cut = len(logged) > MOST_LOGGED
    logged = logged[:MOST_LOGGED]
    yield f"Kanata\t{VERSION}"
    begin = min((one.begin for one in logged), default=0)
    yield f"C=\t{begin}"
    if not logged:
        return
    # (cycle, order within the cycle, line): a line begins before its stages, and a stage ends before the next.
    events = [(begin, _BEGINS, "I\t0\t0\t0")]
    note = f"{footer(result)}" + (f"; only the first {MOST_LOGGED} instructions" if cut else "")
    events += [(begin, _LABELS, f"L\t0\t{kind}\t{text}") for kind, text in ((0, f"gpusim   ·   {note}"), (1, LEGEND))]
    events.append((begin, _STARTS, "S\t0\t0\tRun"))
    end = max(one.end for one in logged)
    order = sorted(range(len(logged)), key=lambda number: (logged[number].end, number))
    retired = {number: place for place, number in enumerate(order)}
    producers: dict[tuple[int, str, int], int] = {}
    for number, one in enumerate(logged, start=1):
        events += _lines(number, one, retired[number - 1])
        if one.flight is None:
            continue
        key = (one.warp, CONSUMED_BY.get(one.flight.activity, ""), one.flight.k_tile)
        if key[1]:
            producers[key] = number
    events += _arrows(timeline.k_tiles, logged, producers)
    events.append((end, _ENDS, "E\t0\t0\tRun"))
    events.append((end, _RETIRES, f"R\t0\t{len(logged)}\t0"))
    now = begin
    for cycle, _, line in sorted(events, key=lambda event: event[:2]):
        if cycle > now:
            yield f"C\t{cycle - now}"
            now = cycle
        yield line


def _lines(number: int, one: _Logged, retired: int) -> Iterator[tuple[int, int, str]]:
    """Yield the events of one instruction."""
    yield one.begin, _BEGINS, f"I\t{number}\t{one.number}\t{one.warp}"
    label, details = _text(one)
    yield one.begin, _LABELS, f"L\t{number}\t0\t{label}"
    yield one.begin, _LABELS, f"L\t{number}\t1\t{details}"
    stages = list(one.stalls)
    if one.end > stages[-1][1]:
        stages.append((stages[-1][1], one.end, IN_FLIGHT))
    for begin, end, stage in stages:
        if begin == end:
            continue
        yield begin, _STARTS, f"S\t{number}\t0\t{stage}"
        yield end, _ENDS, f"E\t{number}\t0\t{stage}"
    yield one.end, _RETIRES, f"R\t{number}\t{retired}\t0"


def _text(one: _Logged) -> tuple[str, str]:
    """Return the label of an instruction, and the text that Konata shows when the mouse is over it."""
    stalls = ", ".join(f"{stage} {begin}..{end}" for begin, end, stage in one.stalls)
    program = one.program
    if program is None:
        return f"warp {one.warp} #{one.number}", stalls
    operation = program.operations[program.operation[one.number]]
    words = [f"warp {one.warp} #{one.number}", program.opcodes[program.opcode[one.number]]]
    if operation:
        words.append(operation)
    if program.k_tile[one.number] >= 0:
        words.append(f"k tile {program.k_tile[one.number]}")
    stage = program.stage[one.number]
    return " ".join(words), stalls + (f"; stage {stage} of the ring" if stage >= 0 else "")


def _instructions(timeline: Timeline, program: WarpProgram | None) -> Iterator[_Logged]:
    """Yield every instruction that a warp issued, warp by warp."""
    warps: dict[int, list[WarpSpan]] = {}
    for span in timeline.warps:
        warps.setdefault(span.warp, []).append(span)
    for warp, spans in warps.items():
        issued = sum(span.end - span.begin for span in spans if span.reason == SELECTED)
        known = program if program is not None and len(program) == issued else None
        flights = _Flights(timeline.k_tiles, warp)
        number = 0
        held: list[tuple[int, int, str]] = []
        for span in spans:
            if span.reason != SELECTED:
                held.append((span.begin, span.end, KANATA_STAGES.get(span.reason, span.reason)))
                continue
            for cycle in range(span.begin, span.end):
                flight = None if known is None else flights.at(known, number, cycle)
                yield _Logged(warp, number, (*held, (cycle, cycle + 1, KANATA_STAGES[SELECTED])), flight, known)
                held = []
                number += 1


class _Flights:
    """The activities of one warp, found by instruction."""

    def __init__(self, spans: Iterable[KTileSpan], warp: int) -> None:
        self._found: dict[tuple[str, int], list[KTileSpan]] = {}
        for span in spans:
            activity_rank(span.activity)
            if span.warp == warp:
                self._found.setdefault((span.activity, span.k_tile), []).append(span)

    def at(self, program: WarpProgram, number: int, cycle: int) -> Flight | None:
        """Return the activity of an instruction that issued at a cycle; None if it has none."""
        activity, k_tile = program.activities[program.activity[number]], int(program.k_tile[number])
        for span in self._found.get((activity, k_tile), ()) if k_tile >= 0 else ():
            if span.begin <= cycle < span.end:
                return Flight(span.end, activity, k_tile)
        return None


def _arrows(
    spans: Iterable[KTileSpan], logged: list[_Logged], producers: dict[tuple[int, str, int], int]
) -> Iterator[tuple[int, int, str]]:
    """Yield an arrow from the last copy of each k tile to the instruction during whose stalls its wait ends."""
    issued: dict[int, tuple[list[int], list[int]]] = {}
    for number, one in enumerate(logged, start=1):
        cycles, numbers = issued.setdefault(one.warp, ([], []))
        cycles.append(one.stalls[-1][0])
        numbers.append(number)
    waits: dict[tuple[int, str, int], list[KTileSpan]] = {}
    for span in spans:
        waits.setdefault((span.warp, span.activity, span.k_tile), []).append(span)
    for key, producer in producers.items():
        copy = logged[producer - 1]
        wait = consumer_of(waits.get(key, ()), copy.stalls[-1][0], copy.flight.end) if copy.flight else None
        cycles, numbers = issued[copy.warp]
        place = bisect_left(cycles, wait.end - 1) if wait else len(cycles)
        if place < len(cycles):
            yield cycles[place], _WAKES, f"W\t{numbers[place]}\t{producer}\t0"
