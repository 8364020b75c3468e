"""Measures the inside of one SM: mma.sync, ldmatrix, shared memory, arithmetic, barriers, and CTA launches."""

from itertools import product
from typing import Final

import numpy as np

from gpusim.arrays import IntArray
from gpusim.errors import CannotRun
from gpusim.lab.calibrate.profiled import profile_plan
from gpusim.lab.calibrate.runner import WARP, Device, MeasuredRow, elapsed
from gpusim.layout.banks import access_wavefronts, ldmatrix_wavefronts

SMSPS = 4

MMA_TYPES = {
    "F16K16": "m16n8k16.f16.f32",
    "F16K8": "m16n8k8.f16.f32",
    "F16K16H": "m16n8k16.f16.f16",
    "F16K8H": "m16n8k8.f16.f16",
    "BF16K16": "m16n8k16.bf16.f32",
    "TF32K8": "m16n8k8.tf32.f32",
    "TF32K4": "m16n8k4.tf32.f32",
    "S8K32": "m16n8k32.s8.s32",
    "S8K16": "m16n8k16.s8.s32",
    "S4K64": "m16n8k64.s4.s32",
}
"""The machine file's key (shape.input.accumulator) of each mma.sync, by its name in the microbenchmark."""

EMULATED = "S4K64"
"""The mma.sync that sm_90 emulates by a function call. It is measured with two ILPs and without operand reuse."""

REUSE = ("same A, same B", "same A, distinct B", "distinct A, distinct B")
MMA_ORDERS = ("serpentine", "rows", "columns")
LOADS = ("none", "first", "spread")
TILES = (
    *(("F16K16", 4, 8, 0, loads) for loads in range(3)),
    ("F16K16", 4, 8, 1, 0),
    *(("F16K16", 4, 8, 2, loads) for loads in range(3)),
    *(("F16K16", m, n, 0, loads) for m, n in ((2, 8), (4, 4), (2, 4)) for loads in range(3)),
    *((name, 4, 8, 0, loads) for name in ("F16K16H", "BF16K16", "TF32K8", "S8K32") for loads in range(3)),
    *((name, 4, 8, 0, 0) for name in ("F16K8", "F16K8H", "TF32K4", "S8K16")),
    *((name, 2, 8, 0, 0) for name in MMA_TYPES if name not in {"F16K16", EMULATED}),
)
"""Warp tiles to measure: type, mma.sync along M and N, index into ``ORDERS``, index into ``LOADS``."""

_SEED = np.uint32(12345)
_ALL_SMSPS = np.int32(SMSPS)


def measure_mma(device: Device, *, quick: bool) -> list[MeasuredRow]:
    """
    Measure chains of mma.sync by type, ILP, warps and operand reuse, and then whole warp tiles.

    Column ``interval`` has the cycles of an SMSP's tensor core for each mma.sync. ``per_round`` has the cycles from one
    mma.sync of a chain to the next; its least value of a single warp with few chains is the latency.
    """
    rows: list[MeasuredRow] = []
    for name, key in MMA_TYPES.items():
        ilps = (1, 2) if name == EMULATED else (1, 2, 3, 4, 6, 8)
        variants = [(ilp, 2) for ilp in ilps] + ([] if name == EMULATED else [(4, 0), (4, 1), (8, 0), (8, 1)])
        for ilp, reuse in variants:
            for warps in (1, 8) if quick else (1, 2, 4, 8, 16):
                iterations = 4 if name == EMULATED else 64
                arguments = (np.int32(iterations), _SEED, _ALL_SMSPS)
                spans = device.spans("mma", f"chains_{name}_{ilp}_{reuse}", arguments, threads=warps * WARP)
                rounds = iterations * (48 // ilp)
                rows.append(
                    _of("chains", key, ilp=ilp, operands=REUSE[reuse])
                    | _mma_row(elapsed(spans), warps, rounds * ilp)
                    | {"per_round": elapsed(spans) / rounds}
                )
    for name, m, n, order, loads in TILES:
        for warps, smsps in ((4, 4), (8, 4)) if quick else ((4, 1), (4, 4), (8, 1), (8, 4)):
            iterations = 64
            arguments = (np.int32(iterations), _SEED, np.int32(smsps))
            kernel = f"tile_{name}_{m}_{n}_{order}_{loads}"
            spans = device.spans("mma", kernel, arguments, threads=warps * WARP)
            rows.append(
                _of("tile", MMA_TYPES[name], tile=f"{m}x{n}", order=MMA_ORDERS[order], ldmatrix=LOADS[loads])
                | {"ldmatrix_per_k_group": m + n // 2 if loads else 0}
                | _mma_row(elapsed(spans), warps * smsps // SMSPS, iterations * 2 * m * n, smsps)
            )
    return rows


def _of(pattern: str, kind: str, **columns: str | int) -> MeasuredRow:
    return {"pattern": pattern, "type": kind, **columns}


def _mma_row(cycles: int, warps: int, each: int, smsps: int = SMSPS) -> MeasuredRow:
    """Return the columns of one measurement of ``warps`` warps, each with ``each`` mma.sync."""
    on_one = -(-warps // smsps)
    return {
        "warps": warps,
        "smsps": min(warps, smsps),
        "warps_per_smsp": on_one,
        "mma_per_warp": each,
        "cycles": cycles,
        "interval": cycles / (each * on_one),
    }


def measure_ldmatrix(device: Device, *, quick: bool) -> list[MeasuredRow]:
    """
    Measure chains of ldmatrix by matrices, ILP, warps, SMSPs and row pitch.

    Column ``per_round`` has the cycles from one ldmatrix of a chain to the next; with ILP 1 and a single warp, that is
    the latency.
    """
    rows: list[MeasuredRow] = []
    for matrices in (1, 2, 4):
        for pitch in (16, 144) if quick else (16, 32, 64, 128, 144):
            lanes = np.arange(WARP, dtype=np.int64) * pitch
            wavefronts = int(ldmatrix_wavefronts(lanes, matrices))
            for ilp in (1, 2, 3, 4, 5, 8) if pitch == 16 else (1, 4):
                found = _loads(device, f"ldmatrix_{matrices}_{ilp}", ilp, pitch, short=pitch != 16 or quick)
                rows += [{"matrices": matrices, "row_bytes": pitch, "wavefronts": wavefronts} | row for row in found]
    return rows


def measure_shared(device: Device, *, quick: bool) -> list[MeasuredRow]:
    """
    Measure ld.shared, st.shared, and bursts of ld.shared.

    Column ``wavefronts`` has those of the address pattern (gpusim.layout.banks). ``per_round`` has the cycles from one
    instruction of a chain to the next. For "sts release", it has the cycles from one store to the next that overwrites
    a register of the first, including one IMAD; no figure is derived from it.
    """
    rows: list[MeasuredRow] = []
    for words in (1, 2, 4):
        for ways in (1, 2, 8, 32) if quick else (1, 2, 4, 8, 16, 32):
            pitch = 4 * words * ways
            pattern: MeasuredRow = {
                "bytes": 4 * words,
                "stride_bytes": pitch,
                "wavefronts": _wavefronts(pitch, 4 * words),
            }
            for ilp in (1, 8) if quick or ways > 1 else (1, 2, 3, 4, 5, 8):
                found = _loads(device, f"lds_{words}_{ilp}", ilp, pitch, short=quick or ways > 1)
                rows += [{"instruction": "lds"} | pattern | row for row in found]
            for warps, smsps in ((1, 1), (4, 1), (4, 4), (16, 4)):
                arguments = (np.int32(128), np.uint32(pitch), np.int32(smsps))
                spans = device.spans("shared", f"sts_{words}", arguments, threads=_threads(warps, smsps))
                rows.append({"instruction": "sts"} | pattern | _load_row(elapsed(spans), warps, smsps, 1, 128 * 16))
            arguments_release = (np.int32(128), np.uint32(pitch), np.uint32(1), np.uint32(0))
            spans = device.spans("shared", f"sts_release_{words}", arguments_release)
            rows.append({"instruction": "sts release"} | pattern | _load_row(elapsed(spans), 1, 1, 1, 128 * 16))
    for count in (1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 16, 24):
        for smsps in (1, 4):
            for ways in (1, 8, 32):
                arguments = (np.int32(32), np.uint32(4 * ways), np.int32(smsps))
                spans = device.spans("shared", f"burst_{count}", arguments, threads=smsps * WARP)
                burst: MeasuredRow = {
                    "bytes": 4,
                    "stride_bytes": 4 * ways,
                    "wavefronts": ways,
                    "warps": smsps,
                    "smsps": smsps,
                }
                rows.append({"instruction": "lds burst"} | burst | {"instructions": count, "cycles": elapsed(spans)})
    return rows


def _wavefronts(pitch: int, width: int) -> int:
    addresses: IntArray = np.arange(WARP, dtype=np.int64) * pitch
    return int(access_wavefronts(addresses, width))


def _loads(device: Device, kernel: str, ilp: int, pitch: int, *, short: bool) -> list[MeasuredRow]:
    """Measure one kernel of shared.cu with several numbers of warps; ``short`` leaves out most of them."""
    places = [(1, 1), (4, 4), (16, 4)]
    if not short:
        places = [(1, 1), (2, 1), (4, 1), (2, 4), (4, 4), (6, 4), (8, 4), (12, 4), (16, 4)]
    rows: list[MeasuredRow] = []
    for warps, smsps in places:
        arguments = (np.int32(32), np.uint32(pitch), np.int32(smsps))
        spans = device.spans("shared", kernel, arguments, threads=_threads(warps, smsps))
        rows.append({"ilp": ilp} | _load_row(elapsed(spans), warps, smsps, ilp, 32 * 8))
    return rows


def _threads(warps: int, smsps: int) -> int:
    """Return the threads to launch so that ``warps`` warps work on ``smsps`` SMSPs."""
    return WARP * (warps if smsps == SMSPS else (warps - 1) // smsps * SMSPS + (warps - 1) % smsps + 1)


def _load_row(cycles: int, warps: int, smsps: int, ilp: int, rounds: int) -> MeasuredRow:
    return {
        "warps": warps,
        "smsps": smsps,
        "instructions": warps * rounds * ilp,
        "cycles": cycles,
        "per_round": cycles / rounds,
        "per_instruction": cycles / (warps * rounds * ilp),
    }


RELEASED = (
    ("none", 1),
    *(("lds_address", 1), ("ldsm_address", 4)),
    *((f"{what}", width) for what in ("sts_address", "sts_data", "stg_data") for width in (1, 2, 4)),
)
"""Instructions whose release of a register is measured, with the words of a lane; "none" is the loop alone."""


def measure_release(device: Device, *, quick: bool) -> list[MeasuredRow]:
    """
    Measure how long a memory instruction holds the registers that it reads.

    Column ``per_trip`` has the cycles of a loop of one instruction and an IMAD that overwrites its register.
    """
    data = device.cupy.zeros(1 << 20, dtype=np.uint8)
    rows: list[MeasuredRow] = []
    trips = 128
    for name, words in RELEASED:
        for lane_bytes in (4 * words, 128):
            for warps in (1, 4) if quick else (1, 4, 8):
                arguments = (data, np.int32(trips), np.uint32(lane_bytes), np.uint32(1), np.uint32(0), _ALL_SMSPS)
                cycles = elapsed(device.spans("release", f"release_{name}_{words}", arguments, threads=warps * WARP))
                pattern: MeasuredRow = {"instruction": name, "bytes": 4 * words, "stride_bytes": lane_bytes}
                rows.append(pattern | {"warps": warps, "cycles": cycles, "per_trip": cycles / trips})
    return rows


ARITHMETIC_KERNELS = (
    *("lop3", "imad", "ffma", "fadd", "fmnmx", "hfma2", "mufu_ex2", "mufu_rsq", "f2fp", "shfl", "shf", "prmt", "popc"),
    "isetp_sel",
)
MIXED_WITH_MUFU = (8, 12, 16, 24, 32)
LOOP_BODIES = (1, 2, 4, 8, 16, 32)


def measure_arith(device: Device, *, quick: bool) -> list[MeasuredRow]:
    """
    Measure chains of one arithmetic instruction, and then loops of LOP3.

    Column ``per_round`` with ILP 1 and a single warp is the latency; ``interval`` has the cycles that an SMSP takes for
    each instruction. isetp_sel is two instructions that count as one. For a loop, ``per_round`` has the cycles of an
    iteration.
    """
    rows: list[MeasuredRow] = []
    for name in ARITHMETIC_KERNELS:
        for ilp in (1, 8):
            for warps in (1, 16) if quick else (1, 4, 8, 16, 32):
                arguments = (np.int32(32), np.uint32(3), np.uint32(5), _ALL_SMSPS)
                cycles = elapsed(device.spans("arith", f"{name}_{ilp}", arguments, threads=warps * WARP))
                rounds = 32 * (64 // ilp)
                each = {"per_round": cycles / rounds, "interval": cycles / (rounds * ilp * -(-warps // SMSPS))}
                rows.append({"instruction": name, "ilp": ilp, "warps": warps, "cycles": cycles} | each)
    for others in MIXED_WITH_MUFU:
        for warps in (4, 8):
            arguments = (np.int32(64), np.uint32(3), np.uint32(5), _ALL_SMSPS)
            cycles = elapsed(device.spans("arith", f"mufu_and_{others}", arguments, threads=warps * WARP))
            row: MeasuredRow = {"instruction": f"mufu and {others} ffma", "warps": warps, "cycles": cycles}
            rows.append(row | {"per_round": cycles / (64 * 8)})
    for body in LOOP_BODIES:
        arguments_loop = (np.int32(1024), np.uint32(3), np.uint32(5))
        cycles = elapsed(device.spans("arith", f"loop_{body}", arguments_loop))
        rows.append({"instruction": f"loop of {body} lop3", "warps": 1, "cycles": cycles, "per_round": cycles / 1024})
    return rows


def measure_barrier(device: Device, *, quick: bool) -> list[MeasuredRow]:
    """
    Measure successive bar.sync by warps of a CTA and CTAs of an SM.

    Column ``per_barrier`` has the cycles from one barrier to the next.
    """
    rows: list[MeasuredRow] = []
    for ctas_per_sm in (1, 2):
        for warps in (1, 4, 8, 32) if quick else (1, 2, 3, 4, 6, 8, 12, 16, 24, 32):
            iterations = 100
            ctas = 1 if ctas_per_sm == 1 else 2 * device.sms
            sms = device.cupy.zeros(ctas, dtype=np.uint32)
            # Two CTAs with 100 KiB of shared memory each fill an SM. A third does not fit.
            shared = 1024 if ctas_per_sm == 1 else 100 * 1024
            arguments = (sms, np.int32(iterations))
            place = {"ctas": ctas, "threads": warps * WARP, "shared": shared}
            spans = device.spans("arith", "barriers", arguments, **place)
            by_cta = spans.reshape(ctas, warps, 2)
            cycles = by_cta[..., 1].max(axis=1) - by_cta[..., 0].min(axis=1)
            where = device.cupy.asnumpy(sms)
            together = np.array([int((where == sm).sum()) for sm in where]) == ctas_per_sm
            if not together.any():
                continue
            each = float(np.median(cycles[together])) / (iterations * 16)
            rows.append({"ctas_per_sm": ctas_per_sm, "warps": warps, "barriers": iterations * 16, "per_barrier": each})
    return rows


def measure_barred(device: Device, *, quick: bool) -> list[MeasuredRow]:
    """
    Measure trips of stores to shared memory, with and without a barrier behind them, and with a load that follows.

    Column ``per_trip`` has the cycles of a trip. Stores with lanes ``stride_bytes`` apart take ``wavefronts``.
    """
    rows: list[MeasuredRow] = []
    trips = 256
    for stores in (0, 4) if quick else (0, 1, 2, 4):
        for barrier, load in product((0, 1), (0, 1)):
            for stride in (4, 32, 128):
                for warps in (1, 8) if quick else (1, 4, 8, 16):
                    arguments = (np.int32(trips), np.uint32(stride))
                    kernel = f"barred_{stores}_{barrier}_{load}"
                    cycles = elapsed(device.spans("barred", kernel, arguments, threads=warps * WARP))
                    what: MeasuredRow = {"stores": stores, "barrier": barrier, "load": load, "stride_bytes": stride}
                    what |= {"wavefronts": _wavefronts(stride, 4), "warps": warps, "cycles": cycles}
                    rows.append(what | {"per_trip": cycles / trips})
    return rows


_ATOMICS_OTHERS: Final = ("none", "sts", "lds", "ldmatrix")
"""Accesses between atomics in shared memory: four of 512 bytes without a conflict."""

_ATOMICS_TRIPS, _ATOMICS_WARP_BYTES, _ATOMICS_SHARED = 256, 8192, 16 * (2048 + 128)


def measure_atomics(device: Device, *, quick: bool) -> list[MeasuredRow]:
    """
    Measure trips of four accesses to shared memory and an atomic there, or a store to global memory.

    ``lanes`` lanes of an atomic access one word; a store has 512 bytes. Column ``per_trip`` has the cycles of an SM for
    a trip of one warp.
    """
    rows: list[MeasuredRow] = []
    data = device.cupy.zeros(16 * _ATOMICS_WARP_BYTES, dtype=np.uint8)
    for others, (one, lanes), warps in product(
        _ATOMICS_OTHERS,
        (("nothing", 1), ("stg", 1), *(("atomic", lanes) for lanes in (1, 2, 4, 8, 16, 32))),
        (1, 16) if quick else (1, 4, 16),
    ):
        if others == "none" and one == "nothing":
            continue
        cycles = elapsed(
            device.spans(
                "atomics",
                f"{others}_{one}",
                (data, np.int32(_ATOMICS_TRIPS), np.uint32(lanes)),
                threads=warps * WARP,
                shared=_ATOMICS_SHARED,
            )
        )
        what: MeasuredRow = {"others": others, "one": one, "lanes": lanes, "warps": warps, "cycles": cycles}
        rows.append(what | {"per_trip": cycles / (_ATOMICS_TRIPS * warps)})
    return rows


STORED_PROBES: Final = ("barrier", "lds", "sts lds", "sts barrier", "stg barrier", "copy barrier", "sts barrier lds")
"""Timed instructions beside stores to global memory, by their numbers in the microbenchmark."""

_STORED_WARPS, _STORED_PROBING, _STORED_LATE, _STORED_BYTES = 12, 7, 8, 8192
_STORED_BUSY: Final = {"0 1 2": 0b0111, "1 2 3": 0b1110, "0 1 2 3": 0b1111}
"""The SMSPs whose first warp stores, and a mask of these warps."""

_STORED_COUNTS: Final = (0, 4, 8, 12, 16)
_STORED_DELAYS: Final = (100, 150, 200, 300, 400, 600)
_STORED_LAUNCHES = 5


def measure_stored(device: Device, *, quick: bool) -> list[MeasuredRow]:
    """
    Measure which instructions wait behind stores to global memory that leave an SM slowly.

    A warp of each SMSP in ``busy`` issues ``stores`` of 16 bytes a lane. ``delay`` cycles later, a warp of SMSP 3 and
    its ``partner`` on SMSP 3 or 0 load from shared memory or meet at a barrier, and another warp of SMSP 0 loads. The
    columns have cycles, medians over launches: ``issued`` of the stores' issue by the slowest warp, ``cycles`` of the
    warp of SMSP 3, ``partners`` of its partner, ``late`` of the other warp.
    """
    rows: list[MeasuredRow] = []
    data = device.cupy.zeros(_STORED_WARPS * _STORED_BYTES, dtype=np.uint8)
    stamps = device.cupy.zeros((_STORED_WARPS, 2), dtype=np.uint64)
    for (number, probe), (name, busy), partner, stores, delay in product(
        enumerate(STORED_PROBES),
        _STORED_BUSY.items(),
        (_STORED_PROBING + SMSPS, SMSPS),
        _STORED_COUNTS[:2] if quick else _STORED_COUNTS,
        _STORED_DELAYS,
    ):
        arguments = (stamps, data, *map(np.uint32, (1, busy, delay, partner)))
        found = []
        for _ in range(1 + _STORED_LAUNCHES):
            device.launch("stored", f"stored_{stores}_{number}", arguments, threads=_STORED_WARPS * WARP)
            found.append(np.diff(device.cupy.asnumpy(stamps).astype(np.int64))[:, 0])
        took = np.median(found[1:], axis=0).astype(np.int64)
        row: MeasuredRow = {"probe": probe, "busy": name, "partner": partner % SMSPS, "stores": stores, "delay": delay}
        issued = max(int(took[warp]) for warp in range(SMSPS) if busy >> warp & 1)
        row |= {"issued": issued, "cycles": int(took[_STORED_PROBING])}
        rows.append(row | {"partners": int(took[partner]), "late": int(took[_STORED_LATE])})
    return rows


_FENCED_COUNTS: Final = (0, 8, 12)
_FENCED_SM, _FENCED_NONE = 0, 2


def measure_fenced(device: Device, *, quick: bool) -> list[MeasuredRow]:
    """
    Measure whether a barrier of one CTA orders the instructions of another CTA of its SM, with the warps of stored.csv.

    CTA ``storing`` has three warps that store. CTA ``meeting`` has two warps that meet at a barrier and load behind it
    (2 means no such CTA). CTA ``loading`` has one warp that loads 80 cycles later. Columns ``cycles`` and ``late`` have
    the cycles of the slower of the two warps, and of the load: medians over launches.
    """
    rows: list[MeasuredRow] = []
    data = device.cupy.zeros(_STORED_WARPS * _STORED_BYTES, dtype=np.uint8)
    stamps = device.cupy.zeros((2, _STORED_WARPS, 2), dtype=np.uint64)
    for (name, busy), meeting, loading, stores, delay in product(
        list(_STORED_BUSY.items())[:2],
        (0, 1, _FENCED_NONE),
        (0, 1),
        _FENCED_COUNTS[:2] if quick else _FENCED_COUNTS,
        _STORED_DELAYS[:4],
    ):
        found = []
        for _ in range(1 + _STORED_LAUNCHES):
            meets = device.cupy.zeros(5, dtype=np.uint64)
            numbers = map(np.uint32, (1, _FENCED_SM, 0, meeting, loading, busy, delay))
            arguments, threads = (stamps, data, meets, *numbers), _STORED_WARPS * WARP
            device.launch("stored", f"fenced_{stores}", arguments, ctas=4 * device.sms, threads=threads)
            found.append(np.diff(device.cupy.asnumpy(stamps).astype(np.int64))[:, :, 0])
        took = np.median(found[1:], axis=0).astype(np.int64)
        row: MeasuredRow = {"busy": name, "storing": 0, "meeting": meeting, "loading": loading}
        row |= {"stores": stores, "delay": delay}
        met = 0 if meeting == _FENCED_NONE else int(took[meeting, [_STORED_PROBING, _STORED_PROBING + SMSPS]].max())
        rows.append(row | {"cycles": met, "late": int(took[loading, _STORED_LATE])})
    return rows


ARRIVED: Final = ("sts.128", "stg.128", "cp.async.cg")
"""Instructions before a barrier, by their number in the microbenchmark."""

_ARRIVED_COPY: Final = 2
_ARRIVED_ROWS: Final = (512, 128, 64, 32)
_ARRIVED_COUNTS: Final = (2, 4, 8)
_ARRIVED_PITCH: Final = 4096
_ARRIVED_DELAYS: Final = (0, 40, 80, 120, 160, 240, 320, 480)


def measure_arrived(device: Device, *, quick: bool) -> list[MeasuredRow]:
    """
    Measure when a warp of an idle SMSP loads from shared memory, beside the instructions of three other SMSPs.

    Each of ``warps`` warps issues ``count`` instructions (copies have rows of ``row_bytes``). The loading warp begins
    ``delay`` cycles later. With ``barrier`` 1, it waits at a barrier that the others reach after their instructions.
    Columns have cycles from its begin, medians over launches: ``released`` until it may load, ``landed`` until the word
    has arrived.
    """
    rows: list[MeasuredRow] = []
    cases: list[tuple[int, int, int]] = [(0, 0, 512)]
    for number in range(len(ARRIVED)):
        lengths = _ARRIVED_ROWS if number == _ARRIVED_COPY else _ARRIVED_ROWS[:1]
        cases += [(number, count, length) for length, count in product(lengths, _ARRIVED_COUNTS)]
    for warps, (number, count, length), barrier in product((3, 6), cases[:3] if quick else cases, (0, 1)):
        all_warps = warps // 3 * SMSPS + 1
        stamps = device.cupy.zeros((all_warps, 3), dtype=np.uint64)
        data = device.cupy.zeros(all_warps * max(1, count) * (WARP * 16 // length) * _ARRIVED_PITCH, dtype=np.uint8)
        kernel, shared = f"arrived_{number}_{count}_{length}_{barrier}", all_warps * _ARRIVED_PITCH
        for delay in _ARRIVED_DELAYS[:1] if barrier else _ARRIVED_DELAYS:
            found = []
            for _ in range(1 + _STORED_LAUNCHES):
                arguments = (stamps, data, np.uint32(1), np.uint32(delay))
                device.launch("arrived", kernel, arguments, threads=all_warps * WARP, shared=shared)
                begin, *at = device.cupy.asnumpy(stamps).astype(np.int64)[-1]
                found.append([cycle - begin for cycle in at])
            released, landed = np.median(found[1:], axis=0).astype(np.int64).tolist()
            row: MeasuredRow = {"instruction": ARRIVED[number] if count else "", "count": count, "row_bytes": length}
            row |= {"warps": warps, "barrier": barrier, "delay": delay}
            rows.append(row | {"released": released, "landed": landed})
    return rows


_EMPTY_METRICS = (
    "sm__cycles_elapsed.max",
    "sm__cycles_active.max",
    "sm__cycles_active.avg",
    "gpc__cycles_elapsed.max",
    "gpu__time_duration.sum",
)


def measure_launch(device: Device, *, quick: bool) -> list[MeasuredRow]:
    """
    Measure when CTAs start, by the SM's cycle counter and the chip's timer, and profile an empty kernel with ncu.

    If ncu is missing or fails, a row of kind "note" has the reason in column ``kernel``.
    """
    rows: list[MeasuredRow] = []
    for threads, per_sm in ((128, 8),) if quick else ((128, 8), (32, 16), (1024, 2), (1024, 4)):
        ctas = per_sm * device.sms
        seen = device.cupy.zeros((ctas, 4), dtype=np.uint64)
        for _ in range(2):
            device.launch("arith", "cta_starts", (seen, np.int32(40_000)), ctas=ctas, threads=threads)
        found = device.cupy.asnumpy(seen).astype(np.int64)
        first_time = int(found[:, 2].min())
        for cta, (sm, begin, time, end) in enumerate(found.tolist()):
            place: MeasuredRow = {"kind": "cta", "threads": threads, "ctas": ctas, "cta": cta, "sm": sm}
            rows.append(place | {"begin": begin, "end": end, "nanoseconds": time - first_time})
    try:
        counted = profile_plan("empty", _EMPTY_METRICS, device.sms, quick=quick)
    except CannotRun as error:
        return [*rows, {"kind": "note", "kernel": f"empty kernels were not profiled: {error}"}]
    kind: MeasuredRow = {"kind": "empty"}
    return [*rows, *(kind | row for row, _ in counted)]
