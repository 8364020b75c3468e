"""Measures loads of lines that only the DRAM holds, many at once: which of them come late together."""

from typing import Any, Final

import numpy as np

from gpusim.arrays import IntArray
from gpusim.gpu.calibrate.cold import FILL_BYTES, fill_l2
from gpusim.gpu.calibrate.runner import WARP, Device, MeasuredRow
from gpusim.units import LINE_BYTES

LINES: Final = 32
"""Lines of an event, one for each warp of a CTA."""

_PITCHES: Final = (256, 512, 1024, 2048, 4096, 8064, 0)
"""Bytes from one line of an event to the next; 0 takes lines from anywhere in the region of memory."""

_REGION: Final = 64 << 20
_BLOCK: Final = 256 << 10
_PAUSE: Final = 3000


def measure_together(device: Device, *, quick: bool) -> list[MeasuredRow]:
    """
    Measure events: 32 warps of a lone CTA each load a word of a line of its own at once, from DRAM, then from the L2.

    An event's lines lie one pitch apart in a block of its own, or anywhere. The pages are touched before, and cycles
    pass between events. A row is an event: the bytes that its lines span (0 for anywhere), the cycles of the slowest
    load, the median of the same loads from the L2, and the lines that are late. Late is what takes more than the median
    of the slowest loads of the shortest span, and a cycle for each line: loads leave the SM one after the other. All
    include clock reads.
    """
    pitches = _PITCHES[::3] if quick else _PITCHES
    regions = 1 if quick else 4
    events = _REGION // _BLOCK
    memory = device.cupy.zeros(len(pitches) * regions * _REGION, dtype=np.uint8)
    filling = device.cupy.zeros(FILL_BYTES, dtype=np.uint8)
    generator = np.random.default_rng(0)
    found: list[tuple[int, IntArray, IntArray]] = []
    for number, pitch in enumerate(pitches):
        for region in range(regions):
            base = (number * regions + region) * _REGION
            blocks = base + generator.permutation(events) * _BLOCK
            lines = blocks[:, None] + np.arange(LINES) * pitch
            if not pitch:
                lines = base + generator.integers(0, _REGION // LINE_BYTES, (events, LINES)) * LINE_BYTES
            # The middle of each page of 2 MiB, beside what events load: it brings the translation.
            pages = base + (np.arange(LINES) << 21) + (1 << 20) + 77 * LINE_BYTES
            fill_l2(device, filling)
            miss, hit = (_event_cycles(device, memory, np.vstack([pages, lines]))[1:] for _ in range(2))
            found.append((LINES * pitch, miss, hit))
    return _rows(found)


def _event_cycles(device: Device, memory: Any, lines: IntArray) -> IntArray:
    cycles = device.cupy.zeros(lines.shape, dtype=np.uint32)
    addresses = device.cupy.asarray(lines.astype(np.uint64))
    arguments = (cycles, memory, addresses, np.int32(len(lines)), np.int32(_PAUSE))
    device.launch("together", "together", arguments, threads=LINES * WARP)
    return np.asarray(device.cupy.asnumpy(cycles), dtype=np.int64)


def _rows(found: list[tuple[int, IntArray, IntArray]]) -> list[MeasuredRow]:
    """Return a row for each event."""
    shortest = min(span for span, _, _ in found if span)
    on_time = np.median(np.concatenate([miss.max(axis=1) for span, miss, _ in found if span == shortest])) + LINES
    rows: list[MeasuredRow] = []
    for span, misses, hits in found:
        for miss, hit in zip(misses, hits, strict=True):
            row: MeasuredRow = {"span": span, "lines": LINES, "slowest": int(miss.max()), "hit": int(np.median(hit))}
            rows.append(row | {"late": int((miss > on_time).sum())})
    return rows
