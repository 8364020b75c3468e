"""
A strict reader of Perfetto traces: what trace_processor asks of track events, each rule an error.

Written from perfetto's own trace_packet.proto, track_descriptor.proto and track_event.proto.
"""

from dataclasses import dataclass, field

from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as proto

EVENT = proto.TrackEvent
CLEARED, NEEDED = 1, 2


@dataclass
class Read:
    """One slice."""

    track: int
    begin: int
    name: str
    notes: dict[str, str | int]
    starts: tuple[int, ...]
    ends: tuple[int, ...]
    end: int = -1


@dataclass
class ReadTrace:
    """A trace, read."""

    tracks: dict[int, object] = field(default_factory=dict)
    slices: list[Read] = field(default_factory=list)
    counters: dict[int, list[tuple[int, int]]] = field(default_factory=dict)

    def of(self, name):
        """The slices on tracks of a name."""
        own = {uuid for uuid, track in self.tracks.items() if name in {track.name, track.thread.thread_name}}
        return [one for one in self.slices if one.track in own]

    def counter(self, name):
        """The steps of the counter of a name."""
        (uuid,) = [uuid for uuid, track in self.tracks.items() if track.name == name]
        return self.counters[uuid]


def read_trace(data):
    """Read a trace; an assertion fails where it breaks a rule."""
    read, interned, opened = ReadTrace(), {}, {}
    for packet in proto.Trace.FromString(data).packet:
        assert packet.trusted_packet_sequence_id
        if packet.sequence_flags & CLEARED:
            interned = {}
        for table, values in packet.interned_data.ListFields():
            known = interned.setdefault(table.name, {})
            for value in values:
                assert value.iid not in known
                known[value.iid] = value.str.decode() if hasattr(value, "str") else value.name
        if packet.HasField("track_descriptor"):
            _describe(read, packet.track_descriptor)
        elif packet.HasField("track_event"):
            event = packet.track_event
            assert event.track_uuid in read.tracks
            assert packet.HasField("timestamp")
            if event.name_iid:
                assert packet.sequence_flags & NEEDED
            _add(read, opened, packet.timestamp, event, interned)
    assert not any(opened.values())
    _check_order(read)
    _check_flows(read)
    return read


def _describe(read, track):
    assert track.uuid
    assert track.uuid not in read.tracks
    assert not track.parent_uuid or track.parent_uuid in read.tracks
    read.tracks[track.uuid] = track


def _add(read, opened, at, event, interned):
    stack = opened.setdefault(event.track_uuid, [])
    if event.type == EVENT.TYPE_COUNTER:
        steps = read.counters.setdefault(event.track_uuid, [])
        assert not steps or steps[-1][0] < at
        steps.append((at, event.counter_value))
    elif event.type == EVENT.TYPE_SLICE_BEGIN:
        assert bool(event.name) != bool(event.name_iid)
        name = event.name or interned["event_names"][event.name_iid]
        notes = dict(_note(one, interned) for one in event.debug_annotations)
        one = Read(event.track_uuid, at, name, notes, tuple(event.flow_ids), tuple(event.terminating_flow_ids))
        stack.append(one)
        read.slices.append(one)
    else:
        assert event.type == EVENT.TYPE_SLICE_END
        one = stack.pop()
        assert one.begin <= at
        one.end = at


def _note(one, interned):
    name = one.name or interned["debug_annotation_names"][one.name_iid]
    if one.string_value_iid:
        return name, interned["debug_annotation_string_values"][one.string_value_iid]
    return name, one.int_value if one.HasField("int_value") else one.string_value


def _check_order(read):
    """Slices of a track follow each other, as events of equal time keep the file's order."""
    last = {}
    for one in read.slices:
        assert one.begin >= last.get(one.track, 0)
        last[one.track] = one.end


def _check_flows(read):
    """A flow begins once, ends once, and never before it has begun."""
    begun = {flow: one for one in read.slices for flow in one.starts}
    ended = {flow: one for one in read.slices for flow in one.ends}
    assert begun.keys() == ended.keys()
    assert sum(len(one.starts) for one in read.slices) == len(begun)
    assert sum(len(one.ends) for one in read.slices) == len(ended)
    assert all(begun[flow].begin <= ended[flow].end for flow in begun)
