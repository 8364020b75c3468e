"""Measures copies of tiles and the instructions behind them, waiting memory accesses, and the choice of warps."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import product
from typing import Any, Final

import numpy as np

from gpusim.arrays import IntArray
from gpusim.lab.calibrate.runner import WARP, Device, MeasuredRow
from gpusim.lab.calibrate.runs import SMSPS
from gpusim.layout.banks import access_wavefronts, ldmatrix_wavefronts
from gpusim.units import LINE_BYTES

BESIDE: Final = ("", "ldmatrix", "ldmatrix and mma", "mma")
"""Instructions of other warps beside the copies, by their number in the microbenchmark."""

TILE_COPIES: Final = ((4, 0), (4, 3), (8, 0), (8, 1), (8, 3))
"""Copies of a round, and groups that may be in flight after it."""

TILE_ROWS: Final = (
    (512, 4096),
    (256, 8192),
    (128, 1024),
    (128, 4096),
    (128, 4224),
    (128, 8192),
    (64, 1024),
    (64, 4096),
    (64, 4160),
    (64, 8192),
)
"""Bytes of a row and from one row to the next."""

TILE_CYCLES: Final = 20_000
_SHARED_BYTES: Final = 147456
_SPAN_ROWS, _SPAN_ROWS_OF_ALL = 8, 4
"""Row lengths over which rounds advance before they start again; fewer if all SMs have rows of their own, so that the
L2 holds them."""


@dataclass(frozen=True, slots=True)
class TileStreams:
    """
    Warps of each SM that copy tiles, and two warps on each SMSP that issue other instructions.

    Attributes:
        beside: Instructions of the other warps, an index into ``BESIDE``.
        copies: Copies of a round.
        pending: Groups that may be in flight after a round.
        copiers: Copying warps on each SMSP.
        row_bytes: Bytes of a row in global memory.
        pitch: Bytes from one row to the next.
        ctas: CTAs, one on an SM.
        shared_by: CTAs that copy the same tiles.
    """

    beside: int
    copies: int = 8
    pending: int = 1
    copiers: int = 1
    row_bytes: int = 512
    pitch: int = 4096
    ctas: int = 1
    shared_by: int = 1


def measure_tiles(device: Device, *, quick: bool) -> list[MeasuredRow]:
    """
    Measure copies of tiles by some warps of each SM while others issue ldmatrix, mma.sync or both.

    Column ``copies_a_cycle`` has the copies of 512 bytes that the copying warps of an SM issue. Column
    ``rounds_a_cycle`` has the rounds of the other warps: 8 ldmatrix.x4, 16 mma.sync, or both. Medians over SMs.
    """
    rows: list[MeasuredRow] = []
    for beside in range(len(BESIDE)):
        if beside:
            rows.append(run_tiles(device, TileStreams(beside, copiers=0)))
        for copies, pending in TILE_COPIES[2:3] if quick else TILE_COPIES:
            for row_bytes, pitch in TILE_ROWS[:2] if quick else TILE_ROWS:
                for copiers in (1, 2):
                    for ctas, shared_by in ((1, 1), (device.sms, 1), (device.sms, 8)):
                        streams = TileStreams(beside, copies, pending, copiers, row_bytes, pitch, ctas, shared_by)
                        rows.append(run_tiles(device, streams))
    return rows


def launch_tiles(device: Device, streams: TileStreams) -> IntArray:
    """Launch twice; return the rounds of each warp in the second launch, CTA by CTA."""
    warps = (streams.copiers + (2 if streams.beside else 0)) * SMSPS
    again = _SPAN_ROWS_OF_ALL if streams.ctas > streams.shared_by == 1 else _SPAN_ROWS
    row_bytes, pitch = streams.row_bytes, streams.pitch
    span = min(pitch, again * row_bytes) if row_bytes < pitch else row_bytes
    footprint = streams.copies * (WARP * 16 // row_bytes) * pitch
    groups = -(-streams.ctas // streams.shared_by)
    data = device.cupy.zeros(groups * max(1, streams.copiers) * SMSPS * footprint + pitch, dtype=np.uint8)
    counts = device.cupy.zeros((streams.ctas, warps), dtype=np.uint64)
    arguments = (counts, data, np.int32(streams.copiers * SMSPS), np.int32(TILE_CYCLES))
    where = (np.uint32(row_bytes), np.uint32(pitch), np.uint32(span), np.int32(streams.shared_by))
    for _ in range(2):
        device.launch(
            "tiles",
            f"tiles_{streams.beside}_{streams.copies}_{streams.pending}",
            (*arguments, *where),
            ctas=streams.ctas,
            threads=warps * WARP,
            shared=_SHARED_BYTES,
        )
    found: IntArray = device.cupy.asnumpy(counts).astype(np.int64)
    return found


def run_tiles(device: Device, streams: TileStreams) -> MeasuredRow:
    """Launch, and return the row."""
    found, copying = launch_tiles(device, streams), streams.copiers * SMSPS
    copied = float(np.median(found[:, :copying].sum(axis=1))) * streams.copies / TILE_CYCLES
    other = float(np.median(found[:, copying:].sum(axis=1))) / TILE_CYCLES
    shape: MeasuredRow = asdict(streams) | {"beside": BESIDE[streams.beside]}
    return shape | {"copies_a_cycle": copied, "rounds_a_cycle": other}


QUEUED: Final = (
    "lds.32",
    "lds.128",
    "ldmatrix.x4",
    "sts.32",
    "sts.128",
    "cp.async.cg",
    "ldg.128",
    "shfl",
    "stg.128",
    "ldmatrix.x1",
)
"""Instructions that wait behind slow stores, by their number in the microbenchmark."""

TIMED: Final = 24


def measure_backlog(device: Device, *, quick: bool) -> list[MeasuredRow]:
    """
    Measure the issue of successive memory instructions behind stores of 32 wavefronts.

    Columns ``at_0`` to ``at_24`` have the cycle after the issue of the stores and of each instruction. There is one
    warp on each of ``smsps`` SMSPs; the columns are means over them.
    """
    rows: list[MeasuredRow] = []
    for number, name in enumerate(QUEUED):
        for smsps in (1, SMSPS):
            for blockers in (0, 4) if quick else (0, 1, 2, 4, 8):
                stamps = device.cupy.zeros((SMSPS, TIMED + 1), dtype=np.uint64)
                data = device.cupy.zeros(4 << 20, dtype=np.uint8)
                arguments = (stamps, data, np.int32(blockers), np.int32(smsps))
                for _ in range(2):
                    device.launch("backlog", f"backlog_{number}", arguments, threads=SMSPS * WARP)
                found = device.cupy.asnumpy(stamps).astype(np.int64)[:smsps].mean(axis=0)
                row: MeasuredRow = {"instruction": name, "smsps": smsps, "blockers": blockers}
                rows.append(row | {f"at_{index}": float(value) for index, value in enumerate(found.tolist())})
    return rows


HELD: Final = ("cp.async.cg", "cp.async.ca", "ldmatrix.x4", "ldg.128", "lds.32", "sts.128", "stg.128")
"""Instructions of a burst whose registers are held, by their number in the microbenchmark."""

HELD_BEHIND: Final = ("", "lds.32", "chain of lds.32 on SMSP 3")
"""Timed events, by their number in the microbenchmark: release of the registers, a load behind, or loads beside."""

_HELD_GLOBAL: Final = frozenset({0, 1, 3})
_HELD_COUNTS: Final = ((1, 0), (2, 0), (3, 0), (4, 0), (8, 0), (1, 4))
"""Instructions of a burst, and ldmatrix.x4 ahead of it."""

_HELD_ROWS: Final = (512, 128, 64, 32)
"""Bytes of a row of the copies."""

_BESIDE, _BESIDE_AT = 2, 4
_HELD_WARPS: Final = (1, 4, 8)
_HELD_PITCH: Final = 4096


def measure_held(device: Device, *, quick: bool) -> list[MeasuredRow]:
    """
    Measure when a burst of memory instructions, issued by several warps at once, releases its registers.

    Columns have cycles from the begin of the first warp. ``then_0`` to ``then_7`` have, for each warp, the cycle at
    which the last instruction's address may be overwritten, or at which a word that is loaded behind it has arrived
    (``behind``); for warps that load beside the bursts, the end of a chain of twelve. ``begun`` is the begin of the
    last warp, ``landed`` the arrival of all data. Every launch makes three passes; the last one counts. The addresses
    of ldg.128 and stg.128 are not overwritten: their columns have the end of issue. Nothing waits for stores to global
    memory.
    """
    rows: list[MeasuredRow] = []
    for number, name in enumerate(HELD):
        lengths = _HELD_ROWS if number in _HELD_GLOBAL else _HELD_ROWS[:1]
        for row_bytes, (count, ahead), behind, warps in product(
            lengths[:1] if quick else lengths,
            _HELD_COUNTS[:2] if quick else _HELD_COUNTS,
            range(len(HELD_BEHIND)),
            _HELD_WARPS[:2] if quick else _HELD_WARPS,
        ):
            if behind == _BESIDE and (count, ahead) != _HELD_COUNTS[_BESIDE_AT]:
                continue
            stamps = device.cupy.zeros((warps, 3), dtype=np.uint64)
            touched = warps * count * (WARP * 16 // row_bytes) * _HELD_PITCH
            data = device.cupy.zeros(touched + _HELD_PITCH, dtype=np.uint8)
            kernel = f"held_{number}_{count}_{ahead}_{row_bytes}_{behind}"
            device.launch("held", kernel, (stamps, data, np.uint32(1)), threads=warps * WARP)
            begun, then, landed = device.cupy.asnumpy(stamps).astype(np.int64).T
            row: MeasuredRow = {"instruction": name, "count": count, "ahead": ahead, "row_bytes": row_bytes}
            row |= {"behind": HELD_BEHIND[behind], "warps": warps}
            row |= {"begun": int(begun.max() - begun.min()), "landed": int(landed.max() - begun.min())}
            rows.append(row | {f"then_{warp}": int(at - begun.min()) for warp, at in enumerate(then)})
    return rows


FREED_SOURCES: Final = ("l1", "l2")
"""Sources of the loads' lines: those of the previous pass, or their neighbours, which an earlier launch has brought."""

FREED_BYTES: Final = (8, 16)
FREED_ROWS: Final = ((128, 4096), (64, 4096), (64, 4160), (32, 4096), (32, 4128))
"""Bytes of a row and from one row to the next."""

FREED_COUNTS: Final = (1, 4, 8, 12, 16)
_FREED_WARPS: Final = (1, 4, 8)
_FREED_PASSES, _FREED_WARM = 10, 2


def measure_freed(device: Device, *, quick: bool) -> list[MeasuredRow]:
    """
    Measure when a burst of loads of global memory releases its address registers.

    ``count`` loads of ``bytes`` a lane by each warp of an SM read rows of ``row_bytes`` that are ``pitch`` apart.
    Columns ``issued``, ``freed`` and ``landed`` have the cycles until a warp's loads have issued, until it has
    overwritten their address, and until all data has arrived: means over warps and passes.
    """
    rows: list[MeasuredRow] = []
    warps_of = _FREED_WARPS[1:2] if quick else _FREED_WARPS
    for (source, name), bytes_ in product(enumerate(FREED_SOURCES), FREED_BYTES):
        for (row_bytes, pitch), count, warps in product(FREED_ROWS, FREED_COUNTS, warps_of):
            span = warps * count * WARP * bytes_ // row_bytes * pitch
            data = device.cupy.zeros(span * (_FREED_PASSES if source else 1), dtype=np.uint8)
            counts = device.cupy.zeros((warps, 3), dtype=np.uint64)
            sizes = (np.uint32(_FREED_PASSES), np.uint64(span * source), np.uint32(0))
            kernel = f"freed_{bytes_}_{count}_{row_bytes}_{pitch}"
            for _ in range(2):
                device.launch("freed", kernel, (counts, data, *sizes), ctas=device.sms, threads=warps * WARP)
            found = device.cupy.asnumpy(counts).astype(np.int64).mean(axis=0) / (_FREED_PASSES - _FREED_WARM)
            row: MeasuredRow = {"source": name, "bytes": bytes_, "row_bytes": row_bytes, "pitch": pitch}
            issued, moved, landed = (round(float(cycles), 1) for cycles in found)
            row |= {"warps": warps, "count": count}
            rows.append(row | {"issued": issued, "freed": moved, "landed": landed})
    return rows


AHEAD: Final = ("sts.32", "lds.32", "atoms.32", "ldmatrix.x4")
"""Accesses to shared memory ahead of a load, by their number in the microbenchmark."""

_AHEAD_COUNTS: Final = (0, 1, 2, 4, 8, 14)
_AHEAD_DELAY: Final = 64
"""Cycles from the first access to the load: the time in which 14 accesses issue without waiting."""

_AHEAD_REPEATS: Final = 8


def measure_ahead(device: Device, *, quick: bool) -> list[MeasuredRow]:
    """
    Measure how long a load from shared memory waits behind earlier accesses of other warps of its SM.

    Each of ``busy`` warps, one on an SMSP, issues ``count`` accesses; then a second warp of SMSP ``loader`` loads.
    Columns ``issued`` and ``cycles`` have the cycles of the accesses' issue, and of the load: medians over repetitions.
    """
    rows: list[MeasuredRow] = []
    for number, name in enumerate(AHEAD):
        matrices = name == "ldmatrix.x4"
        for lane_bytes in (16, 128) if quick or matrices else (4, 16, 32, 128):
            lanes: IntArray = np.arange(WARP, dtype=np.int64) * lane_bytes
            wavefronts = int(ldmatrix_wavefronts(lanes, 4) if matrices else access_wavefronts(lanes, 4))
            for count, busy, loader in product(
                _AHEAD_COUNTS[:2] if quick else _AHEAD_COUNTS, (1, 2, SMSPS), (0, SMSPS - 1)
            ):
                stamps = device.cupy.zeros((2 * SMSPS, _AHEAD_REPEATS), dtype=np.uint32)
                where = (np.int32(busy), np.int32(loader), np.uint32(_AHEAD_DELAY), np.uint32(1))
                arguments = (stamps, np.uint32(lane_bytes), *where)
                device.launch("ahead", f"ahead_{number}_{count}", arguments, threads=2 * SMSPS * WARP)
                found = np.median(device.cupy.asnumpy(stamps).astype(np.int64)[:, 1:], axis=1)
                row: MeasuredRow = {"ahead": name, "stride_bytes": lane_bytes, "wavefronts": wavefronts}
                row |= {"count": count, "busy": busy, "loader": loader}
                rows.append(row | {"issued": float(found[:busy].mean()), "cycles": float(found[SMSPS + loader])})
    return rows


CHOSEN: Final = ("ffma", "lop3", "mma", "ldmatrix.x4", "lds.32", "cp.async.cg")
"""Instructions of all warps of an SMSP, by their number in the microbenchmark."""

CHOSEN_CYCLES: Final = 20_000


def measure_chosen(device: Device, *, quick: bool) -> list[MeasuredRow]:
    """
    Measure how often an SMSP chooses each of several warps that can all issue.

    Columns ``rounds_0`` and so on have the rounds of 16 instructions in ``CHOSEN_CYCLES`` cycles, for the warps of
    SMSP 0, from the oldest to the youngest one of a CTA.
    """
    rows: list[MeasuredRow] = []
    for number, name in enumerate(CHOSEN):
        for warps in (2,) if quick else (1, 2, 3, 4):
            counts = device.cupy.zeros(SMSPS * warps, dtype=np.uint64)
            data = device.cupy.zeros(1 << 16, dtype=np.uint8)
            for _ in range(2):
                arguments = (counts, data, np.int32(CHOSEN_CYCLES))
                device.launch("chosen", f"chosen_{number}", arguments, threads=SMSPS * warps * WARP)
            found = device.cupy.asnumpy(counts).astype(np.int64)[::SMSPS]
            row: MeasuredRow = {"instruction": name, "warps": warps}
            rows.append(row | {f"rounds_{warp}": int(count) for warp, count in enumerate(found)})
    return rows


ELDERS: Final = (*CHOSEN, "ldmatrix.x4 and mma")
"""Instructions of all warps of CTAs that share an SM, by their number in the microbenchmark."""

ELDER_ROUNDS: Final = 200
_SHARED_OF_ALL: Final = 120_000
"""Bytes of dynamic shared memory that CTAs of one SM divide among them, so that no more fit."""


def measure_elders(device: Device, *, quick: bool) -> list[MeasuredRow]:
    """
    Measure which CTA an SMSP serves first, of CTAs that begin at once and whose warps can all issue.

    Every warp does ``ELDER_ROUNDS`` rounds of 16 instructions. Columns ``end_0`` and so on have the cycles from the
    first begin on an SM to the end of each of its CTAs, in launch order: means over a CTA's warps, medians over SMs.
    """
    rows: list[MeasuredRow] = []
    data = device.cupy.zeros(1 << 16, dtype=np.uint8)
    for (number, name), per_sm, warps in product(enumerate(ELDERS), (2,) if quick else (1, 2, 3, 4), (1, 2)):
        ctas, threads = per_sm * device.sms, SMSPS * warps * WARP
        for _ in range(2):
            stamps = device.cupy.zeros((ctas, SMSPS * warps, 3), dtype=np.uint64)
            arguments = (stamps, data, np.int32(ELDER_ROUNDS))
            shared = _SHARED_OF_ALL // per_sm
            device.launch("chosen", f"elders_{number}", arguments, ctas=ctas, threads=threads, shared=shared)
        found = device.cupy.asnumpy(stamps).astype(np.int64)
        of_sm: dict[int, list[IntArray]] = {}
        for cta in found:
            of_sm.setdefault(int(cta[0, 0]), []).append(cta[:, 1:])
        ends = [[cta[:, 1].mean() - min(c[:, 0].min() for c in own) for cta in own] for own in of_sm.values()]
        row: MeasuredRow = {"instruction": name, "ctas": per_sm, "warps": warps, "sms": len(of_sm)}
        medians = np.median([end[:per_sm] for end in ends if len(end) >= per_sm], axis=0)
        rows.append(row | {f"end_{cta}": float(end) for cta, end in enumerate(medians)})
    return rows


BEHIND_COPIES: Final = {
    0: "",
    1: "commit",
    3: "commit, wait",
    4: "barrier",
    5: "commit, barrier",
    7: "commit, wait, barrier",
    8: "addresses",
    15: "commit, wait, barrier, addresses",
}
"""Instructions behind each tile's copies, by their number in the microbenchmark. The wait leaves six groups pending."""

_COMMIT_ROWS: Final = (64, 128, 512)
_COMMIT_COPIES: Final = (1, 2, 4, 8)
_COMMIT_WARPS: Final = (1, 2)
_COMMIT_PITCH, _COMMIT_TILES, _COMMIT_PASSES = 8192, 16, 33
_COMMIT_SHARED: Final = 16384


def measure_commits(device: Device, *, quick: bool) -> list[MeasuredRow]:
    """
    Measure successive tiles of a few cp.async.cg of 16 bytes, with the instructions that kernels have behind them.

    Column ``cycles`` has the cycles of a tile: the mean over all passes but the first, which brings the rows to the L2,
    and the median over warps. ``behind`` names the instructions behind each tile's copies.
    """
    rows: list[MeasuredRow] = []
    for row_bytes, copies, behind in product(
        _COMMIT_ROWS[:1] if quick else _COMMIT_ROWS, _COMMIT_COPIES[:1] if quick else _COMMIT_COPIES, BEHIND_COPIES
    ):
        for per_smsp, ctas in product(_COMMIT_WARPS, (1, device.sms)):
            warps = per_smsp * SMSPS
            span = warps * copies * (WARP * 16 // row_bytes) * _COMMIT_PITCH
            data = device.cupy.zeros(ctas * span, dtype=np.uint8)
            clocks = device.cupy.zeros((ctas, warps), dtype=np.uint64)
            device.launch(
                "commits",
                f"commits_{row_bytes}_{copies}_{behind}",
                (clocks, data, np.int32(_COMMIT_PASSES), np.uint32(span), np.uint64(0)),
                ctas=ctas,
                threads=warps * WARP,
                shared=warps * _COMMIT_SHARED,
            )
            cycles = float(np.median(device.cupy.asnumpy(clocks))) / ((_COMMIT_PASSES - 1) * _COMMIT_TILES)
            row: MeasuredRow = {"row_bytes": row_bytes, "copies": copies, "behind": BEHIND_COPIES[behind]}
            rows.append(row | {"warps": per_smsp, "ctas": ctas, "cycles": cycles})
    return rows


_COPY_PITCH: Final = 12288
_FILL_ROWS: Final = (128, 64, 32)
_FILL_APART: Final = (1, 2, 3, 4, 5, 8)
_FILL_GROUPS: Final = ((64, 1, 2), (64, 4, 2), (64, 1, 7), (64, 4, 7))
_FILL_WARPS: Final = 4
_FILL_LENGTHS: Final = (32, 96)
_FILL_SHARED: Final = 226 << 10


def measure_fills(device: Device, *, quick: bool) -> list[MeasuredRow]:
    """
    Measure streams of cp.async.cg on one SM whose four lines of shared memory are some lines apart.

    Column ``cycles`` has the cycles of a copy, over all warps, from the difference of two lengths; ``copies`` the
    copies of a commit group.
    """
    rows: list[MeasuredRow] = []
    shapes = [(row_bytes, apart, 4) for row_bytes, apart in product(_FILL_ROWS, _FILL_APART)]
    for row_bytes, apart, copies in shapes[::7] if quick else [*shapes, *_FILL_GROUPS]:
        kernel = f"fills_{row_bytes}_{apart}_{copies}"
        data = device.cupy.zeros(_FILL_WARPS * copies * (512 // row_bytes) * _COPY_PITCH, dtype=np.uint8)
        spans = device.cupy.zeros((_FILL_WARPS, 2), dtype=np.uint64)
        taken = []
        for groups in _FILL_LENGTHS:
            arguments = (spans, data, np.int32(groups), np.uint32(_COPY_PITCH))
            for _ in range(3):
                device.launch("copies", kernel, arguments, threads=_FILL_WARPS * WARP, shared=_FILL_SHARED)
            begin, end = device.cupy.asnumpy(spans).astype(np.int64).T
            taken.append(int(end.max() - begin.min()))
        cycles = (taken[1] - taken[0]) / ((_FILL_LENGTHS[1] - _FILL_LENGTHS[0]) * copies * _FILL_WARPS)
        rows.append({"row_bytes": row_bytes, "lines_apart": apart, "copies": copies, "cycles": cycles})
    return rows


_LOADERS: Final = 16
_COPIERS: Final = 4
_CROWDED_COPIES: Final = (0, 1, 2, 4)
_CROWDED_ROWS: Final = (128, 64)
_CROWDED_MMA: Final = (0, 8)
_CROWDED_CYCLES: Final = 60_000
_CROWDED_SHARED: Final = 160 << 10


def measure_crowded(device: Device, *, quick: bool) -> list[MeasuredRow]:
    """
    Measure by how much copies slow ldmatrix.x4 of 16 warps, which keep the SM's data stage busy, with mma.sync or not.

    Columns ``ldmatrix``, ``copied`` and ``mma`` have the instructions that an SM issues in ``cycles``; ``copies`` the
    copies of a commit group, 0 for none. ptxas puts three predicated-off loads before each group.
    """
    rows: list[MeasuredRow] = []
    for mma, row_bytes, copies in product(_CROWDED_MMA, _CROWDED_ROWS[:1] if quick else _CROWDED_ROWS, _CROWDED_COPIES):
        data = device.cupy.zeros(_COPIERS * 4 * (512 // row_bytes) * _COPY_PITCH + _COPY_PITCH, dtype=np.uint8)
        arguments, warps = (data, np.uint32(_CROWDED_CYCLES), np.uint32(_COPY_PITCH)), (_LOADERS, _COPIERS, mma)
        found = _issued(device, "copies", f"crowded_{row_bytes}_{copies}", arguments, warps, _CROWDED_SHARED)
        row: MeasuredRow = {"row_bytes": row_bytes, "copies": copies, "mma_warps": mma, "cycles": _CROWDED_CYCLES}
        rows.append(row | dict(zip(("ldmatrix", "copied", "mma"), found, strict=True)))
    return rows


def _issued(  # noqa: PLR0917 - as a launch's
    device: Device, source: str, kernel: str, arguments: tuple[Any, ...], warps: Sequence[int], shared: int
) -> list[int]:
    """Launch a kernel of one CTA twice. It counts each warp's instructions; return the sums of the second launch."""
    counts = device.cupy.zeros(sum(warps), dtype=np.uint64)
    for _ in range(2):
        device.launch(source, kernel, (counts, *arguments), threads=sum(warps) * WARP, shared=shared)
    found = device.cupy.asnumpy(counts).astype(np.int64)
    return [int(part.sum()) for part in np.split(found, np.cumsum(warps)[:-1])]


CROSSED_MOST: Final = {"sts16": 4, "sts8": 2, "sts4": 1, "lds16": 4, "ldmatrix": 4}
"""Accesses of 16 warps that keep the data stage busy, and the wavefronts of one access."""

_CROSSED_FEW: Final = ("copies", "loads", "lds4", "lds16", "sts16", "stg", "ldmatrix", "zeros")
"""Accesses of four warps beside them."""

_CROSSED_WARPS, _CROSSED_CYCLES, _CROSSED_SHARED = (16, 4), 40_000, 64 << 10
_CROSSED_GLOBAL: Final = 16 << 10


def measure_crossed(device: Device, *, quick: bool) -> list[MeasuredRow]:
    """
    Measure by how much accesses of four warps slow those of 16 warps that keep the data stage busy.

    Columns ``issued`` and ``few_issued`` have the instructions of both that an SM issues in ``cycles``. The four warps
    issue four at a time, at least ``gap`` cycles apart.
    """
    rows: list[MeasuredRow] = []
    data = device.cupy.zeros(_CROSSED_WARPS[1] * _CROSSED_GLOBAL, dtype=np.uint8)
    for most, (few, gap) in product(
        CROSSED_MOST, (("nothing", 0), *product(_CROSSED_FEW, (1024,) if quick else (0, 256, 512, 1024)))
    ):
        arguments = (data, np.uint32(_CROSSED_CYCLES), np.uint32(gap))
        found = _issued(device, "crossed", f"{most}_{few}", arguments, _CROSSED_WARPS, _CROSSED_SHARED)
        row: MeasuredRow = {"most": most, "few": few, "gap": gap, "cycles": _CROSSED_CYCLES}
        rows.append(row | dict(zip(("issued", "few_issued"), found, strict=True)))
    return rows


THROUGH_SHAPES: Final = ((4, 64), (4, 32), (4, 16), (8, 64), (8, 32), (16, 64), (16, 32))
"""Bytes of each lane of through.cu, and bytes of a row."""

THROUGH_PITCH: Final = 8192 + 128
"""Bytes from one row of through.cu to the next. Neighbouring rows are then in the same banks of the L1."""

_THROUGH_WRAP: Final = 8192


def measure_through(device: Device, *, quick: bool) -> list[MeasuredRow]:
    """
    Measure by how much copies through the L1 by four warps slow ld.shared of 16 warps that keep the data stage busy.

    Rows of ``row_bytes`` are ``pitch`` bytes apart. They advance by ``along`` bytes with each group, and then miss the
    L1; with 0 they hit it. ``spread`` is the distance of the lanes' targets, in accesses of a lane. Columns
    ``issued`` and ``copied`` have the instructions of both that an SM issues in ``cycles``. The first row, of 0 bytes,
    has no copies.
    """
    ways = [
        (row_bytes, bytes_, pitch, along, spread)
        for bytes_, row_bytes in THROUGH_SHAPES
        for pitch in (THROUGH_PITCH, THROUGH_PITCH + row_bytes)
        for along in (0, row_bytes)
        for spread in ((1, 4) if bytes_ == 4 else (1,))
    ]
    rows: list[MeasuredRow] = []
    data = device.cupy.zeros(_CROSSED_WARPS[1] * 4 * WARP * (THROUGH_PITCH + LINE_BYTES), dtype=np.uint8)
    for row_bytes, bytes_, pitch, along, spread in [
        (LINE_BYTES, 0, THROUGH_PITCH, 0, 1),
        *(ways[::9] if quick else ways),
    ]:
        arguments = (data, *map(np.uint32, (_CROSSED_CYCLES, row_bytes, pitch, along, _THROUGH_WRAP, spread)))
        found = _issued(device, "through", f"through_{bytes_}", arguments, _CROSSED_WARPS, _CROSSED_SHARED)
        row: MeasuredRow = {"bytes": bytes_, "row_bytes": row_bytes, "pitch": pitch, "along": along, "spread": spread}
        row |= {"cycles": _CROSSED_CYCLES}
        rows.append(row | dict(zip(("issued", "copied"), found, strict=True)))
    return rows


_QUEUED_COPIES: Final = (4, 8, 12, 14, 16, 20, 24)
_QUEUED_SHARED: Final = 48 << 10
_QUEUED_PITCH: Final = 4224


def measure_queued(device: Device, *, quick: bool) -> list[MeasuredRow]:
    """
    Measure when the last copy of a burst issues, with the earlier ones in queues, by one warp alone or on each SMSP.

    Columns ``first`` and ``last`` have the cycles from a warp's begin, for the first warp and the last.
    """
    rows: list[MeasuredRow] = []
    for row_bytes, warps, copies in product(_FILL_ROWS[:1] if quick else _FILL_ROWS, (1, SMSPS), _QUEUED_COPIES):
        data = device.cupy.zeros(warps * copies * (512 // row_bytes) * _QUEUED_PITCH, dtype=np.uint8)
        spans = device.cupy.zeros((warps, 2), dtype=np.uint64)
        arguments = (spans, data, np.uint32(_QUEUED_PITCH))
        for _ in range(2):
            device.launch(
                "copies", f"queued_{row_bytes}_{copies}", arguments, threads=warps * WARP, shared=_QUEUED_SHARED
            )
        begin, end = device.cupy.asnumpy(spans).astype(np.int64).T
        row: MeasuredRow = {"row_bytes": row_bytes, "warps": warps, "copies": copies}
        rows.append(row | {"first": int((end - begin).min()), "last": int((end - begin).max())})
    return rows


AMID_LOADS, AMID_LOADERS, AMID_LAG = 4, 8, 32
"""Loads of each warp of a burst, warps that load, and cycles of a row of amid.csv."""

_AMID_READERS, _AMID_BURSTS, _AMID_MORE, _AMID_PITCH, _AMID_LAUNCHES = 4, 320, 3, 16384, 8
_AMID_LATE: Final = 40
"""Most cycles by which a warp of a burst may begin late; other bursts are left out."""


def measure_amid(device: Device, *, quick: bool) -> list[MeasuredRow]:
    """
    Measure by how much bursts of loads that miss the L1 delay eight ldmatrix.x4 on each SMSP.

    In a row, the readers begin ``lag`` cycles or more after the loads. Column ``cycles`` has the cycles from the last
    reader's begin to the last one's end; ``landed`` those from the first load's begin until all have arrived. Both are
    medians.
    """
    rows: list[MeasuredRow] = []
    for row_bytes in _FILL_ROWS[-1:] if quick else _FILL_ROWS:
        warps = AMID_LOADERS + _AMID_READERS
        data = device.cupy.zeros(AMID_LOADERS * AMID_LOADS * (512 // row_bytes) * _AMID_PITCH, dtype=np.uint8)
        stamps = device.cupy.zeros((_AMID_BURSTS, warps, 2), dtype=np.uint64)
        arguments = (stamps, data, np.int32(_AMID_BURSTS), *map(np.uint32, (row_bytes, _AMID_PITCH, _AMID_MORE)))
        found = []
        for _ in range(1 + _AMID_LAUNCHES):
            device.launch("amid", "amid", arguments, threads=warps * WARP, shared=_AMID_READERS * WARP * 512)
            found.append(device.cupy.asnumpy(stamps).astype(np.int64))
        begin, end = np.moveaxis(np.concatenate(found[1:]), -1, 0)
        loads, reads = begin[:, :AMID_LOADERS], begin[:, AMID_LOADERS:]
        first = loads.min(axis=1)
        together = np.maximum(np.ptp(loads, axis=1), np.ptp(reads, axis=1)) <= _AMID_LATE
        lags = (reads.min(axis=1) - first) // AMID_LAG * AMID_LAG
        for lag in np.unique(lags[together]).tolist():
            own = together & (lags == lag)
            cycles = np.median(end[own, AMID_LOADERS:].max(axis=1) - reads[own].max(axis=1))
            landed = np.median(end[own, :AMID_LOADERS].max(axis=1) - first[own])
            shape: MeasuredRow = {"row_bytes": row_bytes, "lag": lag, "bursts": int(own.sum())}
            rows.append(shape | {"cycles": float(cycles), "landed": float(landed)})
    return rows
