"""Writes the Perfetto trace of a run: a process per CTA and a thread per warp, with stalls and k tiles as slices."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from gpusim.report.captions import Words, machine_name, scenario_digest
from gpusim.report.lanes import ACTIVITIES, Slice, k_tile_slice, lanes, open_counts, stall_slices
from gpusim.results.result import Result
from gpusim.results.timeline import KTileSpan, Timeline

CLOCK = "1 ns = 1 cycle"
"""Time unit that every trace states. Perfetto counts nanoseconds, gpusim counts cycles."""

_SEQUENCE = 1
_PIDS_PER_CTA = 1000


def write_perfetto(result: Result, words: Words, timeline: Timeline, path: Path) -> Path:
    """Write ``perfetto_trace`` to ``path``, which can be opened at ui.perfetto.dev, and return the path."""
    path.write_bytes(perfetto_trace(result, words, timeline))
    return path


def perfetto_trace(result: Result, words: Words, timeline: Timeline) -> bytes:
    """
    Return the trace as a serialised ``perfetto.protos.Trace``. Equal inputs give equal bytes.

    Each CTA is a process, and each of its warps a thread with its stalls, which cover its lifetime. Below a thread are
    tracks for the copies into each stage slot, the waits, the fragment loads and the MMAs. Overlapping spans of one
    kind get several tracks of the same name, which the viewer merges. Two counters have the k tiles whose copies are in
    flight for warp 0, and the k groups whose MMAs are in flight. One cycle is one nanosecond.

    Source: perfetto ``protos/perfetto/trace/track_event``.
    """
    trace = _Trace()
    end = max((*(span.end for span in timeline.warps), *(span.end for span in timeline.k_tiles)), default=0)
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
    trace.slices(about, [Slice(0, end, f"scenario {facts['scenario']} on {facts['machine']}")], facts)
    for cta in sorted({span.cta for span in timeline.warps} | {span.cta for span in timeline.k_tiles}):
        _add_cta(trace, timeline, cta)
    return trace.serialised()


def _add_cta(trace: "_Trace", timeline: Timeline, cta: int) -> None:
    pid = (cta + 1) * _PIDS_PER_CTA
    process = trace.track(process={"pid": pid, "process_name": f"CTA {cta} ({CLOCK})"})
    k_tiles = [span for span in timeline.k_tiles if span.cta == cta]
    warps = [span for span in timeline.warps if span.cta == cta]
    copies = [span for span in k_tiles if span.activity == "copy" and span.warp == 0]
    trace.counter(process, "k tiles in flight (warp 0)", open_counts(copies))
    bursts = [span for span in k_tiles if span.activity == "mma"]
    trace.counter(process, "MMA in flight (k groups, all warps)", open_counts(bursts))
    smsps = {span.warp: span.smsp for span in warps}
    for warp in sorted(smsps.keys() | {span.warp for span in k_tiles}):
        name = f"warp {warp}" + (f" (SMSP {smsps[warp]})" if warp in smsps else "")
        thread = trace.track(
            thread={"pid": pid, "tid": pid + 1 + warp, "thread_name": name}, parent=process, child_ordering="EXPLICIT"
        )
        trace.slices(thread, stall_slices(span for span in warps if span.warp == warp))
        _add_activities(trace, thread, [span for span in k_tiles if span.warp == warp])


def _add_activities(trace: "_Trace", thread: int, spans: Sequence[KTileSpan]) -> None:
    """Add a track for each activity (for copies, one for each stage slot), in the order a k tile goes through them."""
    named: dict[tuple[int, int], list[Slice]] = {}
    for span in spans:
        slot = span.stage if span.activity == "copy" else -1
        named.setdefault((ACTIVITIES.index(span.activity), slot), []).append(k_tile_slice(span))
    for rank, (activity, slot) in enumerate(sorted(named)):
        name = ACTIVITIES[activity] + (f" into stage {slot}" if slot >= 0 else "")
        for lane in lanes(named[activity, slot]):
            trace.slices(trace.track(name=name, parent=thread, sibling_order_rank=rank), lane)


class _Trace:
    """Builds a trace: assigns track ids in order, and appends packets."""

    def __init__(self) -> None:
        # Imported here: only a command that writes a trace pays for it.
        from perfetto.protos.perfetto.trace import (  # type: ignore[import-untyped]  # noqa: PLC0415
            perfetto_trace_pb2 as proto,
        )

        self._event: Any = proto.TrackEvent
        self._trace: Any = proto.Trace()
        self._tracks = 0

    def track(self, parent: int | None = None, **descriptor: Any) -> int:
        """Add a track, and return its id."""
        self._tracks += 1
        if parent is not None:
            descriptor["parent_uuid"] = parent
        packet = self._packet()
        packet.track_descriptor.CopyFrom(type(packet.track_descriptor)(uuid=self._tracks, **descriptor))
        return self._tracks

    def slices(self, track: int, slices: Iterable[Slice], notes: dict[str, str] | None = None) -> None:
        """Add slices to a track, in order. ``notes`` become annotations of each slice."""
        begin, end = self._event.TYPE_SLICE_BEGIN, self._event.TYPE_SLICE_END
        for piece in slices:
            packet = self._packet()
            packet.timestamp = piece.begin
            event = packet.track_event
            event.type, event.track_uuid, event.name = begin, track, piece.name
            for key, value in (notes or {}).items():
                event.debug_annotations.add(name=key, string_value=value)
            packet = self._packet()
            packet.timestamp = piece.end
            event = packet.track_event
            event.type, event.track_uuid = end, track

    def counter(self, process: int, name: str, steps: Iterable[tuple[int, int]]) -> None:
        """Add a counter track to a process, with its value at each step (cycle, value)."""
        track = self.track(name=name, parent=process, counter={})
        for cycle, value in steps:
            packet = self._packet()
            packet.timestamp = cycle
            event = packet.track_event
            event.type, event.track_uuid, event.counter_value = self._event.TYPE_COUNTER, track, value

    def serialised(self) -> bytes:
        """Return the trace as bytes."""
        written: bytes = self._trace.SerializeToString(deterministic=True)
        return written

    def _packet(self) -> Any:
        packet = self._trace.packet.add()
        packet.trusted_packet_sequence_id = _SEQUENCE
        return packet
