"""Encodes a Perfetto trace as packets of tracks, counters and slices. It knows Perfetto's format, and no run."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from gpusim.arrays import IntArray

_SEQUENCE = 1
_CLEARED, _NEEDED = 1, 2
_BEGIN, _END = 1, 2
_TIME_BYTES, _ID_BYTES = 6, 3
_Piece: TypeAlias = bytes | IntArray
"""Bytes that all rows share, or an array of bytes, shape [rows or 1, width]."""

MOST_TIME = 1 << 7 * _TIME_BYTES
"""Timestamps are below this."""


class Texts(NamedTuple):
    """
    A text for each slice.

    Attributes:
        table: The texts that occur.
        place: Index into ``table`` for each slice.
    """

    table: Sequence[str]
    place: IntArray


class TracePackets:
    """
    Builds a trace: assigns track ids in order, and appends packets.

    Source: perfetto ``protos/perfetto/trace``, trace_packet.proto and track_event/track_event.proto.
    """

    def __init__(self) -> None:
        # Imported here, because the import is slow and only traces need it.
        from perfetto.protos.perfetto.trace import (  # type: ignore[import-untyped]  # noqa: PLC0415
            perfetto_trace_pb2 as proto,
        )

        self._proto = proto
        self._parts: list[bytes] = []
        self._tracks = 0
        self._interned: dict[str, dict[str, int]] = {"event_names": {}, "debug_annotation_names": {}}
        self._interned["debug_annotation_string_values"] = {}

    def track(self, parent: int | None = None, **descriptor: Any) -> int:
        """Add a track, and return its id."""
        self._tracks += 1
        if parent is not None:
            descriptor["parent_uuid"] = parent
        packet = self._packet()
        packet.track_descriptor.CopyFrom(type(packet.track_descriptor)(uuid=self._tracks, **descriptor))
        self._append(packet)
        return self._tracks

    def slice(  # one parameter for each field of a slice
        self,
        track: int,
        begin: int,
        end: int,
        name: str,
        notes: Mapping[str, str | int],
        *,
        starts: Sequence[int] = (),
        ends: Sequence[int] = (),
    ) -> None:
        """
        Add a slice with annotations.

        Args:
            track: Track id.
            begin, end: Timestamps.
            name: Name of the slice.
            notes: Annotations.
            starts, ends: Ids of the flows that start and end at it.
        """
        packet = self._packet()
        packet.timestamp = begin
        event = packet.track_event
        event.type, event.track_uuid, event.name = _BEGIN, track, name
        event.flow_ids.extend(starts)
        event.terminating_flow_ids.extend(ends)
        for key, value in notes.items():
            kind = "int_value" if isinstance(value, int) else "string_value"
            event.debug_annotations.add(name=key, **{kind: value})
        self._append(packet)
        packet = self._packet()
        packet.timestamp = end
        packet.track_event.type, packet.track_event.track_uuid = _END, track
        self._append(packet)

    def slices(self, track: int, begin: IntArray, end: IntArray, names: Texts, notes: Mapping[str, Texts]) -> None:
        """
        Add many slices to a track at once; each has a name and every annotation.

        Texts are interned, and all numbers are padded to one width, so the slices are rows of one array of bytes.

        Args:
            track: Track id.
            begin, end: Timestamps, in order, without overlap.
            names: Name of each slice.
            notes: Text of each slice for each annotation.
        """
        annotations: list[_Piece] = []
        for key, texts in notes.items():
            name = self._ids("debug_annotation_names", Texts((key,), np.zeros(1, dtype=np.int64)))
            value = self._ids("debug_annotation_string_values", texts)
            annotations += _message(4, [b"\x08", _varint(name, 1), b"\x88\x01", _varint(value, _ID_BYTES)])
        on_track: list[_Piece] = [b"\x58", _varint(np.array([track]), _ID_BYTES)]
        named: list[_Piece] = [b"\x50", _varint(self._ids("event_names", names), _ID_BYTES)]
        opened = _message(11, [bytes([0x48, _BEGIN]), *on_track, *named, *annotations])
        closed = _message(11, [bytes([0x48, _END]), *on_track])
        known = bytes([0x50, _SEQUENCE, 0x68, _NEEDED])
        pieces = [
            *_message(1, [b"\x40", _varint(begin, _TIME_BYTES), known, *opened]),
            *_message(1, [b"\x40", _varint(end, _TIME_BYTES), known, *closed]),
        ]
        rows = [np.broadcast_to(_bytes_of(piece), (len(begin), _width(piece))) for piece in pieces]
        self._parts.append(np.concatenate(rows, axis=1).tobytes())

    def counter(self, parent: int, name: str, steps: Iterable[tuple[int, int]]) -> None:
        """Add a counter track below another, with its value at each step (timestamp, value)."""
        track = self.track(name=name, parent=parent, counter={})
        for at, value in steps:
            packet = self._packet()
            packet.timestamp = at
            event = packet.track_event
            event.type, event.track_uuid, event.counter_value = self._proto.TrackEvent.TYPE_COUNTER, track, value
            self._append(packet)

    def serialised(self) -> bytes:
        """Return the trace as a serialised ``perfetto.protos.Trace``. Equal calls give equal bytes."""
        first = self._packet()
        first.sequence_flags = _CLEARED | _NEEDED
        for field, known in self._interned.items():
            table = getattr(first.interned_data, field)
            for text, number in known.items():
                if field == "debug_annotation_string_values":
                    table.add(iid=number, str=text.encode())
                else:
                    table.add(iid=number, name=text)
        return self._framed(first) + b"".join(self._parts)

    def _ids(self, field: str, texts: Texts) -> IntArray:
        known = self._interned[field]
        table = np.array([known.setdefault(text, len(known) + 1) for text in texts.table], dtype=np.int64)
        ids: IntArray = table[texts.place]
        return ids

    def _packet(self) -> Any:
        return self._proto.TracePacket(trusted_packet_sequence_id=_SEQUENCE)

    def _append(self, packet: Any) -> None:
        self._parts.append(self._framed(packet))

    def _framed(self, packet: Any) -> bytes:
        trace = self._proto.Trace()
        trace.packet.append(packet)
        written: bytes = trace.SerializeToString(deterministic=True)
        return written


def _varint(values: IntArray, width: int) -> IntArray:
    """Return numbers as varints of one width, [rows, width], padded with empty groups of bits."""
    shifted = values[:, None] >> 7 * np.arange(width)
    more = np.where(np.arange(width) < width - 1, 0x80, 0)
    encoded: IntArray = (shifted & 0x7F) | more
    return encoded


def _message(field: int, flat: Sequence[_Piece]) -> list[_Piece]:
    """Return a field that holds a message, as pieces: tag, length, content."""
    size = sum(map(_width, flat))
    length = bytes([size]) if size < 0x80 else bytes([size & 0x7F | 0x80, size >> 7])
    return [bytes([field << 3 | 2]), length, *flat]


def _width(piece: _Piece) -> int:
    return len(piece) if isinstance(piece, bytes) else piece.shape[1]


def _bytes_of(piece: _Piece) -> Any:
    return np.frombuffer(piece, dtype=np.uint8)[None] if isinstance(piece, bytes) else piece.astype(np.uint8)
