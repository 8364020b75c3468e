"""Perfetto traces, read back: every slice closed, none overlapping, every span there."""

import time
from collections import Counter
from itertools import pairwise

import pytest
from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as proto

from gpusim.report.captions import Words
from gpusim.report.kanata import kanata_log
from gpusim.report.lanes import ISSUING, stall_slices
from gpusim.report.perfetto import CLOCK, perfetto_trace, write_perfetto
from gpusim.results.timeline import Timeline

EVENT = proto.TrackEvent
WORDS = Words("a problem", "its kernel")


@pytest.fixture
def packets(run, tmp_path):
    path = write_perfetto(run.result, WORDS, run.timeline, tmp_path / "trace.pftrace")
    return proto.Trace.FromString(path.read_bytes()).packet


def slices_by_track(packets):
    """Track -> its (begin, end, name), checking that each begin is followed by its end."""
    found, open_slices = {}, {}
    for packet in packets:
        event = packet.track_event
        if event.type == EVENT.TYPE_SLICE_BEGIN:
            assert event.track_uuid not in open_slices
            open_slices[event.track_uuid] = (packet.timestamp, event.name)
        elif event.type == EVENT.TYPE_SLICE_END:
            begin, name = open_slices.pop(event.track_uuid)
            found.setdefault(event.track_uuid, []).append((begin, packet.timestamp, name))
    assert not open_slices
    return found


def descriptors(packets):
    return {
        packet.track_descriptor.uuid: packet.track_descriptor
        for packet in packets
        if packet.HasField("track_descriptor")
    }


def test_no_track_has_overlapping_or_unfinished_slices(packets):
    for spans in slices_by_track(packets).values():
        assert all(begin <= end for begin, end, _ in spans)
        assert all(before[1] <= after[0] for before, after in pairwise(spans))


def test_every_track_is_described_once_and_lies_below_a_process(packets):
    tracks = descriptors(packets)
    events = {packet.track_event.track_uuid for packet in packets if packet.HasField("track_event")}

    assert sum(packet.HasField("track_descriptor") for packet in packets) == len(tracks)
    assert events <= set(tracks)
    roots = [track for track in tracks.values() if not track.parent_uuid]
    assert [root.name or root.process.process_name for root in roots] == [f"gpusim, {CLOCK}", f"CTA 0 ({CLOCK})"]


def test_a_thread_holds_the_stalls_of_its_warp(run, packets):
    slices = slices_by_track(packets)
    threads = {
        track.thread.thread_name: uuid for uuid, track in descriptors(packets).items() if track.HasField("thread")
    }

    assert list(threads) == [f"warp {warp} (SMSP {warp})" for warp in range(4)]
    for warp in range(4):
        spans = [span for span in run.timeline.warps if span.warp == warp]
        drawn = slices[threads[f"warp {warp} (SMSP {warp})"]]
        stalled = sum(span.end - span.begin for span in spans if span.reason not in {"selected", "wait"})
        assert sum(end - begin for begin, end, name in drawn if name != ISSUING) == stalled
        assert {name for _, _, name in drawn} - {ISSUING} == {span.reason for span in spans} - {"selected", "wait"}
        assert (drawn[0][0], drawn[-1][1]) == (spans[0].begin, spans[-1].end)
        assert all(end == begin for (_, end, _), (begin, _, _) in pairwise(drawn))
        assert all(first != second for (_, _, first), (_, _, second) in pairwise(drawn))


def test_every_activity_of_a_k_tile_is_a_slice(run, packets):
    names = Counter(name for spans in slices_by_track(packets).values() for _, _, name in spans)

    assert names["copy k tile 4, stage 1"] == 4
    assert names["wait k tile 4, stage 1"] == 4
    assert names["ldmatrix k tile 4, k group 3"] == 4
    assert names["mma k tile 4, k group 3"] == 4
    stalls = sum(len(stall_slices(span for span in run.timeline.warps if span.warp == warp)) for warp in range(4))
    assert names.total() == 1 + stalls + len(run.timeline.k_tiles)


def test_counters_return_to_zero(packets):
    values = {}
    for packet in packets:
        if packet.track_event.type == EVENT.TYPE_COUNTER:
            values.setdefault(packet.track_event.track_uuid, []).append(packet.track_event.counter_value)

    assert [max(series) for series in values.values()] == [2, 4]
    assert all(series[-1] == 0 for series in values.values())


def test_a_trace_is_the_same_bytes_twice(run):
    assert perfetto_trace(run.result, WORDS, run.timeline) == perfetto_trace(run.result, WORDS, run.timeline)


def test_an_empty_timeline_gives_a_trace_and_a_log(run):
    empty = Timeline((), ())

    assert len(descriptors(proto.Trace.FromString(perfetto_trace(run.result, WORDS, empty)).packet)) == 1
    assert kanata_log(run.result, empty) == "Kanata\t0004\nC=\t0\n"


def test_forty_thousand_spans_are_written_in_seconds(make_run):
    run = make_run(k_tiles=600)
    started = time.process_time()

    perfetto_trace(run.result, WORDS, run.timeline)

    assert time.process_time() - started < 3
