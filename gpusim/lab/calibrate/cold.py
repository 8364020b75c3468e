"""Measures lines that miss the L2, by single loads and groups of copies, and bursts of lines of host memory."""

from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

from gpusim.arrays import IntArray
from gpusim.lab.calibrate.runner import WARP, Device, MeasuredRow
from gpusim.units import LINE_BYTES

_MIB = 1 << 20
_DATA_BYTES = 1024 * _MIB
FILL_BYTES = 256 * _MIB
"""Memory that fills the L2 with its clean lines."""

REGIONS_MIB = (16, 1024)
"""Regions of the random lines: one of few pages, like a kernel's tensors, and one of many pages."""

BIN_CYCLES = 8
"""Width of a bin of the histogram of latencies."""

_ROWS, _ROW_BYTES, _TILES = 128, 2048, 16
_GROUP_THREADS = 128

_BURSTS = {"copies": 24, "copies_through": 24, "loads": 16}
"""Kernel of ``outstanding.cu`` -> number of instructions of each of its warps."""

_BURST_WARPS, _BURST_LAUNCHES = 16, 6
_BURST_SHAPES = ((128, 256), (64, 256), (32, 256), (64, 128), (32, 64))
_BURST_LANES = (WARP, WARP // 2, WARP // 4)
_BURST_PAUSE = 250


CONSTANT_LINES, _CONSTANT_WORDS = 24, 16
"""Lines of the parameters of ``constants.cu``, and words of each."""

_CONSTANT_LAUNCHES = 3


def measure_constants(device: Device, *, quick: bool) -> list[MeasuredRow]:
    """
    Measure the first read of each line of a kernel's parameters, in a launch with other parameters than the last one.

    Column ``cycles`` has the cycles between two clock reads around it, the mean over CTAs of a warp. A word of line 0
    was read before.
    """
    rows: list[MeasuredRow] = []
    for ctas in (device.sms,) if quick else (1, device.sms):
        stamps = device.cupy.zeros((ctas, CONSTANT_LINES + 1), dtype=np.uint64)
        for launch in range(_CONSTANT_LAUNCHES):
            words = np.full((CONSTANT_LINES, _CONSTANT_WORDS), launch + 1, dtype=np.uint32)
            parameters = words.reshape(1, -1).view([("words", np.uint32, words.size)])[0, 0]
            device.launch("constants", "constants", (stamps, parameters), ctas=ctas)
        cycles = np.diff(device.cupy.asnumpy(stamps).astype(np.int64), axis=1).mean(axis=0)
        rows += [{"ctas": ctas, "line": line, "cycles": round(float(one), 1)} for line, one in enumerate(cycles)]
    return rows


def measure_cold(device: Device, *, quick: bool) -> list[MeasuredRow]:
    """
    Measure loads of random lines after the L2 was filled with other, clean lines, and groups of cp.async.

    The rows "miss" are a histogram of single loads from a region of ``region_mib``, one by each of as many CTAs as
    there are SMs, in bins of ``BIN_CYCLES`` that begin at ``cycles``. The rows "hit" are a histogram of the same loads
    again. Both include clock reads.

    The rows "group" have the median cycles over the CTAs, by tile: until a group of two tiles' copies is issued, and
    until it has landed, cold and then warm.
    """
    data = device.cupy.zeros(_DATA_BYTES, dtype=np.uint8)
    filling = device.cupy.zeros(FILL_BYTES, dtype=np.uint8)
    memory = _Memory(data, filling)
    rows: list[MeasuredRow] = []
    for region in REGIONS_MIB:
        rows += _latencies(device, memory, region, repetitions=8 if quick else 64)
    shapes = ((device.sms, 0),) if quick else ((1, 0), (64, 8), (device.sms, 0))
    for ctas, share in shapes:
        for vectors in (4, 8):
            for prefetch in (0, 1):
                place: MeasuredRow = {"what": "group", "ctas": ctas, "shared_by": share, "rows": _ROWS}
                place |= {"row_bytes": 16 * vectors, "pitch": _ROW_BYTES, "l2_prefetch": prefetch}
                found = _groups(device, f"groups_{vectors}_{prefetch}", ctas, share, memory)
                rows += [place | row for row in found]
    return rows


@dataclass(frozen=True, slots=True)
class _Memory:
    """Zeroed memory to measure, and other memory that fills the L2 when it is read."""

    data: Any
    filling: Any


def fill_l2(device: Device, filling: Any) -> None:
    """Fill the L2 with clean lines of memory, by reading it twice."""
    sink = device.cupy.zeros(1, dtype=np.uint32)
    for _ in range(2):
        device.launch(
            "cold", "read_through", (sink, filling, np.uint64(filling.nbytes)), ctas=2 * device.sms, threads=1024
        )


def _latencies(device: Device, memory: _Memory, region: int, *, repetitions: int) -> list[MeasuredRow]:
    latencies = device.cupy.zeros((device.sms, 2), dtype=np.uint32)
    lines = np.uint32(region * _MIB // LINE_BYTES)
    found = []
    for repetition in range(1, repetitions + 1):
        fill_l2(device, memory.filling)
        arguments = (latencies, memory.data, lines, np.uint32(repetition * device.sms))
        device.launch("cold", "random_lines", arguments, ctas=device.sms, threads=WARP)
        found.append(device.cupy.asnumpy(latencies).astype(np.int64))
    samples: IntArray = np.concatenate(found)
    rows: list[MeasuredRow] = []
    for number, what in enumerate(("miss", "hit")):
        bins, counts = np.unique(samples[:, number] // BIN_CYCLES * BIN_CYCLES, return_counts=True)
        for bin_, count in zip(bins.tolist(), counts.tolist(), strict=True):
            rows.append({"what": what, "region_mib": region, "ctas": device.sms, "cycles": bin_, "loads": count})
    return rows


def _groups(device: Device, kernel: str, ctas: int, share: int, memory: _Memory) -> list[MeasuredRow]:
    stamps = device.cupy.zeros((ctas, _TILES, 2), dtype=np.uint64)
    second, tiles = np.uint64(_DATA_BYTES // 2), np.int32(_TILES)
    arguments = (stamps, memory.data, second, np.uint32(_ROW_BYTES), tiles, np.int32(share))
    medians: list[IntArray] = []
    # The first launch brings the code. The data is cold in the second launch, and warm in the third.
    for launch in range(3):
        if launch == 1:
            fill_l2(device, memory.filling)
        device.launch("cold", kernel, arguments, ctas=ctas, threads=_GROUP_THREADS, shared=32 << 10)
        medians.append(np.median(device.cupy.asnumpy(stamps).astype(np.int64), axis=0))
    _, cold, warm = medians
    return [
        {"tile": tile, "issue": cold[tile, 0], "landed": cold[tile, 1]}
        | {"issue_warm": warm[tile, 0], "landed_warm": warm[tile, 1]}
        for tile in range(_TILES)
    ]


def measure_outstanding(device: Device, *, quick: bool) -> list[MeasuredRow]:
    """
    Measure bursts of more copies, or loads, than an SM may have in flight: when each one issues.

    16 warps of one SM issue ``count`` of them, each of ``lanes`` times 16 bytes in rows of ``row_bytes`` that are
    ``pitch`` bytes apart, in lines of host memory, which arrive after 2,500 cycles and more. In rows with ``source``
    "host and l2" every second line hits the L2. ``issued`` of them issued before the first pause, which began at ``at``
    and lasted ``pause`` cycles; without a pause it is all of them. Most had arrived at ``landed``. All columns are
    medians over launches.
    """
    rows: list[MeasuredRow] = []
    for (kernel, each), mixed, (row_bytes, pitch), lanes in product(
        _BURSTS.items(), (False, True), _BURST_SHAPES[1:2] if quick else _BURST_SHAPES, _BURST_LANES
    ):
        if quick and lanes < WARP:
            continue
        size = (each + 1) * _BURST_WARPS * (WARP * 16 // row_bytes) * pitch
        memory = device.cupy.cuda.alloc_pinned_memory(size)
        near = device.cupy.zeros(size, dtype=np.uint8)
        host = np.uint64(memory.ptr)
        times = device.cupy.zeros(each * _BURST_WARPS + 1, dtype=np.uint32)
        data = np.uint64(near.data.ptr) if mixed else host
        arguments = (times, data, host, *map(np.uint32, (row_bytes, pitch, lanes)))
        found = []
        for _ in range(_BURST_LAUNCHES):
            device.launch(
                "outstanding",
                kernel,
                arguments,
                threads=(_BURST_WARPS + 1) * WARP,
                shared=(each * _BURST_WARPS + 1) * WARP * 16,
            )
            measured = device.cupy.asnumpy(times).astype(np.int64)
            issues = np.sort(measured[:-1])
            gaps = np.append(np.diff(issues), 0)
            pauses = np.flatnonzero(gaps >= _BURST_PAUSE)
            last = int(pauses[0]) if len(pauses) else len(gaps) - 1
            found.append((last + 1, issues[last], gaps[last], measured[-1]))
        place: MeasuredRow = {"kernel": kernel, "count": each * _BURST_WARPS, "row_bytes": row_bytes, "pitch": pitch}
        place |= {"lanes": lanes, "source": "host and l2" if mixed else "host"}
        medians = np.median(np.array(found[1:]), axis=0).tolist()
        rows.append(place | dict(zip(("issued", "at", "pause", "landed"), medians, strict=True)))
    return rows
