"""Measures loads that miss the L2, at random times and many at once: which are late, and which are late together."""

from typing import Any, Final

import numpy as np

from gpusim.arrays import IntArray
from gpusim.lab.calibrate.cold import FILL_BYTES, fill_l2
from gpusim.lab.calibrate.runner import WARP, Device, MeasuredRow
from gpusim.units import LINE_BYTES, PAGE_LINE_BITS

LINES: Final = 32
"""Lines of an event, one for each warp of a CTA."""

_PITCHES: Final = (256, 512, 1024, 2048, 4096, 8064, 0)
"""Bytes from one line of an event to the next; 0 takes lines from anywhere in the region of memory."""

_REGION: Final = 64 << 20
_BLOCK: Final = 256 << 10
_PAUSE: Final = 3000

REGION_LINES: Final = 512
"""Lines of a region of 64 KiB; all of them are loaded."""

_PAGES: Final = 32
_PAUSES: Final = (200, 4100)
"""Least and most cycles between two events. They are drawn for each event, so events come at any time of a period."""

_EVENTS: Final = ((1, 24), (LINES, 40))
"""Lines of an event, and number of regions that are loaded in such events."""


def measure_together(device: Device, *, quick: bool) -> list[MeasuredRow]:
    """
    Measure events: 32 warps of a single CTA load one word each, of different lines, at once, from DRAM and then the L2.

    An event's lines are one pitch apart in a block of its own, or anywhere. The pages are touched before, and cycles
    pass between events. A row is an event: the bytes that its lines span (0 for anywhere), the cycles of the slowest
    load, the median of the same loads from the L2, and the number of late lines. A line is late if its load takes
    longer than the median of the slowest loads of the shortest span, plus a cycle for each line, because loads leave
    the SM one after the other. All cycles include clock reads.
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
            # The middle of each page of 2 MiB, which no event loads: it brings the address translation.
            pages = base + (np.arange(LINES) << 21) + (1 << 20) + 77 * LINE_BYTES
            fill_l2(device, filling)
            miss, hit = (_event_cycles(device, memory, np.vstack([pages, lines]))[1][1:] for _ in range(2))
            found.append((LINES * pitch, miss, hit))
    return _rows(found)


def measure_standstills(device: Device, *, quick: bool) -> list[MeasuredRow]:
    """
    Measure loads of all lines of some regions of 64 KiB, each in another page, in a random order and at random times.

    A row is a load: its region, the first line of the region in its page, the load's line in the region, and its event.
    An event loads ``lines`` lines of the region at once. Column ``begin`` counts from the first load of such events;
    ``cycles`` includes clock reads. The pages are touched before.
    """
    rows: list[MeasuredRow] = []
    generator = np.random.default_rng(0)
    memory = device.cupy.zeros(((_PAGES + 1) << PAGE_LINE_BITS) * LINE_BYTES, dtype=np.uint8)
    filling = device.cupy.zeros(FILL_BYTES, dtype=np.uint8)
    aligned = -int(memory.data.ptr) // LINE_BYTES % (1 << PAGE_LINE_BITS)
    pages = aligned + (np.arange(_PAGES) << PAGE_LINE_BITS)
    for lines, regions in _EVENTS:
        count = 2 if quick else regions
        first = generator.integers(1, (1 << PAGE_LINE_BITS) // REGION_LINES, count) * REGION_LINES
        begins = pages[np.arange(count) % _PAGES] + first
        own = np.array([generator.permutation(REGION_LINES).reshape(-1, lines) for _ in range(count)])
        numbers = (begins[:, None, None] + own).reshape(-1, lines)
        touched = np.resize(pages + 77, (-(-_PAGES // lines), lines))
        fill_l2(device, filling)
        at, cycles = (
            found[len(touched) :]
            for found in _event_cycles(device, memory, np.vstack([touched, numbers]) * LINE_BYTES, generator)
        )
        for event, (begin, taken, line) in enumerate(zip(at - at.min(), cycles, own.reshape(-1, lines), strict=True)):
            region = event * lines // REGION_LINES
            of: MeasuredRow = {"lines": lines, "region": region, "first": int(first[region]), "event": event}
            rows += [
                of | {"line": int(line[one]), "begin": int(begin[one]), "cycles": int(taken[one])}
                for one in range(lines)
            ]
    return rows


def _event_cycles(
    device: Device, memory: Any, lines: IntArray, generator: np.random.Generator | None = None
) -> tuple[IntArray, IntArray]:
    """Return begin and cycles of each load. The pause between events is fixed, or drawn for each."""
    begins = device.cupy.zeros(lines.shape, dtype=np.uint64)
    cycles = device.cupy.zeros(lines.shape, dtype=np.uint32)
    pauses = np.full(len(lines), _PAUSE) if generator is None else generator.integers(*_PAUSES, len(lines))
    addresses, pauses = (
        device.cupy.asarray(values.astype(kind)) for values, kind in ((lines, np.uint64), (pauses, np.uint32))
    )
    arguments = (begins, cycles, memory, addresses, pauses, np.int32(len(lines)))
    device.launch("together", "together", arguments, threads=lines.shape[1] * WARP)
    begun, taken = (np.asarray(device.cupy.asnumpy(found), dtype=np.int64) for found in (begins, cycles))
    return begun, taken


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
