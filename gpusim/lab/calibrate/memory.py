"""Measures the memory system: cp.async, and latencies and bandwidths of L1, L2 and DRAM."""

from dataclasses import dataclass
from itertools import product
from typing import Any, Final

import numpy as np

from gpusim.arrays import BoolArray, IntArray
from gpusim.lab.calibrate.grids import LONE_CTA_BYTES
from gpusim.lab.calibrate.runner import WARP, Device, MeasuredRow, elapsed
from gpusim.lab.calibrate.runs import SMSPS
from gpusim.layout.banks import access_wavefronts
from gpusim.units import LINE_BYTES

_KIB, _MIB = 1 << 10, 1 << 20
_REPETITIONS = 32
_WARM_REPETITIONS = 2
COPY_KINDS = (("cg", 16), ("ca", 16), ("ca", 8), ("ca", 4))


def measure_cp_async(device: Device, *, quick: bool) -> list[MeasuredRow]:
    """
    Measure bursts and streams of cp.async, the release of their source registers, and empty commits and waits.

    A burst has columns ``issue`` (from before the first copy to after the last), ``commit``, ``wait`` and ``total``, in
    median cycles over its repetitions. With ``source`` "l1", the same bytes are copied repeatedly; with "l2", lines
    that miss the L1 and hit the L2. ``shared_lane_bytes`` is the distance of the lanes' targets: the copy's width
    avoids bank conflicts, 128 puts all lanes on the same banks.
    """
    data = device.cupy.zeros(16 * _MIB, dtype=np.uint8)
    rows: list[MeasuredRow] = []
    for op, width in COPY_KINDS:
        rows += _bursts(device, data, op, width, quick=quick)
        rows += _streams(device, data, op, width, quick=quick)
        pattern = _copy_pattern(op, width, 16)
        rows += [_release(device, data, f"{op}_{width}", warps) | pattern for warps in (1, 4)]
    rows.append(_release(device, data, "none", 1))
    for number, what in enumerate(("commit", "wait", "commit and wait")):
        cycles = elapsed(device.spans("cp_async", "empty_groups", (np.int32(64), np.int32(number))))
        rows.append({"what": what, "warps": 1, "cycles": cycles, "each": cycles / (64 * 16)})
    return rows


def _bursts(device: Device, data: Any, op: str, width: int, *, quick: bool) -> list[MeasuredRow]:
    """Measure bursts of one kind of copy; ``.cg`` never hits the L1, and has an empty burst."""
    counts = (1, 4, 16, 32) if quick else (1, 2, 4, 8, 16, 32)
    rows: list[MeasuredRow] = []
    for source, advance in (("l2", 64 * _KIB),) if op == "cg" else (("l1", 0), ("l2", 64 * _KIB)):
        for count in (0, *counts) if op == "cg" else counts:
            for shared_lane in (width, 128):
                for warps in (1,) if quick or shared_lane == 128 else (1, 4, 8):
                    burst = _Burst(f"burst_{op}_{width}_{count}", width, advance, shared_lane, warps)
                    row: MeasuredRow = {"what": "burst", "source": source, "copies": count, "warps": warps}
                    rows.append(row | _copy_pattern(op, width, shared_lane) | _run_burst(device, burst, data))
    return rows


def _streams(device: Device, data: Any, op: str, width: int, *, quick: bool) -> list[MeasuredRow]:
    """Measure streams of one kind of copy, by warps and the SMSPs that hold them."""
    rows: list[MeasuredRow] = []
    for shared_lane in (width, 128):
        for warps, smsps in ((1, 1), (16, 4)) if quick else ((1, 1), (4, 1), (4, 4), (8, 4), (16, 4)):
            threads = WARP * (warps if smsps == SMSPS else (warps - 1) * SMSPS + 1)
            arguments = (data, np.int32(128), np.uint32(width), np.uint32(shared_lane), np.int32(smsps))
            cycles = elapsed(device.spans("cp_async", f"stream_{op}_{width}", arguments, threads=threads))
            row: MeasuredRow = {"what": "stream", "copies": 128 * 8, "warps": warps, "smsps": smsps}
            row |= {"cycles": cycles, "per_copy": cycles / (128 * 8 * warps)}
            rows.append(row | _copy_pattern(op, width, shared_lane))
    return rows


def _release(device: Device, data: Any, kernel: str, warps: int) -> MeasuredRow:
    """Measure a loop of one copy and an IMAD that overwrites its address register, with one warp on an SMSP."""
    trips = 128
    arguments = (data, np.int32(trips), np.uint32(1), np.uint32(0), np.int32(SMSPS))
    cycles = elapsed(device.spans("cp_async", f"release_{kernel}", arguments, threads=warps * WARP))
    what = "loop" if kernel == "none" else "release"
    return {"what": what, "copies": trips, "warps": warps, "smsps": warps, "cycles": cycles, "each": cycles / trips}


def measure_semaphore(device: Device, *, quick: bool) -> list[MeasuredRow]:
    """
    Measure how long a slice of a serial split-K waits for the previous one, by slices, warps and stores of a thread.

    Column ``each`` has the cycles from one slice to the next, the median over the slices.
    """
    rows: list[MeasuredRow] = []
    data = device.cupy.zeros(64 * _MIB, dtype=np.uint8)
    for warps in (4,) if quick else (1, 4):
        for stores in (0, 1, 4, 16):
            for _ in range(1 if quick else 3):
                clocks = device.cupy.zeros(device.sms, dtype=np.uint64)
                flag = device.cupy.zeros(1, dtype=np.int32)
                arguments = (clocks, flag, data, np.int32(stores))
                device.launch("launches", "slices", arguments, ctas=device.sms, threads=warps * WARP)
                seen = np.sort(device.cupy.asnumpy(clocks).astype(np.int64))
                each = float(np.median(np.diff(seen)))
                rows.append(
                    {"slices": device.sms, "warps": warps, "stores": stores, "cycles": int(seen[-1]), "each": each}
                )
    return rows


def _copy_pattern(op: str, width: int, shared_lane: int) -> MeasuredRow:
    addresses: IntArray = np.arange(WARP, dtype=np.int64) * shared_lane
    return {
        "op": op,
        "bytes": width,
        "shared_lane_bytes": shared_lane,
        "wavefronts": int(access_wavefronts(addresses, width)),
    }


@dataclass(frozen=True, slots=True)
class _Burst:
    """A burst kernel of cp_async.cu, and the distances in bytes between its repetitions and between its lanes."""

    kernel: str
    width: int
    advance: int
    shared_lane: int
    warps: int


def _run_burst(device: Device, burst: _Burst, data: Any) -> MeasuredRow:
    stamps = device.cupy.zeros((burst.warps, _REPETITIONS, 4), dtype=np.uint64)
    steps = (np.uint32(burst.width), np.uint32(burst.advance), np.uint32(burst.shared_lane))
    for _ in range(2):
        arguments = (stamps, data, np.int32(_REPETITIONS), *steps)
        device.launch("cp_async", burst.kernel, arguments, threads=burst.warps * WARP)
    found = device.cupy.asnumpy(stamps).astype(np.int64)[:, _WARM_REPETITIONS:]
    issue, commit, wait = np.median(np.diff(found, axis=-1), axis=(0, 1)).tolist()
    total = float(np.median(found[..., 3] - found[..., 0]))
    return {"issue": issue, "commit": commit, "wait": wait, "total": total}


@dataclass(frozen=True, slots=True)
class Hops:
    """A closed chain of pointers through cache lines: its first address and its number of lines."""

    start: int
    lines: int


def chain_lines(device: Device, words: Any, lines: IntArray, line_words: int) -> Hops:
    """Write into each line the address of the next one; the last line points to the first."""
    base = int(words.data.ptr)
    addresses = (base + lines * line_words * 8).astype(np.uint64)
    words[device.cupy.asarray(lines * line_words)] = device.cupy.asarray(np.roll(addresses, -1))
    return Hops(int(addresses[0]), len(lines))


def _per_hop(device: Device, kernel: str, chain: Hops, *, hops: int, warm: int, sm: int = -1) -> float | None:
    """Return the mean cycles of a hop, or None if no CTA ran on the wanted SM."""
    ctas = 1 if sm < 0 else 4 * device.sms
    spans = device.cupy.zeros(4, dtype=np.uint64)
    claimed = device.cupy.zeros(1, dtype=np.uint32)
    arguments = (spans, claimed, np.uint64(chain.start), np.int32(hops), np.int32(warm), np.int32(sm))
    device.launch("memory", kernel, arguments, ctas=ctas)
    begin, end = (int(value) for value in device.cupy.asnumpy(spans)[:2])
    return (end - begin) / hops if end else None


def measure_latency(device: Device, *, quick: bool) -> list[MeasuredRow]:
    """
    Measure latencies by pointer chases: L1, near and far L2 lines for several SMs, and DRAM over several regions.

    The L2 rows "line" are a histogram of single loads. They include clock reads, so they are longer than the hops of a
    chase. The rows "near" and "far" chase the lines that ``far_lines`` puts in the near and the far partition.
    """
    rows: list[MeasuredRow] = []
    generator = np.random.default_rng(0)
    words = device.cupy.zeros(_MIB, dtype=np.uint64)
    line_words = LINE_BYTES // 8
    chain = chain_lines(device, words, generator.permutation(64), line_words)
    hop = _per_hop(device, "chase_all", chain, hops=4096, warm=128)
    rows.append({"level": "l1", "what": "chase", "lines": 64, "cycles": hop or 0.0})
    lines = 1024 if quick else 4096
    for sm in range(0, device.sms, device.sms // 2 if quick else 8):
        words.fill(0)
        latencies = device.cupy.zeros(lines, dtype=np.uint32)
        claimed = device.cupy.zeros(1, dtype=np.uint32)
        arguments = (latencies, claimed, words, np.int32(lines), np.uint32(LINE_BYTES), np.int32(sm))
        device.launch("memory", "line_latencies", arguments, ctas=4 * device.sms)
        found = device.cupy.asnumpy(latencies).astype(np.int64)
        if not found.any():
            continue
        bins, counts = np.unique(found // 8 * 8, return_counts=True)
        for bin_, count in zip(bins.tolist(), counts.tolist(), strict=True):
            rows.append({"level": "l2", "what": "line", "sm": sm, "lines": count, "cycles": bin_})
        far = far_lines(found)
        for name, chosen in (("near", np.flatnonzero(~far)), ("far", np.flatnonzero(far))):
            if len(chosen) < 64:
                continue
            chain = chain_lines(device, words, generator.permutation(chosen), line_words)
            hop = _per_hop(device, "chase_l2", chain, hops=4096, warm=chain.lines, sm=sm)
            if hop is not None:
                rows.append({"level": "l2", "what": name, "sm": sm, "lines": len(chosen), "cycles": hop})
    rows += _dram_latency(device, generator, (64,) if quick else (64, 256, 1024))
    return rows


def far_lines(latencies: IntArray) -> BoolArray:
    """
    Return which lines are in the far partition: those slower than the threshold that best separates two classes.

    The threshold is Otsu's, which maximises the variance between the classes. The slowest twentieth, which contains
    misses, does not affect it. If the means of the two classes differ by less than a tenth, all lines are near.

    Args:
        latencies: Cycles of one load of each line, shape [lines].

    Returns:
        True for far lines, shape [lines].
    """
    clipped = np.minimum(latencies, int(np.percentile(latencies, 95, method="lower")))
    candidates = np.unique(clipped)[:-1]
    if not len(candidates):
        return np.zeros(latencies.shape, dtype=np.bool_)

    def between(threshold: int) -> float:
        above = clipped > threshold
        share = float(above.mean())
        return share * (1 - share) * float(clipped[above].mean() - clipped[~above].mean()) ** 2

    threshold = max(candidates.tolist(), key=between)
    above = clipped > threshold
    distinct = float(clipped[above].mean()) > 1.1 * float(clipped[~above].mean())
    far: BoolArray = (latencies > threshold) & distinct
    return far


def _dram_latency(device: Device, generator: np.random.Generator, regions: tuple[int, ...]) -> list[MeasuredRow]:
    """Chase pointers over lines that were not read after the L2 was filled with other data."""
    rows: list[MeasuredRow] = []
    flush = device.cupy.zeros(256 * _MIB, dtype=np.uint8)
    for region in regions:
        words = device.cupy.zeros(region * _MIB // 8, dtype=np.uint64)
        # Lines 4 KiB apart, so that no two are in the same DRAM burst or in neighbouring sectors.
        pages = generator.permutation(region * _MIB // 4096)[:8192]
        chain = chain_lines(device, words, pages, 4096 // 8)
        for _ in range(2):
            flush.fill(1)
            hop = _per_hop(device, "chase_l2", chain, hops=chain.lines // 16 * 16, warm=0)
            row: MeasuredRow = {
                "level": "dram",
                "what": "chase",
                "region_mib": region,
                "lines": len(pages),
                "cycles": hop or 0.0,
            }
            rows.append(row)
        del words
    return rows


@dataclass(frozen=True, slots=True)
class _Stream:
    """A read of global memory: each CTA reads ``per_cta`` bytes from byte ``cta * stride`` on, ``passes`` times."""

    level: str
    kernel: str
    ctas: int
    per_cta: int
    stride: int
    passes: int


def measure_bandwidth(device: Device, *, quick: bool) -> list[MeasuredRow]:
    """
    Measure the bandwidth of L1, L2 and DRAM for one SM and for all, with 16-byte loads.

    Column ``bytes_per_cycle`` is based on the longest span of any CTA, ``gb_per_s`` on CUDA events around the launch,
    which include launch overhead.
    """
    free = int(device.cupy.cuda.runtime.memGetInfo()[0])
    per_cta = min(16 * _MIB, free // 4 // (2 * device.sms) // (256 * _KIB) * (256 * _KIB))
    buffer = device.cupy.zeros(2 * device.sms * per_cta, dtype=np.uint8)
    # A single SM must read more than the L2 holds, or it would find data of the previous launch there.
    alone = min(512 * _MIB, 2 * device.sms * per_cta)
    streams = [
        _Stream("l1", "read_all", 1, 128 * _KIB, 0, 64),
        _Stream("l2", "read_l2", 1, _MIB, 0, 16),
        _Stream("l2", "read_l2", device.sms, 128 * _KIB, 128 * _KIB, 64),
        _Stream("l2", "read_l2", 2 * device.sms, 128 * _KIB, 128 * _KIB, 32),
        _Stream("l2 shared", "read_l2", 2 * device.sms, 4 * _MIB, 0, 1),
        _Stream("dram", "read_l2", 1, alone, 0, 1),
        _Stream("dram", "read_l2", device.sms, per_cta, per_cta, 1),
        _Stream("dram", "read_l2", 2 * device.sms, per_cta, per_cta, 1),
    ]
    return [_read(device, stream, buffer, 2 if quick else 4) for stream in streams]


def _read(device: Device, stream: _Stream, buffer: Any, repeats: int) -> MeasuredRow:
    sms = device.cupy.zeros(stream.ctas, dtype=np.uint32)
    spans = device.cupy.zeros((stream.ctas * 32, 2), dtype=np.uint64)
    arguments = (spans, sms, buffer, np.uint32(stream.per_cta), np.uint64(stream.stride), np.int32(stream.passes))

    def launch() -> None:
        device.launch("memory", stream.kernel, arguments, ctas=stream.ctas, threads=1024)

    launch()
    best: tuple[float, int] | None = None
    for _ in range(repeats):
        milliseconds = device.milliseconds(launch)
        found = device.cupy.asnumpy(spans).astype(np.int64)
        # Cycle counters of different SMs are not synchronised, so spans are taken per CTA.
        by_cta = found.reshape(stream.ctas, 32, 2)
        cycles = int((by_cta[..., 1].max(axis=1) - by_cta[..., 0].min(axis=1)).max())
        best = min(best, (milliseconds, cycles)) if best else (milliseconds, cycles)
    milliseconds, cycles = best or (0.0, 0)
    bytes_ = stream.ctas * stream.per_cta * stream.passes
    used = len(np.unique(device.cupy.asnumpy(sms)))
    return {
        "level": stream.level,
        "kernel": stream.kernel,
        "ctas": stream.ctas,
        "sms": used,
        "bytes": bytes_,
        "cycles": cycles,
        "milliseconds": milliseconds,
        "bytes_per_cycle": bytes_ / cycles,
        "bytes_per_cycle_per_sm": bytes_ / cycles / used,
        "gb_per_s": bytes_ / milliseconds / 1e6,
    }


_IN_FLIGHT: Final = ((2, 0), (2, 1), (2, 3), (4, 0), (4, 1), (4, 3), (8, 0), (8, 1), (8, 3))
"""Copies of a warp's commit group, and pending groups behind the last one."""

_FLIGHT_ROWS: Final = ((64, 512), (128, 512), (512, 1024))
"""Bytes of a row and from one row to the next."""

_FLIGHT_SHARED: Final = 131072 + 4096
_OF_ALL_BYTES, _MOST_BYTES = 18 << 20, 1 << 20
"""Bytes that all CTAs copy together, few enough that the L2 holds them twice, and most bytes of one CTA."""

_LAUNCHES_BEFORE: Final = 2
"""Launches that bring the lines to the side of the SM that copies them."""


def measure_flight(device: Device, *, quick: bool) -> list[MeasuredRow]:
    """
    Measure copies that hit the L2 and no L1, each line once, alone or beside warps that issue ldmatrix.x4.

    ``copiers`` warps of each CTA copy groups of ``copies`` x 512 bytes, with ``pending`` groups in flight behind the
    last; ``loaders`` warps load. There is one CTA on an SM, and ``shared_by`` neighbouring SMs copy the same data.
    Columns ``bytes_a_cycle`` and ``wavefronts_a_cycle`` have an SM's copied bytes and the four wavefronts of each
    ldmatrix: medians over SMs, the latter over both passes. ``cycles`` are those of the SM's last copying warp in its
    second pass.
    """
    rows: list[MeasuredRow] = []
    grids = ((1, 1), (device.sms // 4, 1), (device.sms // 2, 1), (device.sms, 1), (device.sms, 4))
    groups_in_flight = _IN_FLIGHT[:1] if quick else _IN_FLIGHT
    shapes = product(grids[:1] if quick else grids, (4, 8), (0, 8), groups_in_flight, _FLIGHT_ROWS)
    for (ctas, shared_by), copiers, loaders, (copies, pending), (row_bytes, pitch) in shapes:
        bringing, warps = device.sms if ctas > 1 else 1, copiers + loaders
        groups = bringing // shared_by
        block = copiers * copies * (WARP * 16 // row_bytes) * pitch
        own = _OF_ALL_BYTES // groups
        blocks = max(1, min(own, _MOST_BYTES) // block)
        data = device.cupy.zeros(groups * blocks * block, dtype=np.uint8)
        counts = device.cupy.zeros((device.sms, warps, 2), dtype=np.uint64)
        where = (np.int32(copiers), np.uint32(row_bytes), np.uint32(pitch), np.int32(blocks), np.uint64(blocks * block))
        # Each SM brings its own lines beforehand, even if it is idle later: lines of other SMs may cross the chip.
        for launched in (*[bringing] * _LAUNCHES_BEFORE, ctas):
            device.launch(
                "flight",
                f"flight_{copies}_{pending}",
                (counts, data, *where, np.int32(shared_by), np.int32(groups)),
                ctas=launched,
                threads=warps * WARP,
                shared=_FLIGHT_SHARED,
            )
        found = device.cupy.asnumpy(counts)[:ctas].astype(np.float64)
        cycles = float(np.median(found[:, :copiers, 0].max(axis=1)))
        loaded = (4 * found[:, copiers:, 1] / np.maximum(found[:, copiers:, 0], 1)).sum(axis=1)
        rows.append(
            {"ctas": ctas, "shared_by": shared_by, "copiers": copiers, "loaders": loaders, "copies": copies}
            | {"pending": pending, "row_bytes": row_bytes, "bytes": blocks * block, "cycles": cycles}
            | {"bytes_a_cycle": blocks * block / cycles, "wavefronts_a_cycle": float(np.median(loaded))}
        )
    return rows


_AGAIN_COPIES: Final = (2, 4, 16)
_AGAIN_GAPS: Final = (0, 100, 200, 300, 400, 600, 800, 1200)
"""Numbers of copies of a warp that fill the same memory, and cycles from one to the next."""


def measure_again(device: Device, *, quick: bool) -> list[MeasuredRow]:
    """
    Measure which copy's data remains when copies of 512 bytes fill memory that earlier copies are still filling.

    Columns ``least`` and ``most`` have the number of the copy, from 0, whose data a lane found after all had landed.
    If copies are looked up and land in order, it is the last one.
    """
    of = device.cupy.asarray(np.repeat(np.arange(max(_AGAIN_COPIES), dtype=np.uint32), 128))
    rows: list[MeasuredRow] = []
    for copies, gap in product(_AGAIN_COPIES[:1] if quick else _AGAIN_COPIES, _AGAIN_GAPS):
        left = device.cupy.zeros(WARP, dtype=np.uint32)
        for _ in range(2):
            device.launch("again", "again", (left, of, np.int32(copies), np.int32(gap)), threads=WARP)
        found = device.cupy.asnumpy(left)
        rows.append({"copies": copies, "gap": gap, "least": int(found.min()), "most": int(found.max())})
    return rows


STRIDES: Final = (1, 2, 3, 4, 5, 6, 7, 8, 12)
"""Distances of the lines of shared memory that a copy fills, in lines."""

STRIDE_ROWS: Final = (64, 128)
_STRIDE_WARPS, _STRIDE_COPIES = 8, 4
_COPY_BYTES: Final = 4 * LINE_BYTES
_STRIDE_PITCH: Final = 16384
_STRIDE_SLOTS: Final = 5
"""Least number of slots: one more than the groups in flight and the one that is being copied."""


def measure_strides(device: Device, *, quick: bool) -> list[MeasuredRow]:
    """
    Measure copies by eight warps of one SM that fill lines ``stride`` lines apart in shared memory, and hit the L2.

    The lines are those of a ring with its stages side by side. Each round fills the next slot, never one with copies in
    flight. Column ``cycles_a_copy`` has the SM's cycles for each copy of 512 bytes; ``row_bytes`` of each row in global
    memory are copied.
    """
    rows: list[MeasuredRow] = []
    copies = _STRIDE_WARPS * _STRIDE_COPIES  # of a round
    for row_bytes, stride in product(STRIDE_ROWS, STRIDES[:4] if quick else STRIDES):
        data = device.cupy.zeros(copies * _COPY_BYTES // row_bytes * _STRIDE_PITCH, dtype=np.uint8)
        rounds, blocks = _STRIDE_PITCH // row_bytes, -(-_STRIDE_SLOTS // stride)
        found = device.spans(
            "strides",
            "strides",
            (data, np.int32(rounds), *map(np.uint32, (row_bytes, _STRIDE_PITCH, stride, blocks))),
            threads=_STRIDE_WARPS * WARP,
            shared=copies * _COPY_BYTES * stride * blocks,
        )
        cycles = elapsed(found)
        each = cycles / (rounds * copies)
        rows.append({"row_bytes": row_bytes, "stride": stride, "cycles": cycles, "cycles_a_copy": each})
    return rows


_RETURNS: Final = ("loads", "loads_around", "copies", "copies_around")
"""Kernels of returns.cu: loads and copies through the L1, and loads and copies around it."""

_RETURN_ROWS: Final = (32, 64, 128, 256)
_RETURN_WARPS: Final = (1, 4, 8, 16)
_RETURN_ACCESSES, _RETURN_SLOTS = 4, 5

_RETURN_WAYS: Final = ((0, 0), (0, 96), (32, 0), (64, 0))
"""For rows that hit the L1: bytes by which they are further apart, and offset from the beginning of a line."""

_HIT_WARPS, _HIT_ROUNDS = 8, 256


def measure_returns(device: Device, *, quick: bool) -> list[MeasuredRow]:
    """
    Measure loads and copies of 512 bytes by the warps of one SM, in rows that hit the L2 and miss the L1.

    Each warp makes rounds of four, and advances by ``along`` bytes along the rows after each. If that is less than a
    line, the L1 has other sectors of the line already. With ``along`` 0 the rows hit the L1; they are ``apart`` bytes
    further apart, and begin ``behind`` bytes after the beginning of a line. Column ``cycles_each`` has the SM's cycles
    for each load or copy.
    """
    rows = [
        _returned(device, "loads", row_bytes, 0, _HIT_WARPS, apart=apart, behind=behind)
        for row_bytes, (apart, behind) in product(_RETURN_ROWS[:2], _RETURN_WAYS)
    ]
    for kernel, row_bytes, warps in product(_RETURNS, _RETURN_ROWS, _RETURN_WARPS[1::2] if quick else _RETURN_WARPS):
        steps = sorted({row_bytes, max(row_bytes, LINE_BYTES)})
        rows += [_returned(device, kernel, row_bytes, along, warps) for along in steps]
    return rows


def _returned(
    device: Device, kernel: str, row_bytes: int, along: int, warps: int, *, apart: int = 0, behind: int = 0
) -> MeasuredRow:
    pitch, accesses = _STRIDE_PITCH + apart, warps * _RETURN_ACCESSES  # of a round
    rounds = _STRIDE_PITCH // along if along else _HIT_ROUNDS
    data = device.cupy.zeros(accesses * _COPY_BYTES // row_bytes * pitch + behind, dtype=np.uint8)
    cycles = elapsed(
        device.spans(
            "returns",
            kernel,
            (data[behind:], np.int32(rounds), *map(np.uint32, (row_bytes, pitch, along))),
            threads=warps * WARP,
            shared=accesses * _COPY_BYTES * _RETURN_SLOTS if kernel.startswith("copies") else 0,
        )
    )
    shape: MeasuredRow = {"kernel": kernel, "row_bytes": row_bytes, "along": along, "warps": warps}
    return shape | {"apart": apart, "behind": behind, "cycles": cycles, "cycles_each": cycles / (rounds * accesses)}


_BURST_LOADS, _BURST_WARPS, _BURST_ROWS, _BURST_TRIPS = (1, 2, 4, 8), (1, 4, 8, 16), (64, 128), 60
"""Loads of a warp and trip in bursts.cu, warps, bytes of a row, and trips."""

_ALL_SHARED: Final = 225 * 1024
"""Shared memory of a CTA with which some 28 KiB remain for the L1."""


def measure_bursts(device: Device, *, quick: bool) -> list[MeasuredRow]:
    """
    Measure trips of a loop that loads rows from the L2 and stores them to shared memory, by warps of one CTA.

    Column ``per_trip`` has the cycles of a trip: with or without a ``barrier``, with or without storing lanes
    (``storing``), and with all ``shared`` memory allocated or only the stored bytes.
    """
    rows: list[MeasuredRow] = []
    for row_bytes, warps, loads, barrier, storing, whole in product(
        _BURST_ROWS, _BURST_WARPS[1:3] if quick else _BURST_WARPS, _BURST_LOADS, (0, 1), (0, WARP), (False, True)
    ):
        shared = _ALL_SHARED if whole else loads * warps * _COPY_BYTES
        data = device.cupy.zeros(loads * warps * _COPY_BYTES // row_bytes * _STRIDE_PITCH, dtype=np.uint8)
        arguments = (data, np.int32(_BURST_TRIPS), *map(np.uint32, (row_bytes, _STRIDE_PITCH, storing)))
        kernel = f"burst_{loads}_{barrier}"
        cycles = elapsed(device.spans("bursts", kernel, arguments, threads=warps * WARP, shared=shared))
        shape: MeasuredRow = {"row_bytes": row_bytes, "warps": warps, "loads": loads, "barrier": barrier}
        rows.append(shape | {"storing": storing, "shared": shared, "per_trip": cycles / _BURST_TRIPS})
    return rows


_WIDE: Final = {"chain_4": 4, "chain_8": 8, "chain_16": 16, "copied": 16}
"""Kernels of wide.cu: bytes of a lane."""

_WIDE_ROWS, _WIDE_CHAIN = (512, 256, 128, 64, 32, 16, 8), 64


def measure_wide(device: Device, *, quick: bool) -> list[MeasuredRow]:
    """
    Measure a warp's loads and copies, one after another, by the bytes of a lane and the rows of its lanes.

    Column ``source`` is "l1" if all access the same lines, and "l2" if each advances by a row or a line. ``cycles`` are
    those of one access with the following arithmetic, or commit and wait: medians over launches.
    """
    rows: list[MeasuredRow] = []
    for (kernel, width), source, row_bytes in product(
        _WIDE.items(), ("l1", "l2"), _WIDE_ROWS[2:4] if quick else _WIDE_ROWS
    ):
        if not width <= row_bytes <= WARP * width or (kernel == "copied" and source == "l1"):
            continue
        data = device.cupy.zeros(WARP * width // row_bytes * _STRIDE_PITCH + _STRIDE_PITCH, dtype=np.uint8)
        along = max(row_bytes, LINE_BYTES) if source == "l2" else 0
        count = min(_WIDE_CHAIN, _STRIDE_PITCH // along - 1) if along else _WIDE_CHAIN
        arguments = (data, np.int32(count), *map(np.uint32, (row_bytes, _STRIDE_PITCH, along)))
        found = [elapsed(device.spans("wide", kernel, arguments, shared=WARP * 16)) for _ in range(5)]
        shape: MeasuredRow = {"kernel": kernel, "lane_bytes": width, "row_bytes": row_bytes, "source": source}
        rows.append(shape | {"cycles": float(np.median(found[1:])) / count})
    return rows


ASTERN_READS: Final = ("ld.global", "cp.async")
ASTERN_STORES: Final = (0, 2, 4, 8, 16, 32)
ASTERN_DELAYS: Final = (0, 100, 200, 400, 800, 1600)
_ASTERN_ROUNDS, _ASTERN_WARM, _ASTERN_OF_WARP = 12, 4, 65536


def measure_astern(device: Device, *, quick: bool) -> list[MeasuredRow]:
    """
    Measure how long a load or a copy takes behind stores to global memory of other warps of its SM.

    Each of four warps issues ``stores`` of 512 bytes, and ``delay`` cycles later a fifth one reads. Column ``cycles``
    has the cycles from the read's issue to its data: medians over rounds and CTAs, one on each SM.
    """
    rows: list[MeasuredRow] = []
    warps = SMSPS + 1
    data = device.cupy.zeros(device.sms * warps * _ASTERN_OF_WARP, dtype=np.uint8)
    for (number, read), ctas in product(enumerate(ASTERN_READS), (1, device.sms)):
        for stores, delay in product(ASTERN_STORES[::3] if quick else ASTERN_STORES, ASTERN_DELAYS):
            clocks = device.cupy.zeros((ctas, _ASTERN_ROUNDS), dtype=np.uint32)
            for _ in range(2):
                arguments = (clocks, data, np.int32(delay))
                device.launch("astern", f"astern_{number}_{stores}", arguments, ctas=ctas, threads=warps * WARP)
            found = device.cupy.asnumpy(clocks)[:, _ASTERN_WARM:]
            rows.append(
                {"read": read, "ctas": ctas, "stores": stores, "delay": delay, "cycles": float(np.median(found))}
            )
    return rows


LEAVING_STORES: Final = (0, 1, 2, 4, 8, 16)
"""Stores of 512 bytes of each of the four warps at the end of a CTA of leaving.cu."""

LEAVING_PAUSES: Final = (1500, 3000, 6000)
_LEAVING_WARPS, _LEAVING_TURNS, _LEAVING_WARM = 4, 12, 3


def measure_leaving(device: Device, *, quick: bool) -> list[MeasuredRow]:
    """
    Measure when the next CTA of an SM begins after one that waits for ``pause`` cycles and ends with stores.

    One CTA is on each SM. Column ``interval`` has the cycles from one begin to the next: medians over SMs and CTAs.
    """
    rows: list[MeasuredRow] = []
    ctas = device.sms * _LEAVING_TURNS
    for pause, stores in product(LEAVING_PAUSES[: 1 if quick else None], LEAVING_STORES):
        data = device.cupy.zeros(max(1, ctas * _LEAVING_WARPS * stores * 512), dtype=np.uint8)
        begins = device.cupy.zeros((ctas, 2), dtype=np.uint64)
        for _ in range(2):
            device.launch(
                "leaving",
                f"leaving_{stores}",
                (begins, data, np.int32(pause)),
                ctas=ctas,
                threads=_LEAVING_WARPS * WARP,
                shared=LONE_CTA_BYTES,
            )
        found = device.cupy.asnumpy(begins).astype(np.int64)
        of_sms = [np.sort(found[found[:, 0] == sm, 1])[_LEAVING_WARM:] for sm in np.unique(found[:, 0])]
        intervals = np.concatenate([np.diff(begun) for begun in of_sms])
        interval = float(np.median(intervals)) if intervals.size else 0.0
        rows.append({"pause": pause, "stores": stores, "interval": interval})
    return rows
