"""Writes the Perfetto trace of a run: a process per CTA and a thread per warp, with stalls and k tiles as slices."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, repeat
from operator import itemgetter
from pathlib import Path
from typing import NamedTuple

import numpy as np

from gpusim.arrays import IntArray
from gpusim.errors import BadInput
from gpusim.report.captions import Words, machine_name, scenario_digest
from gpusim.report.kanata import KANATA_STAGES
from gpusim.report.span_lanes import (
    ACTIVITIES,
    CONSUMED_BY,
    ISSUING,
    Slice,
    activity_rank,
    consumer_of,
    k_tile_slice,
    lanes,
    open_counts,
    stall_slices,
)
from gpusim.report.trace_packets import Texts, TracePackets
from gpusim.results.program import WarpProgram
from gpusim.results.result import Result
from gpusim.results.timeline import KTileSpan, Timeline, WarpSpan

CLOCK = "1 ns = 1 cycle"
"""Time unit that every trace states. Perfetto counts nanoseconds, gpusim counts cycles."""

MOST_SPANS = 250_000
"""
Most stall spans that are drawn one by one, some 20 MB. In a larger trace ``selected`` and ``wait`` between two stalls
are one slice, and its annotations have the cycles of each.
"""

WINDOW = 128
"""Cycles over which mma.sync are counted."""

_PIDS_PER_CTA = 1000

_QUEUES = {"mio_throttle": "MIO queue", "lg_throttle": "LG queue", "math_pipe_throttle": "math pipe"}
"""The full queue that causes each throttle."""


def write_perfetto(
    result: Result, words: Words, timeline: Timeline, path: Path, program: WarpProgram | None = None
) -> Path:
    """Write ``perfetto_trace`` to ``path``, which can be opened at ui.perfetto.dev, and return the path."""
    path.write_bytes(perfetto_trace(result, words, timeline, program))
    return path


def perfetto_trace(result: Result, words: Words, timeline: Timeline, program: WarpProgram | None = None) -> bytes:
    """
    Return the trace as a serialised ``perfetto.protos.Trace``. Equal inputs give equal bytes.

    Each CTA is a process, and each of its warps a thread. The slices of a thread cover the warp's lifetime, under the
    names of the stall table; their times add up to the table's. Below a thread are tracks for the copies into each
    ring slot, the waits, the fragment loads and the MMAs. An arrow leads from the copies of a k tile to the wait for
    them. Overlapping spans of one kind get several tracks of the same name, which the viewer merges. Counters show
    k tiles, bytes and MMAs in flight, the warps at each full queue, and the mma.sync issued. One cycle is one
    nanosecond.

    Args:
        result: Result of the run.
        words: Description of the scenario.
        timeline: Timeline of the run.
        program: Instructions of the warps. Without them, the trace has no instructions, bytes and mma.sync.

    Source: perfetto ``protos/perfetto/trace/track_event``.
    """
    trace = TracePackets()
    warps, k_tiles = _lives(timeline.warps), list(timeline.k_tiles)
    end = max((*(int(life.end[-1]) for life in warps.values()), *(span.end for span in k_tiles)), default=0)
    about = trace.track(name=f"gpusim, {CLOCK}")
    facts = {
        "time": CLOCK,
        "scenario": scenario_digest(result),
        "problem": words.problem,
        "kernel": words.kernel,
        "machine": machine_name(result),
        "stream": result.stream,
        "commit": str(result.provenance.get("commit") or "unknown"),
    }
    trace.slice(about, 0, end, f"scenario {facts['scenario']} on {facts['machine']}", facts)
    for cta in sorted({cta for cta, _ in warps} | {span.cta for span in k_tiles}):
        own = {warp: life for (of, warp), life in warps.items() if of == cta}
        _Cta(trace, cta, own, [span for span in k_tiles if span.cta == cta], program).add()
    return trace.serialised()


class _Life(NamedTuple):
    """
    The spans of one warp, in order. Each array has one entry per span.

    Attributes:
        smsp: Sub-partition of the warp.
        begin, end: First cycle, and one past the last.
        reason: Index into ``_REASONS``.
    """

    smsp: int
    begin: IntArray
    end: IntArray
    reason: IntArray

    @property
    def issued(self) -> int:
        """Number of instructions that the warp issues."""
        own = self.reason == 0
        return int((self.end[own] - self.begin[own]).sum())

    def of(self, reason: str) -> Iterator[tuple[int, int, int]]:
        """Yield (begin, end, 1) of each span of a reason."""
        own = self.reason == _REASONS.index(reason)
        yield from zip(self.begin[own].tolist(), self.end[own].tolist(), repeat(1))


_REASONS = tuple(KANATA_STAGES)
"""Names of the stall reasons; the first is that of an issue."""


def _lives(spans: Sequence[WarpSpan]) -> dict[tuple[int, int], _Life]:
    """
    Return the spans of each (CTA, warp).

    Raises:
        BadInput: A span has no known reason: the timeline is damaged.
    """
    numbers = {reason: number for number, reason in enumerate(_REASONS)}
    rows: dict[tuple[int, int], list[tuple[int, int, int, int]]] = {}
    for span in spans:
        if span.reason not in numbers:
            raise BadInput(f"damaged timeline: a reason must be one of {', '.join(_REASONS)}, got {span.reason!r:.40}")
        rows.setdefault((span.cta, span.warp), []).append((span.smsp, span.begin, span.end, numbers[span.reason]))
    columns = {key: np.array(sorted(row, key=itemgetter(1)), dtype=np.int64).T for key, row in rows.items()}
    return {key: _Life(int(smsp[0]), *others) for key, (smsp, *others) in columns.items()}


class _Cta:
    """Adds one CTA to a trace."""

    def __init__(
        self,
        trace: TracePackets,
        cta: int,
        lives: Mapping[int, _Life],
        k_tiles: Sequence[KTileSpan],
        program: WarpProgram | None,
    ) -> None:
        self._trace, self._cta, self._k_tiles, self._program, self._lives = trace, cta, k_tiles, program, lives
        self._whole = sum(len(life.begin) for life in lives.values()) <= MOST_SPANS
        self._flows = _flows(k_tiles)

    def add(self) -> None:
        pid = (self._cta + 1) * _PIDS_PER_CTA
        process = self._trace.track(process={"pid": pid, "process_name": f"CTA {self._cta} ({CLOCK})"})
        for name, steps in self._counters():
            self._trace.counter(process, name, steps)
        for warp in sorted(self._lives.keys() | {span.warp for span in self._k_tiles}):
            life = self._lives.get(warp)
            name = f"warp {warp}" + (f" (SMSP {life.smsp})" if life else "")
            thread = self._trace.track(
                thread={"pid": pid, "tid": pid + 1 + warp, "thread_name": name},
                parent=process,
                child_ordering="EXPLICIT",
            )
            if life is not None:
                self._add_stalls(thread, life)
            self._add_activities(thread, [span for span in self._k_tiles if span.warp == warp])

    def _counters(self) -> Iterator[tuple[str, Sequence[tuple[int, int]]]]:
        copies = [span for span in self._k_tiles if span.activity in CONSUMED_BY]
        yield (
            "k tiles in flight (warp 0)",
            open_counts((span.begin, span.end, 1) for span in copies if span.warp == 0),
        )
        bursts = (span for span in self._k_tiles if span.activity in {"mma", "qk", "pv"})
        yield "MMA in flight (k groups, all warps)", open_counts((span.begin, span.end, 1) for span in bursts)
        if self._program is not None:
            sizes = {
                key: self._program.copied(*key)
                for key in dict.fromkeys((span.activity, span.k_tile) for span in copies)
            }
            flights = ((span.begin, span.end, sizes[span.activity, span.k_tile]) for span in copies)
            yield "bytes in flight to shared memory (at most, all warps)", open_counts(flights)
            yield f"mma.sync issued in {WINDOW} cycles (all warps)", self._mmas(self._program)
        for reason, queue in _QUEUES.items():
            waiting = chain.from_iterable(life.of(reason) for life in self._lives.values())
            yield f"warps at a full {queue} ({reason})", open_counts(waiting)

    def _mmas(self, program: WarpProgram) -> list[tuple[int, int]]:
        """Return the mma.sync of all warps in each window of cycles that has any, and 0 after the last window."""
        fitting = [life for life in self._lives.values() if life.issued == len(program) > 0]
        issued = [_single_issues(life) for life in fitting]
        issued = [begin[reason == 0][program.tensor == 1] for begin, _, reason in issued]
        counts = np.bincount(np.concatenate(issued) // WINDOW) if any(map(len, issued)) else np.zeros(0, dtype=np.int64)
        steps = [(number * WINDOW, count) for number, count in enumerate([*counts.tolist(), 0])]
        return [step for step, (_, before) in zip(steps, [(0, 0), *steps], strict=False) if step[1] != before]

    def _add_stalls(self, thread: int, life: _Life) -> None:
        if not self._whole:
            for piece in stall_slices(zip(life.begin.tolist(), life.end.tolist(), life.reason.tolist(), strict=True)):
                merged = piece.reason < 0
                name = ISSUING if merged else _REASONS[piece.reason]
                cycles = {f"{_REASONS[reason]} cycles": piece.cycles[reason] for reason in (0, 1)} if merged else {}
                self._trace.slice(thread, piece.begin, piece.end, name, cycles)
            return
        begin, end, reason = _single_issues(life)
        notes: dict[str, Texts] = {}
        if self._program is not None and life.issued == len(self._program) > 0:
            # A stall belongs to the instruction that issues next; behind the last instruction it belongs to none.
            selected = (reason == 0).astype(np.int64)
            notes = _notes(self._program, np.minimum(np.cumsum(selected) - selected, len(self._program) - 1))
        self._trace.slices(thread, begin, end, Texts(_REASONS, reason), notes)

    def _add_activities(self, thread: int, spans: Sequence[KTileSpan]) -> None:
        """Add a track for each activity (for copies, one for each slot), in the order of a k tile."""
        named: dict[tuple[int, int], dict[Slice, KTileSpan]] = {}
        for span in spans:
            slot = span.stage if span.activity == "copy" else -1
            named.setdefault((activity_rank(span.activity), slot), {})[k_tile_slice(span)] = span
        for rank, (activity, slot) in enumerate(sorted(named)):
            name = ACTIVITIES[activity] + (f" into stage {slot}" if slot >= 0 else "")
            for lane in lanes(named[activity, slot]):
                track = self._trace.track(name=name, parent=thread, sibling_order_rank=rank)
                for piece in lane:
                    self._add_activity(track, piece, named[activity, slot][piece])

    def _add_activity(self, track: int, piece: Slice, span: KTileSpan) -> None:
        notes: dict[str, str | int] = {"operation": span.activity, "k tile": span.k_tile, "stage": span.stage}
        if span.k_group >= 0:
            notes["k group"] = span.k_group
        if self._program is not None and span.activity in CONSUMED_BY:
            notes["bytes (at most)"] = self._program.copied(span.activity, span.k_tile)
        starts, ends = self._flows.get(span, ((), ()))
        self._trace.slice(track, piece.begin, piece.end, piece.name, notes, starts=starts, ends=ends)


def _flows(spans: Sequence[KTileSpan]) -> dict[KTileSpan, tuple[list[int], list[int]]]:
    """
    Return (ids of flows that start, ids of flows that end) of each copy and of the wait for it.

    A wait is for the copies of its k tile that the same warp has issued before the wait ends.
    """
    waits: dict[tuple[int, int, int, str], list[KTileSpan]] = {}
    for span in spans:
        waits.setdefault((span.cta, span.warp, span.k_tile, span.activity), []).append(span)
    found: dict[KTileSpan, tuple[list[int], list[int]]] = {}
    number = 0
    for span in spans:
        wait = CONSUMED_BY.get(span.activity, "")
        consumer = consumer_of(waits.get((span.cta, span.warp, span.k_tile, wait), ()), span.begin, span.end)
        if consumer is not None:
            number += 1
            identity = span.cta << 32 | number
            found.setdefault(span, ([], []))[0].append(identity)
            found.setdefault(consumer, ([], []))[1].append(identity)
    return found


def _single_issues(life: _Life) -> tuple[IntArray, IntArray, IntArray]:
    """Return begin, end and reason of each span; a span of several issues is divided."""
    pieces = np.where(life.reason == 0, life.end - life.begin, 1)
    begin, end, reason = (column.repeat(pieces) for column in (life.begin, life.end, life.reason))
    place = np.arange(len(begin)) - (np.cumsum(pieces) - pieces).repeat(pieces)
    begin = begin + np.where(reason == 0, place, 0)
    return begin, np.where(reason == 0, begin + 1, end), reason


def _notes(program: WarpProgram, instruction: IntArray) -> dict[str, Texts]:
    """Return the annotations of slices, from the instruction that issues or stalls in each."""
    most = int(max(program.k_tile.max(), program.stage.max()))
    numbers = ["", *map(str, range(most + 1))]
    return {
        "instruction": Texts(program.opcodes, program.opcode[instruction]),
        "operation": Texts(program.operations, program.operation[instruction]),
        "k tile": Texts(numbers, program.k_tile[instruction] + 1),
        "stage": Texts(numbers, program.stage[instruction] + 1),
    }
