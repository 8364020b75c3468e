"""Measures how instruction streams of one SM slow each other in the data stage, the MIO and the issue slots."""

from itertools import product
from typing import Final

import numpy as np

from gpusim.lab.calibrate.grids import LONE_CTA_BYTES
from gpusim.lab.calibrate.runner import WARP, Device, MeasuredRow, elapsed
from gpusim.lab.calibrate.runs import SMSPS

BESIDE_LDMATRIX: Final = ("cp.async.cg", "cp.async.ca", "ld.global.cg", "ld.global.ca", "st.shared")
"""The other memory instructions of mixed streams, by their numbers in the microbenchmark; 16 bytes a lane each."""

_MEMORY_MIXES = ((8, 1), (8, 2), (8, 4), (8, 8), (0, 4), (0, 8))
_MMA_MIXES = (
    *((loads, 0, 0, 32) for loads in (0, 8, 16)),
    *((8, copies, 0, 32) for copies in (2, 4, 8)),
    *((16, 8, 0, 32), (0, 4, 0, 32)),
    *((8, 4, other, 32) for other in (2, 3, 4)),
)
MIXES: Final = (
    *((8, 0, 0, 0), (16, 0, 0, 0)),
    *((loads, others, other, 0) for other in range(len(BESIDE_LDMATRIX)) for loads, others in _MEMORY_MIXES),
    *_MMA_MIXES,
)
"""Streams: numbers of ldmatrix.x4 and of other accesses in a trip, index of these into ``BESIDE_LDMATRIX``, and number
of mma.sync m16n8k16."""

_STEP = 131072
_SHARED_BYTES = 32768
_FILLED_BYTES = {"cp.async.cg": 12288, "cp.async.ca": 8192}
"""Bytes of shared memory that all warps share, and that the copies of each warp fill."""

_TRIPS = 128
_ROWS = ((512, 512), (64, 16384), (128, 16384))
"""Bytes of a row and from one row to the next: contiguous, and those of k tiles of 32 and of 64 elements of 16 bits."""


def measure_mix(device: Device, *, quick: bool) -> list[MeasuredRow]:
    """
    Measure streams of ldmatrix.x4 with other accesses and mma.sync between them.

    Column ``per_trip`` has the cycles of one trip; ``source`` is where the accesses find their data (``_sources``).
    """
    rows: list[MeasuredRow] = []
    data = device.cupy.zeros((device.sms * 16 * 8 + 1) * _STEP, dtype=np.uint8)
    for loads, others, other, mma in MIXES[:4] if quick else MIXES:
        is_global = bool(others) and BESIDE_LDMATRIX[other] != "st.shared"
        for row_bytes, pitch in _ROWS if is_global else _ROWS[:1]:
            for source, span in _sources(BESIDE_LDMATRIX[other], row_bytes) if is_global else (("", 0),):
                # For all SMs, rows that miss the L1 do not fit into the L2.
                for ctas in (1, device.sms) if is_global and span < _TRIPS * row_bytes else (1,):
                    for warps in (4, 8, 16):
                        arguments = (data, np.int32(_TRIPS), np.uint32(row_bytes), np.uint32(pitch), np.uint32(span))
                        cycles = cycles_of_a_cta(
                            device,
                            f"mix_{loads}_{others}_{other}_{mma}",
                            (*arguments, np.int32(SMSPS)),
                            ctas=ctas,
                            warps=warps,
                            own_bytes=_FILLED_BYTES.get(BESIDE_LDMATRIX[other], 0) if others else 0,
                        )
                        shape: MeasuredRow = {"ldmatrix": loads, "others": others, "mma": mma}
                        shape |= {"other": BESIDE_LDMATRIX[other] if others else "", "source": source}
                        shape |= {"row_bytes": row_bytes if is_global else "", "ctas": ctas, "warps": warps}
                        rows.append(shape | {"trips": _TRIPS, "cycles": cycles, "per_trip": cycles / _TRIPS})
    return rows


def _sources(other: str, row_bytes: int) -> tuple[tuple[str, int], ...]:
    """
    Return the sources of the accesses, and the bytes over which their rows advance.

    "l2" advances to rows that the launch has not read before. "few" repeats four rows and "l1" one, so accesses through
    the L1 hit it.
    """
    again = ("few", 4 * row_bytes) if other.endswith(".cg") else ("l1", row_bytes)
    return (again, ("l2", _TRIPS * row_bytes))


def cycles_of_a_cta(
    device: Device, kernel: str, arguments: tuple[object, ...], *, ctas: int, warps: int, own_bytes: int
) -> int:
    """Return the median over the CTAs of the cycles from a CTA's first begin to its last end."""
    shared = _SHARED_BYTES + warps * own_bytes
    spans = device.spans("mix", kernel, arguments, ctas=ctas, threads=warps * WARP, shared=shared, repeats=3).reshape(
        ctas, warps, 2
    )
    return int(np.median([elapsed(one) for one in spans]))


FIRST: Final = {1: "mma", 2: "ldmatrix", 3: "lop3", 8: "lds.32", 11: "cp.async release", 12: "ldmatrix release"}
SECOND: Final = {
    0: "",
    1: "mma",
    2: "ldmatrix",
    3: "lop3",
    4: "cp.async.cg",
    5: "cp.async.ca",
    6: "ld.global.cg",
    7: "st.shared.128",
    8: "lds.32",
    9: "ffma",
    10: "imad",
    13: "lds.128",
    14: "st.global.128",
    15: "ld.global.ca",
}
"""Streams of a duel by their numbers in the microbenchmark: the timed ones, and the others."""

WHAT: Final = {
    0: "",
    1: "mma",
    2: "lop3 of 1",
    3: "lop3 of 3",
    4: "ffma of 1",
    5: "ffma of 3",
    6: "imad of 1",
    7: "imad of 3",
    8: "iadd3",
    9: "ldmatrix",
    10: "mma of two tiles",
    11: "isetp and iadd3",
}
"""Instructions of a dispatch stream by their number in the microbenchmark, with the registers that they read."""

_COUNTS = (8, 16, 32, 64)
_FIRSTS = 16
DISPATCHED: Final = (
    *((first, 0, 0) for first in (1, 10, 2, 3, 4, 5, 6, 7, 8, 11)),
    *((first, second, count) for first in (1, 10) for second in (2, 3, 4, 5, 6, 7, 8, 11) for count in _COUNTS),
    *((1, 9, 8), (1, 9, 16), (10, 9, 4)),
    *((one, two, n) for one, two in ((2, 4), (2, 6), (3, 5), (3, 7), (4, 6), (2, 9), (4, 9)) for n in _COUNTS),
)
"""Streams: the first instruction (sixteen in a trip), the second one (keys of ``WHAT``), and its number in a trip."""


def measure_dispatch(device: Device, *, quick: bool) -> list[MeasuredRow]:
    """
    Measure streams of two instructions that every warp issues in turn. Column ``per_trip`` has the cycles of a trip.
    """
    rows: list[MeasuredRow] = []
    trips = 64
    for first, second, count in DISPATCHED[:12] if quick else DISPATCHED:
        for warps in (4, 8, 16):
            kernel = f"dispatch_{first}_{_FIRSTS}_{second}_{count}"
            cycles = elapsed(device.spans("dispatch", kernel, (np.int32(trips), np.uint32(3)), threads=warps * WARP))
            row: MeasuredRow = {"first": WHAT[first], "firsts": _FIRSTS, "second": WHAT[second], "seconds": count}
            rows.append(row | {"warps": warps, "cycles": cycles, "per_trip": cycles / trips})
    return rows


_EIGHT_A_ROUND = frozenset({"ldmatrix", "lds.128", "ld.global.cg", "ld.global.ca"})
_ONE_A_ROUND = frozenset({"cp.async release", "ldmatrix release"})


def instructions_of_a_round(stream: str) -> int:
    """Return the number of instructions in one round of a stream."""
    return 8 if stream in _EIGHT_A_ROUND else 1 if stream in _ONE_A_ROUND else 16


SPECIAL_DUELS: Final = {1: (16,), 2: (16,), 3: (16,), 8: (16,), 9: (0, 16), 16: (0, 1, 2, 3, 7, 8, 9, 13, 16)}
"""Duels with a MUFU: the second streams of each first one, by their numbers in the microbenchmark."""

_STREAMS: Final = {**SECOND, **FIRST, 16: "mufu"}


def measure_special(device: Device, *, quick: bool) -> list[MeasuredRow]:
    """
    Measure the cost of a MUFU beside other instructions, as ``measure_duel`` does for other streams.

    One warp on each SMSP issues the first stream, and one or three other warps there the second.
    """
    rows: list[MeasuredRow] = []
    for one, others in SPECIAL_DUELS.items():
        for other in others[:1] if quick else others:
            rows.extend(duel(device, one, other, warps) for warps in ((8, 16) if other else (8,)))
    return rows


SPECIAL_BEHIND: Final = ("", "lds.32", "ldmatrix.x4", "shfl", "sts.32", "fadd")
"""Instruction of a warp behind its MUFUs, by its number in the microbenchmark."""

SPECIAL_COUNTS: Final = (0, 1, 2, 3, 4, 6, 8, 12, 16)


def measure_special_queue(device: Device, *, quick: bool) -> list[MeasuredRow]:
    """
    Measure the issue of successive MUFUs of a warp, and when a memory instruction behind them is served.

    Columns have cycles from the clock read ahead of the MUFUs (``count`` 0 has none): ``issued`` until the last MUFU
    has issued, ``behind`` until the instruction behind it has issued, ``landed`` until its value can be used. They are
    medians over the warps, one, two or four on each of ``smsps`` SMSPs.
    """
    rows: list[MeasuredRow] = []
    for number, name in enumerate(SPECIAL_BEHIND):
        for count, smsps, warps in product(SPECIAL_COUNTS[:2] if quick else SPECIAL_COUNTS, (1, SMSPS), (1, 2, 4)):
            stamps = device.cupy.zeros((SMSPS * warps, 3), dtype=np.uint64)
            for _ in range(2):
                arguments = (stamps, np.int32(smsps), np.uint32(0))
                device.launch("special", f"special_{count}_{number}", arguments, threads=SMSPS * warps * WARP)
            found = device.cupy.asnumpy(stamps).astype(np.int64)
            taking = found[[warp for warp in range(SMSPS * warps) if warp % SMSPS < smsps]]
            row: MeasuredRow = {"behind": name, "count": count, "smsps": smsps, "warps": warps}
            issued, behind, landed = (float(value) for value in np.median(taking, axis=0))
            rows.append(row | {"issued": issued, "then": behind, "landed": landed})
    return rows


def measure_duel(device: Device, *, quick: bool) -> list[MeasuredRow]:
    """
    Measure one warp's stream on each SMSP beside another stream of one or three other warps there.

    Columns ``cycles`` and ``each`` have the cycles of the first stream and of one of its instructions; ``seconds`` the
    instructions that the other warps of an SMSP issue in that time.
    """
    rows: list[MeasuredRow] = []
    for one in FIRST:
        for other, second in SECOND.items():
            rows.extend(duel(device, one, other, warps) for warps in ((8,) if quick or not second else (8, 16)))
    return rows


_DUEL_ROUNDS = 256
_DUEL_SHARED = 16384 + 12 * 16384
"""Bytes of shared memory: those that all warps share, and those that twelve copying warps fill."""


def duel(device: Device, one: int, other: int, warps: int) -> MeasuredRow:
    """Measure one stream beside another, by their numbers in the microbenchmark; return the row."""
    first, second = _STREAMS[one], _STREAMS[other]
    data = device.cupy.zeros(16 << 17, dtype=np.uint8)
    counts = device.cupy.zeros((warps, 3), dtype=np.uint64)
    arguments = (counts, data, np.int32(_DUEL_ROUNDS), np.uint32(1))
    for _ in range(2):
        device.launch("duel", f"duel_{one}_{other}", arguments, threads=warps * WARP, shared=_DUEL_SHARED)
    found = device.cupy.asnumpy(counts).astype(np.int64)
    cycles = int(found[:SMSPS, 1].max() - found[:SMSPS, 0].min())
    row: MeasuredRow = {"first": first, "second": second, "warps": warps, "cycles": cycles}
    row |= {"each": cycles / (_DUEL_ROUNDS * instructions_of_a_round(first))}
    issued = int(found[SMSPS:, 2].sum()) * instructions_of_a_round(second) if second else 0
    return row | {"seconds": issued / SMSPS}


GAP_ACCESSES: Final = ("sts.32", "sts.64", "sts.128", "lds.32", "ldmatrix.x4", "stg.128", "cp.async")
"""Accesses of a burst by their number in the microbenchmark."""

GAP_MMA: Final = ("", "m16n8k16.f16.f32", "m16n8k8.f16.f32", "m16n8k32.s8.s32", "m16n8k16.f16.f16")
"""Instructions of another warp of the SMSP meanwhile, by their numbers: none, or mma.sync."""

GAP_COUNTS: Final = (0, 2, 4, 8)
_GAP_TRIPS, _GAP_MMA_A_TRIP, _GAP_BURSTS, _GAP_WARM = 100, 128, 24, 4
_GAP_SHARED = 32768


def measure_gaps(device: Device, *, quick: bool) -> list[MeasuredRow]:
    """
    Measure bursts of memory instructions, of one warp on each SMSP, beside another warp's mma.sync without a pause.

    Medians over bursts, in cycles from the burst's begin: ``issued`` until the last instruction has issued, ``landed``
    until all are done (for stores, until a load behind a barrier is done). ``mma_each`` has the cycles of an mma.sync,
    over all from the first burst on, and after the last one.
    """
    rows: list[MeasuredRow] = []
    data = device.cupy.zeros(1 << 20, dtype=np.uint8)
    for (what, access), (number, mma) in product(enumerate(GAP_ACCESSES), enumerate(GAP_MMA)):
        for count in GAP_COUNTS[-1:] if quick else GAP_COUNTS:
            clocks = device.cupy.zeros(SMSPS * (_GAP_BURSTS * 2 + 1), dtype=np.uint32)
            for _ in range(2):
                device.launch(
                    "gaps",
                    f"gaps_{what}_{count}_{number}",
                    (clocks, data, np.int32(_GAP_TRIPS)),
                    threads=2 * SMSPS * WARP,
                    shared=_GAP_SHARED,
                )
            found = device.cupy.asnumpy(clocks).astype(np.int64)
            bursts = found[: SMSPS * _GAP_BURSTS * 2].reshape(SMSPS, _GAP_BURSTS, 2)[:, _GAP_WARM:]
            row: MeasuredRow = {"access": access, "mma": mma, "count": count}
            row |= {
                "issued": float(np.median(bursts[:, :, 0])),
                "landed": float(np.median(bursts[:, :, 1].max(axis=0))),
            }
            each = float(np.median(found[-SMSPS:])) / (_GAP_TRIPS * _GAP_MMA_A_TRIP)
            rows.append(row | {"mma_each": each if mma else ""})
    return rows


TURNS: Final = ("ffma", "lop3", "mma", "ldmatrix", "mma_and_lop3")
QUARTERS: Final = 4


def measure_turns(device: Device, *, quick: bool) -> list[MeasuredRow]:
    """
    Measure the progress of each warp of an SMSP while all of its warps issue the same instructions.

    Columns ``quarter_1`` to ``quarter_4`` have the cycles from the first warp's start until this warp has done one to
    four quarters of its work.
    """
    rows: list[MeasuredRow] = []
    rounds = 16
    for name in TURNS:
        for warps in (8,) if quick else (4, 8, 12, 16):
            stamps = device.cupy.zeros((warps, QUARTERS + 1), dtype=np.uint64)
            for _ in range(2):
                device.launch("turns", f"turns_{name}", (stamps, np.int32(rounds)), threads=warps * WARP)
            found = device.cupy.asnumpy(stamps).astype(np.int64)
            found -= found[:, 0].min()
            for warp, seen in enumerate(found.tolist()):
                row: MeasuredRow = {"instruction": name, "warps": warps, "warp": warp, "rounds": rounds * QUARTERS}
                rows.append(row | {"begin": seen[0]} | {f"quarter_{number}": seen[number] for number in range(1, 5)})
    return rows


def measure_loaded(device: Device, *, quick: bool) -> list[MeasuredRow]:
    """
    Measure how long tiles take to arrive from the L2 while all SMs request theirs at a given pace.

    Columns ``issue`` and ``landed`` have the cycles from a tile's first copy to the issue of its last one, and to its
    arrival; ``step`` has those from one tile to the next. They are means over tiles and medians over CTAs. ``longest``
    is the median of each CTA's longest.
    """
    rows: list[MeasuredRow] = []
    steps, threads, rows_of = 64, 128, ((64, 4096), (128, 4096), (2048, 2048))
    for copies, per_sm in ((8, 1),) if quick else ((2, 1), (4, 1), (8, 1), (16, 1), (8, 2)):
        for row_bytes, pitch in rows_of:
            for shared_by in (1, 4, 16):
                span = row_bytes * 4 if row_bytes < pitch else pitch
                tile = copies * (threads // (row_bytes // 16)) * pitch if row_bytes < pitch else copies * pitch
                ctas = per_sm * device.sms
                data = device.cupy.zeros(-(-ctas // shared_by) * tile + tile, dtype=np.uint8)
                for pace in (0, 200, 300, 400, 500, 600, 800, 1000, 1500, 3000):
                    clocks = device.cupy.zeros((ctas, 4), dtype=np.uint64)
                    arguments = (clocks, data, np.int32(steps), np.int32(pace), np.int32(shared_by))
                    arguments_rows = (np.uint32(row_bytes), np.uint32(pitch), np.uint32(span))
                    device.launch(
                        "loaded",
                        f"paced_{copies}",
                        (*arguments, *arguments_rows),
                        ctas=ctas,
                        threads=threads,
                        shared=max(copies * threads * 16, 60_000 if per_sm == 1 else 50_000) if per_sm > 1 else 120_000,
                    )
                    found = np.median(device.cupy.asnumpy(clocks).astype(np.int64), axis=0)
                    shape: MeasuredRow = {
                        "copies": copies,
                        "ctas": ctas,
                        "row_bytes": row_bytes,
                        "shared_by": shared_by,
                    }
                    rows.append(
                        shape
                        | {"pace": pace, "tile_bytes": copies * threads * 16}
                        | {
                            "step": float(found[0]) / steps,
                            "issue": float(found[1]) / steps,
                            "landed": float(found[2]) / steps,
                            "longest": float(found[3]),
                        }
                    )
    return rows


def measure_order(device: Device, *, quick: bool) -> list[MeasuredRow]:
    """
    Measure a release after stores, and an acquiring poll: medians over warps.

    Columns ``stored``, ``released`` and ``poll`` have the cycles of the stores' issue, of the following addition to a
    flag (or of the fence), and of one poll.
    """
    rows: list[MeasuredRow] = []
    polls, warps = 8, 4
    for kernel in ("release_add", "release_fence"):
        for ctas in (1, device.sms):
            for stores in (0, 1, 16) if quick else (0, 1, 2, 4, 8, 16, 32):
                clocks = device.cupy.zeros((ctas * warps, 3), dtype=np.uint64)
                flags = device.cupy.zeros(ctas * warps * 64, dtype=np.int32)
                data = device.cupy.zeros(max(1, ctas * warps * WARP * 16 * stores), dtype=np.uint8)
                for _ in range(3):
                    device.launch(
                        "order",
                        kernel,
                        (clocks, flags, data, np.int32(stores), np.int32(polls)),
                        ctas=ctas,
                        threads=warps * WARP,
                    )
                found = np.median(device.cupy.asnumpy(clocks).astype(np.int64), axis=0)
                row: MeasuredRow = {"kernel": kernel, "ctas": ctas, "warps": warps, "stores": stores}
                rows.append(
                    row | {"stored": float(found[0]), "released": float(found[1]), "poll": float(found[2]) / polls}
                )
    return rows


def measure_handover(device: Device, *, quick: bool) -> list[MeasuredRow]:
    """
    Measure reads of 2 KB, one after the other, of data that another SM, the reader or an earlier kernel stored.

    Column ``cycles`` has the cycles of one read, median over the pairs of CTAs.
    """
    rows: list[MeasuredRow] = []
    threads = 128
    for stored_by, number in (("another SM", 0), ("the reader", 1), ("an earlier kernel", 2)):
        for pairs in (1, device.sms // 2):
            for reads in (4, 32) if quick else (4, 8, 16, 32):
                clocks = device.cupy.zeros(pairs, dtype=np.uint64)
                data = device.cupy.zeros(pairs * reads * threads * 16, dtype=np.uint8)
                for _ in range(3):
                    flags = device.cupy.zeros(pairs * 64, dtype=np.int32)
                    arguments = (clocks, flags, data, np.int32(reads), np.int32(number))
                    device.launch("order", "handover", arguments, ctas=2 * pairs, threads=threads)
                found = float(np.median(device.cupy.asnumpy(clocks).astype(np.int64))) / reads
                row: MeasuredRow = {"stored_by": stored_by, "pairs": pairs, "reads": reads}
                rows.append(row | {"cycles": found})
    return rows


BEHIND: Final = ("ex2", "sts of 32 wavefronts", "lds.32", "ldmatrix.x4", "shfl", "ffma")
"""Instructions that wait behind one another, by their number in the microbenchmark."""

_BEHIND_SECONDS: Final = (0, 2, 3, 4, 5)
_BEHIND_COUNTS: Final = (0, 1, 2, 4, 8, 15)
_BEHIND_REPEATS: Final = 8


def measure_behind(device: Device, *, quick: bool) -> list[MeasuredRow]:
    """
    Measure when the result of an instruction is ready behind independent instructions of the same warp.

    Columns ``issued`` and ``cycles`` have the cycles until all of the ``firsts`` have issued, and until the second's
    result is ready: medians over repetitions, one warp on each of ``smsps`` SMSPs. They include clock reads.
    """
    rows: list[MeasuredRow] = []
    for first, name in enumerate(BEHIND):
        for second in _BEHIND_SECONDS[:2] if quick else _BEHIND_SECONDS:
            for count in _BEHIND_COUNTS[:2] if quick else _BEHIND_COUNTS:
                for smsps in (1, SMSPS):
                    stamps = device.cupy.zeros((SMSPS, _BEHIND_REPEATS, 2), dtype=np.uint32)
                    arguments = (stamps, np.int32(smsps), np.uint32(1))
                    device.launch("behind", f"behind_{first}_{count}_{second}", arguments, threads=SMSPS * WARP)
                    found = device.cupy.asnumpy(stamps).astype(np.int64)[:smsps, 1:].reshape(-1, 2)
                    row: MeasuredRow = {"first": name, "firsts": count, "second": BEHIND[second], "smsps": smsps}
                    issued, cycles = (float(value) for value in np.median(found, axis=0))
                    rows.append(row | {"issued": issued, "cycles": cycles})
    return rows


BESIDE_MMA: Final = ("", "ldmatrix.x4", "cp.async.cg", "lds.32", "sts.128")
"""Memory instructions between a warp's own mma.sync, by their number in the microbenchmark."""

_BESIDE_TRIPS: Final = 256


def measure_beside(device: Device, *, quick: bool) -> list[MeasuredRow]:
    """
    Measure trips of 24 mma.sync with memory instructions between them, in equal warps.

    After the last of ``count`` memory instructions, its address (or its stored data) is overwritten, or with ``uses`` 1
    its loaded value is used. Column ``per_trip`` has the cycles of a trip, the median over the warps. In the row
    without an instruction, the trip only overwrites.
    """
    rows: list[MeasuredRow] = []
    data = device.cupy.zeros(1 << 20, dtype=np.uint8)
    for number, name in enumerate(BESIDE_MMA):
        for uses in (0, 1) if name in {"ldmatrix.x4", "lds.32"} else (0,):
            for count in (1, 2, 4) if name and not quick else (1,):
                for warps in (1, SMSPS, 2 * SMSPS):
                    cycles = device.cupy.zeros(2 * SMSPS, dtype=np.uint32)
                    arguments = (cycles, data, np.int32(_BESIDE_TRIPS), np.uint32(1), np.uint32(1))
                    for _ in range(2):
                        device.launch("beside", f"beside_{number}_{uses}_{count}", arguments, threads=warps * WARP)
                    found = device.cupy.asnumpy(cycles).astype(np.int64)[:warps]
                    row: MeasuredRow = {"instruction": name, "uses": uses, "count": count, "warps": warps}
                    rows.append(row | {"per_trip": float(np.median(found)) / _BESIDE_TRIPS})
    return rows


_ADMITTED_ROLES: Final = {"loads": 1, "stores": 2}
_ADMITTED_ORDERS: Final = (
    ("loads",),
    *(("loads", "stores"), ("stores", "loads")),
    *(("loads", "stores", "stores"), ("stores", "loads", "stores"), ("stores", "stores", "loads")),
)
"""Work of the CTAs of an SM, in the order of their launch."""

_ADMITTED_TRIPS: Final = ((1, 0), (4, 0), (12, 0), (4, 1))
"""Number of ldmatrix in a trip, and whether each waits for the previous one."""

_ADMITTED_ROWS: Final = (2, 4, 8, 32)
"""Successive stores of a warp."""

_ADMITTED_BEFORE, _ADMITTED_CYCLES, _ADMITTED_SPAN = 20_000, 40_000, 1 << 20
_ADMITTED_CTAS: Final = 4
"""CTAs of an SM for which the kernel has counts."""

_ADMITTED_SHARED: Final = {1: LONE_CTA_BYTES, 2: 100 << 10, 3: 64 << 10}
"""Shared memory of a CTA in addition to the kernel's own, by the number of CTAs on an SM."""


def measure_admitted(device: Device, *, quick: bool) -> list[MeasuredRow]:
    """
    Measure how long ldmatrix.x4 wait behind stores to global memory of other CTAs, launched before or after.

    Column ``cycles`` has the cycles of a trip of ``loads`` ldmatrix, including clock reads: the mean over warps and
    SMs; ``most`` those of the longest trip; ``stored`` the bytes a cycle of all storing CTAs of an SM.
    """
    rows: list[MeasuredRow] = []
    data = device.cupy.zeros(device.sms * _ADMITTED_SPAN, dtype=np.uint8)
    cases = list(product(_ADMITTED_ORDERS, _ADMITTED_TRIPS, _ADMITTED_ROWS, (0, -1)))
    for order, (loads, chained), row_of, only in cases[:: 63 if quick else 1]:
        roles = sum(_ADMITTED_ROLES[role] << 2 * turn for turn, role in enumerate(order))
        shared = _ADMITTED_SHARED[len(order)]
        for _ in range(2):
            counts = device.cupy.zeros((device.sms, _ADMITTED_CTAS, SMSPS, 3), dtype=np.uint64)
            came = device.cupy.zeros(device.sms, dtype=np.uint32)
            sizes = (np.uint64(_ADMITTED_SPAN), came, np.uint32(roles), np.int32(only))
            times = (np.int32(_ADMITTED_BEFORE), np.int32(_ADMITTED_CYCLES))
            arguments = (counts, data, *sizes, *times)
            kernel, ctas = f"admitted_{loads}_{row_of}_{chained}", len(order) * device.sms
            device.launch("admitted", kernel, arguments, ctas=ctas, threads=SMSPS * WARP, shared=shared)
        found = device.cupy.asnumpy(counts).astype(np.int64)[: 1 if only >= 0 else None]
        trips = found[:, [turn for turn, role in enumerate(order) if role == "loads"]]
        stores = found[:, [turn for turn, role in enumerate(order) if role == "stores"], :, 0].sum() * row_of
        rows.append(
            {
                "ctas": " ".join(order),
                "loads": loads,
                "chained": chained,
                "stores": row_of,
                "sms": "one" if only >= 0 else "all",
                "cycles": round(float(trips[..., 1].sum() / max(1, trips[..., 0].sum())), 1),
                "most": int(trips[..., 2].max()),
                "stored": round(float(stores * 16 * WARP / _ADMITTED_CYCLES / len(found)), 2),
            }
        )
    return rows
