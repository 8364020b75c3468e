"""Measures launches under ncu, in a process of their own: empty and storing kernels, merged reads, idle SMs, code."""

import json
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Final, TypeAlias

import numpy as np

from gpusim.arrays import IntArray
from gpusim.errors import CannotRun
from gpusim.gpu import ncu
from gpusim.lab.calibrate.grids import GRID_METRICS, grid_launches
from gpusim.lab.calibrate.lines import APART_METRICS, apart_launches
from gpusim.lab.calibrate.own.lane_words import repeat_launches
from gpusim.lab.calibrate.own.scattered import partial_launches
from gpusim.lab.calibrate.runner import WARP, Device, KernelArgument, MeasuredRow, ProfiledLaunch

_TILE_BYTES = 16 << 10
_ROWS_TILE_BYTES = 8 << 10
_ROWS_BYTES = 138 << 20
_ROWS_LEAST_CTAS = 64
_STORED_BYTES = 16
_STORE_THREADS = 128
_LAG_SMS: Final = (16, 64)
_LAG_CYCLES: Final = (5_000, 10_000, 20_000, 40_000, 80_000, 160_000, 320_000)
"""Numbers of SMs with a CTA (all SMs are added), and cycles for which their tensor cores are busy."""
_BUSY_CYCLES = 30_000
_PASSES = 3
_FLAGS = 64


Launches: TypeAlias = Callable[[int, bool], list[ProfiledLaunch]]


def _empty(sms: int, quick: bool) -> list[ProfiledLaunch]:
    """Return the empty kernel with one CTA, one per SM, and eight per SM."""
    del quick
    return [ProfiledLaunch("arith", "nothing", ctas, _STORE_THREADS) for ctas in (1, sms, 8 * sms)]


def _stores(sms: int, quick: bool) -> list[ProfiledLaunch]:
    """Return the empty kernel and storing kernels; kernels with a CTA for each SM occur three times."""
    launches = [_storing(ctas, per) for ctas, per in store_shapes(sms, quick=quick)]
    launches += [_storing(sms, per) for per in (1, 128)] * (0 if quick else 2)
    empty = ProfiledLaunch("arith", "nothing", sms, _STORE_THREADS, columns={"per": 0, "bytes": 0})
    return [empty] * (1 if quick else 3) + launches


def store_shapes(sms: int, *, quick: bool) -> list[tuple[int, int]]:
    """Return CTAs and stores of a thread for each shape of a storing kernel."""
    counts = (1,) if quick else (1, 8, 32)
    return [
        (ctas, per)
        for ctas in (*(count for count in counts if count < sms), sms)
        for per in ((1, 128) if quick else (1, 8, 32, 128))
    ]


def stored_bytes(ctas: int, per: int) -> int:
    """Return the bytes that ``ctas`` CTAs of 128 threads store, 16 bytes ``per`` times in each thread."""
    return ctas * _STORE_THREADS * per * _STORED_BYTES


def _storing(ctas: int, per: int) -> ProfiledLaunch:
    bytes_ = stored_bytes(ctas, per)
    columns: MeasuredRow = {"per": per, "bytes": bytes_}
    arguments: tuple[KernelArgument, ...] = ("no clocks", "data", per)
    return ProfiledLaunch("launches", "stores", ctas, _STORE_THREADS, arguments, columns, data_bytes=bytes_)


def _merge(sms: int, quick: bool) -> list[ProfiledLaunch]:
    """Return reads of 16 tiles by groups of CTAs. Each CTA of a group begins some cycles after the previous one."""
    tiles = 16
    return [
        ProfiledLaunch(
            "launches",
            "merged_reads",
            sms,
            128,
            ("clocks", "data", tiles, stagger, group),
            {"group": group, "stagger": stagger, "bytes": sms * tiles * _TILE_BYTES},
            clocks=1,
            data_bytes=-(-sms // group) * tiles * _TILE_BYTES,
            shared=2 * _TILE_BYTES,
        )
        for group in ((2, sms) if quick else (2, 4, 8, 16, sms))
        for stagger in ((0, 50) if quick else (0, 50, 200, 1000))
    ]


def _idle(sms: int, quick: bool) -> list[ProfiledLaunch]:
    """Return kernels that keep the FMA pipes or the tensor cores of some SMs busy, with all other SMs idle."""
    counts = (1, 16) if quick else (1, 2, 4, 8, 12, 14, 15, 16, 18, 20, 24, 32, 64)
    return [
        ProfiledLaunch("launches", f"busy_{pipe}", ctas, 256, ("clocks", _BUSY_CYCLES), {"pipe": pipe}, clocks=1)
        for pipe in ("fma", "mma")
        for ctas in (*(count for count in counts if count < sms), sms)
    ]


def _lags(sms: int, quick: bool) -> list[ProfiledLaunch]:
    """Return kernels that keep the tensor cores of some SMs busy for some cycles, each three times."""
    return [
        ProfiledLaunch("launches", "busy_mma", ctas, 256, ("clocks", cycles), {"busy_cycles": cycles}, clocks=1)
        for ctas in (*(count for count in _LAG_SMS if count < sms), sms)
        for cycles in (_LAG_CYCLES[3::3] if quick else _LAG_CYCLES)
        for _ in range(1 if quick else 3)
    ]


def _fetch(sms: int, quick: bool) -> list[ProfiledLaunch]:
    """Return straight-line code of FFMA that one warp of each CTA executes three times, first with cold caches."""
    return [
        ProfiledLaunch(
            "fetch", f"straight_{count}", ctas, WARP, ("clocks", 1.5), {"instructions": count}, clocks=_PASSES
        )
        for count in ((1024,) if quick else (512, 1024, 2048, 4096))
        for ctas in (1, sms)
        for _ in range(1 if quick else 3)
    ]


def _hits(sms: int, quick: bool) -> list[ProfiledLaunch]:
    """Return reads, by groups of CTAs, of tiles that hit the L2. CTAs of a group are neighbours, or far apart."""
    tiles = 8
    return [
        ProfiledLaunch(
            "launches",
            "merged_hits",
            sms,
            128,
            ("clocks", "data", "flags", tiles, stagger, group, far),
            {"group": group, "far": far, "stagger": stagger, "bytes": sms * tiles * _TILE_BYTES},
            clocks=1,
            data_bytes=-(-sms // group) * tiles * _TILE_BYTES,
            shared=2 * _TILE_BYTES,
        )
        for group in ((2,) if quick else (1, 2, 4, 8, 16, sms))
        for far in ((0, 1) if 1 < group < sms else (0,))
        for stagger in ((0, 50) if quick else (0, 20, 50, 100, 200, 1000))
    ]


def _places(sms: int, quick: bool) -> list[ProfiledLaunch]:
    """Return launches of grids of several sizes, with some CTAs on an SM, which take equal or unequal time."""
    del quick
    shapes = [
        (ctas, per_sm, 20_000, 1)
        for per_sm in (1, 2, 3, 4)
        for ctas in (*range(16, 528, 16), *(rounds * sms for rounds in (1, 2, 3, 4, 5)))
    ]
    shapes += [(64 * period, per_sm, 2000, period) for per_sm in (1, 2, 4) for period in (8, 16, 32)]
    return [
        ProfiledLaunch(
            "launches",
            "places",
            ctas,
            128,
            ("clocks", busy, period),
            {"per_sm": per_sm, "busy": busy, "period": period},
            clocks=4,
            shared=200_000 // per_sm,
        )
        for ctas, per_sm, busy, period in shapes
    ]


def _ends(sms: int, quick: bool) -> list[ProfiledLaunch]:
    """Return kernels of some CTAs that compute, with tensor cores or without, and store."""
    return [
        ProfiledLaunch(
            "launches",
            f"ends_{work}",
            ctas,
            _STORE_THREADS,
            ("data", 5000, per),
            {"per": per},
            data_bytes=max(1, stored_bytes(ctas, per)),
        )
        for _ in range(1 if quick else 5)
        for work in ("plain", "mma")
        for ctas in (1, 4, 8, 12, 16, 32, 64, sms, 2 * sms)
        for per in ((0, 1) if quick else (0, 1, 8, 32))
    ]


def _rows(sms: int, quick: bool) -> list[ProfiledLaunch]:
    """
    Return reads from DRAM of tiles of rows.

    They differ in the bytes of a row that are read at once, in the neighbouring data, in the bytes that the L2 fetches
    for a miss, and in the tiles in flight.
    """
    launches = []
    for row_bytes in (64, 128, 256, 512):
        for pitch in (4096,) if quick else (4096, 8192):
            launches += [
                _reading(2 * sms, 4, row_bytes, pitch, what, prefetch)
                for what in ("along", "down")
                for prefetch in (0, 128, 256)
                for _ in range(1 if quick else 3)
            ]
    launches += [
        _reading(ctas, flight, row_bytes, 4096, what, 128)
        for row_bytes in (64, 128, 256)
        for what in ("along", "down")
        for ctas in (1, sms // 2, sms, 2 * sms)
        for flight in (1, 2, 3, 4)
    ]
    return launches


def _reading(ctas: int, flight: int, row_bytes: int, pitch: int, what: str, prefetch: int) -> ProfiledLaunch:  # noqa: PLR0917 - a row of a table
    """Return a reading kernel. A CTA reads along its own rows, tile by tile, or down columns beside its neighbours'."""
    rows = _ROWS_TILE_BYTES // row_bytes
    blocks = max(1, _ROWS_BYTES // (max(ctas, _ROWS_LEAST_CTAS) * rows * pitch))
    tiles = blocks * pitch // row_bytes
    if what == "along":
        shape = (pitch, pitch // row_bytes, row_bytes, blocks, rows * pitch, blocks * rows * pitch)
    else:
        shape = (ctas * row_bytes, tiles, rows * ctas * row_bytes, 1, 0, row_bytes)
    size = ctas * tiles * _ROWS_TILE_BYTES
    columns: MeasuredRow = {"what": what, "row_bytes": row_bytes, "pitch": shape[0], "prefetch": prefetch}
    return ProfiledLaunch(
        "launches",
        f"rows_{prefetch}",
        ctas,
        128,
        ("data", flight, row_bytes, *shape),
        columns | {"flight": flight, "bytes": size},
        data_bytes=size,
        shared=4 * _ROWS_TILE_BYTES,
    )


def _splits(sms: int, quick: bool) -> list[ProfiledLaunch]:
    """Return reads of one matrix by groups of CTAs. Its rows are adjacent or apart in shared memory."""
    shapes = [
        (sms, 8, group, each, pad, warm)
        for group in ((2,) if quick else (1, 2, 8, sms))
        for each in ((8,) if quick else (4, 8))
        for pad in ((0, 16) if quick else (0, 16, 32, 64))
        for warm in (0, 1)
    ]
    shapes += [(2 * sms, 8, 2 * sms, 8, 0, warm) for warm in (0, 1)]
    shapes += [(sms, tiles, 1, 8, 0, 0) for tiles in (1, 2, 4, 16)]
    return [
        ProfiledLaunch(
            "launches",
            "merged_rows",
            ctas,
            128,
            ("clocks", "data", "flags", tiles, group, each, pad, warm),
            {
                "tiles": tiles,
                "group": group,
                "row_bytes": 16 * each,
                "pad": pad,
                "warm": warm,
                "bytes": ctas * tiles * _TILE_BYTES,
            },
            clocks=1,
            data_bytes=-(-ctas // group) * tiles * _TILE_BYTES,
            shared=2 * 128 * 8 // each * (16 * each + pad),
        )
        for ctas, tiles, group, each, pad, warm in shapes
    ]


def _pairs(sms: int, quick: bool) -> list[ProfiledLaunch]:
    """Return reads of the same tiles by two SMs at once, or by one."""
    tiles = 8
    return [
        ProfiledLaunch(
            "launches",
            "merged_pair",
            sms,
            128,
            ("clocks", "data", "flags", tiles, one, other),
            {"one": one, "other": other, "bytes": tiles * _TILE_BYTES},
            clocks=1,
            data_bytes=tiles * _TILE_BYTES,
            shared=2 * _TILE_BYTES,
        )
        for one in (0, 3)
        for other in range(4 if quick else sms)
    ]


def _own(sms: int, quick: bool) -> list[ProfiledLaunch]:
    """Return kernels without loads: empty ones, and straight-line code."""
    launches = _empty(sms, quick) + [ProfiledLaunch("arith", "nothing", ctas, WARP) for ctas in (2, 8, 32, 64, 8 * sms)]
    return launches + _fetch(sms, quick)


PLANS: dict[str, Launches] = {
    "splits": _splits,
    "pairs": _pairs,
    "own": _own,
    "grids": grid_launches,
    "apart": apart_launches,
    "partial": partial_launches,
    "repeats": repeat_launches,
    "empty": _empty,
    "stores": _stores,
    "merge": _merge,
    "hits": _hits,
    "places": _places,
    "ends": _ends,
    "rows": _rows,
    "idle": _idle,
    "lags": _lags,
    "fetch": _fetch,
}
"""Launches under ncu, by benchmark: functions of the number of SMs and of whether the run is quick."""


def launch_plan(name: str, clocks_file: Path, *, quick: bool) -> None:
    """
    Launch a plan's kernels in order, for ncu to profile, and write their clocks as JSON, one list for each launch.

    Args:
        name: Key in ``PLANS``.
        clocks_file: File to write. A launch's list has the clocks of each CTA.
        quick: Launch fewer kernels.
    """
    device = Device()
    written = []
    for launch in PLANS[name](device.sms, quick):
        clocks = device.cupy.zeros((launch.ctas, max(1, launch.clocks)), dtype=np.uint64)
        data = device.cupy.zeros(max(1, launch.data_bytes), dtype=np.uint8)
        flags = device.cupy.zeros(_FLAGS, dtype=np.int32)
        words = device.cupy.asarray(np.array(launch.words or (0,), dtype=np.int32))
        places: dict[object, object] = {"clocks": clocks, "no clocks": np.uint64(0), "data": data, "flags": flags}
        places["words"] = words
        arguments = [places[value] if isinstance(value, str) else _scalar(value) for value in launch.arguments]
        device.launch(
            launch.source, launch.kernel, arguments, ctas=launch.ctas, threads=launch.threads, shared=launch.shared
        )
        written.append(device.cupy.asnumpy(clocks).tolist())
    clocks_file.write_text(json.dumps(written), encoding="utf-8")


def _scalar(value: float) -> object:
    return np.int32(value) if isinstance(value, int) else np.float32(value)


def profile_plan(name: str, metrics: tuple[str, ...], sms: int, *, quick: bool) -> list[tuple[MeasuredRow, IntArray]]:
    """
    Run a plan under ncu, which flushes the caches before each launch.

    Args:
        name: Key in ``PLANS``.
        metrics: Full names of ncu's metrics.
        sms: SMs of the GPU.
        quick: Launch fewer kernels.

    Returns:
        The row of each launch (kernel, CTAs, columns, metrics), and its clocks, shape [CTAs, clocks].

    Raises:
        CannotRun: ncu is missing or may not profile here, or the profiled launches are not those of the plan.
    """
    launches = PLANS[name](sms, quick)
    kernels = "|".join(dict.fromkeys(launch.kernel for launch in launches))
    with tempfile.TemporaryDirectory() as folder:
        clocks_file = Path(folder) / "clocks.json"
        module = "gpusim.lab.calibrate.benchmarks"
        command = [sys.executable, "-m", module, "--plan", name, "--clocks", str(clocks_file)]
        counted, _ = ncu.profile([*command, *(["--quick"] if quick else [])], metrics, kernels=f"^({kernels})$")
        if [(found.name.partition("(")[0], found.grid[0]) for found in counted] != [
            (launch.kernel, launch.ctas) for launch in launches
        ]:
            raise CannotRun(f"ncu profiled {len(counted)} launches, which are not the {len(launches)} of plan {name}")
        clocks = json.loads(clocks_file.read_text(encoding="utf-8"))
    rows = []
    for launch, found, of_ctas in zip(launches, counted, clocks, strict=True):
        row: MeasuredRow = {"kernel": launch.kernel, "ctas": launch.ctas}
        row |= launch.columns
        row |= {metric: found.metrics[metric] for metric in metrics if metric in found.metrics}
        rows.append((row, np.array(of_ctas, dtype=np.int64)))
    return rows


def _with_median(counted: list[tuple[MeasuredRow, IntArray]]) -> list[MeasuredRow]:
    """Return the rows of launches, with the median of each one's clocks in column ``cycles``."""
    return [row | {"cycles": float(np.median(clocks))} for row, clocks in counted]


STORE_METRICS = (
    "sm__cycles_active.max",
    "sm__cycles_elapsed.max",
    "lts__t_sectors_op_write.sum",
    "dram__bytes_write.sum",
)
MERGE_METRICS = (
    "lts__t_sectors_srcunit_tex.sum",
    "lts__t_sectors_op_read.sum",
    "lts__t_sectors_srcunit_ltcfabric.sum",
    "l1tex__m_xbar2l1tex_read_sectors.sum",
    "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum",
    "dram__bytes_read.sum",
)
SPLIT_METRICS = (
    *MERGE_METRICS,
    "lts__t_requests_srcunit_tex.sum",
    "l1tex__data_pipe_lsu_wavefronts.sum",
)
OWN_METRICS = (
    "sm__cycles_elapsed.max",
    "sm__cycles_active.max",
    "lts__t_sectors_op_read.sum",
    "lts__t_sectors_op_read_lookup_hit.sum",
    "lts__t_sectors_op_write.sum",
    "lts__t_sectors_srcunit_tex.sum",
    "lts__t_sectors_srcunit_ltcfabric.sum",
    "lts__t_sectors.sum",
    "dram__bytes_read.sum",
)
END_METRICS = (
    "sm__cycles_elapsed.max",
    "sm__cycles_active.max",
    "sm__cycles_active.sum",
    "gpc__cycles_elapsed.max",
    "gpu__time_duration.sum",
)
ROW_METRICS = (
    "sm__cycles_elapsed.max",
    "sm__cycles_active.max",
    "sm__cycles_active.sum",
    "dram__bytes_read.sum",
    "lts__t_sectors_op_read.sum",
    "lts__t_sectors_op_read_lookup_hit.sum",
    "lts__t_sectors_srcunit_tex.sum",
    "lts__t_sectors_srcunit_ltcfabric.sum",
    "gpu__time_duration.sum",
)
IDLE_METRICS = (
    "sm__cycles_elapsed.max",
    "sm__cycles_active.max",
    "gpc__cycles_elapsed.max",
    "gpu__time_duration.sum",
)


LAG_METRICS = (
    "sm__cycles_elapsed.max",
    "sm__cycles_active.max",
    "gpc__cycles_elapsed.max",
    "gpc__cycles_elapsed.min",
    "gpu__time_duration.sum",
)


def measure_stores(device: Device, *, quick: bool) -> list[MeasuredRow]:
    """
    Measure stores of 16 bytes a thread: by the CTA's clock without ncu, and then by the counters of ncu.

    The rows "clock" have the cycles from a CTA's first store to the issue of its last, or with ``fenced`` 1 until all
    are acknowledged: the median of the CTAs, and the longest. The rows "counted" have ncu's metrics; ``per`` 0 is the
    empty kernel.

    Raises:
        CannotRun: ncu is missing or may not profile here.
    """
    rows: list[MeasuredRow] = []
    for ctas, per in store_shapes(device.sms, quick=quick):
        data = device.cupy.zeros(stored_bytes(ctas, per), dtype=np.uint8)
        for fenced, kernel in enumerate(("stores", "stores_fenced")):
            spans = device.spans("launches", kernel, (data, np.int32(per)), ctas=ctas, threads=_STORE_THREADS)
            by_cta = spans.reshape(ctas, _STORE_THREADS // WARP, 2)
            cycles = by_cta[..., 1].max(axis=1) - by_cta[..., 0].min(axis=1)
            row: MeasuredRow = {"what": "clock", "kernel": kernel, "ctas": ctas, "per": per}
            row |= {"bytes": stored_bytes(ctas, per), "fenced": fenced}
            rows.append(row | {"cycles": float(np.median(cycles)), "longest": int(cycles.max())})
    counted = profile_plan("stores", STORE_METRICS, device.sms, quick=quick)
    counted_columns: MeasuredRow = {"what": "counted"}
    return [*rows, *(counted_columns | row for row, _ in counted)]


def measure_merge(device: Device, *, quick: bool) -> list[MeasuredRow]:
    """
    Measure the L2's tag lookups for tiles that the SMs of a group read at once, or ``stagger`` cycles apart.

    Column ``bytes`` has the bytes that all CTAs request, ``cycles`` the median over the CTAs.

    Raises:
        CannotRun: ncu is missing or may not profile here.
    """
    counted = profile_plan("merge", MERGE_METRICS, device.sms, quick=quick)
    return _with_median(counted)


def measure_idle(device: Device, *, quick: bool) -> list[MeasuredRow]:
    """
    Measure the elapsed cycles of SMs, GPCs and the chip while only some of the SMs have a CTA.

    Column ``cycles`` has the median over the CTAs, by their own clock.

    Raises:
        CannotRun: ncu is missing or may not profile here.
    """
    counted = profile_plan("idle", IDLE_METRICS, device.sms, quick=quick)
    return _with_median(counted)


def measure_lags(device: Device, *, quick: bool) -> list[MeasuredRow]:
    """
    Measure the spread of the GPCs' clocks while tensor cores are busy, and the launch overhead.

    Raises:
        CannotRun: ncu is missing or may not profile here.
    """
    counted = profile_plan("lags", LAG_METRICS, device.sms, quick=quick)
    return _with_median(counted)


def measure_fetch(device: Device, *, quick: bool) -> list[MeasuredRow]:
    """
    Measure the passes of straight-line code, the first with the cold instruction caches that ncu's flush leaves.

    Columns ``pass_1`` to ``pass_3`` have the median cycles over the CTAs.

    Raises:
        CannotRun: ncu is missing or may not profile here.
    """
    counted = profile_plan("fetch", ("sm__cycles_active.max",), device.sms, quick=quick)
    return [
        row | {f"pass_{number + 1}": float(value) for number, value in enumerate(np.median(clocks, axis=0))}
        for row, clocks in counted
    ]


def measure_hits(device: Device, *, quick: bool) -> list[MeasuredRow]:
    """
    Measure like ``measure_merge``, for tiles that hit the L2.

    Column ``bytes`` has the bytes that all CTAs request after each group has brought its tiles once.

    Raises:
        CannotRun: ncu is missing or may not profile here.
    """
    counted = profile_plan("hits", MERGE_METRICS, device.sms, quick=quick)
    return _with_median(counted)


def measure_rows(device: Device, *, quick: bool) -> list[MeasuredRow]:
    """
    Measure reads of tiles of rows from DRAM, some bytes of each row at once.

    Raises:
        CannotRun: ncu is missing or may not profile here.
    """
    return [row for row, _ in profile_plan("rows", ROW_METRICS, device.sms, quick=quick)]


def measure_places(device: Device, *, quick: bool) -> list[MeasuredRow]:
    """
    Measure the SM of each CTA of a grid and when it starts there, in launches under ncu.

    Raises:
        CannotRun: ncu is missing or may not profile here.
    """
    rows: list[MeasuredRow] = []
    for row, clocks in profile_plan("places", ("sm__cycles_active.max",), device.sms, quick=quick):
        first = int(clocks[:, 3].min())
        launch = {name: row[name] for name in ("ctas", "per_sm", "busy", "period")}
        for cta, (sm, begin, end, time) in enumerate(clocks.tolist()):
            rows.append(launch | {"cta": cta, "sm": sm, "begin": begin, "end": end, "nanoseconds": time - first})
    return rows


def measure_ends(device: Device, *, quick: bool) -> list[MeasuredRow]:
    """
    Measure elapsed and active cycles of kernels of some CTAs that compute for a while and store last.

    Raises:
        CannotRun: ncu is missing or may not profile here.
    """
    return [row for row, _ in profile_plan("ends", END_METRICS, device.sms, quick=quick)]


def measure_splits(device: Device, *, quick: bool) -> list[MeasuredRow]:
    """
    Measure like ``measure_merge``, for rows of a matrix that are ``pad`` bytes apart in shared memory.

    With ``warm`` 1 they hit the L2: column ``bytes`` has the bytes that all CTAs request after they have brought them.

    Raises:
        CannotRun: ncu is missing or may not profile here.
    """
    counted = profile_plan("splits", SPLIT_METRICS, device.sms, quick=quick)
    return _with_median(counted)


def measure_pairs(device: Device, *, quick: bool) -> list[MeasuredRow]:
    """
    Measure the L2's tag lookups for tiles that two SMs read from DRAM at once, to find which SMs' reads are merged.

    Column ``bytes`` has the bytes that each of them requests.

    Raises:
        CannotRun: ncu is missing or may not profile here.
    """
    return [row for row, _ in profile_plan("pairs", MERGE_METRICS, device.sms, quick=quick)]


def measure_grids(device: Device, *, quick: bool) -> list[MeasuredRow]:
    """
    Measure copies of tiles by grids of CTAs that share them as in a GEMM.

    Column ``cycles`` has the cycles of a tile: the median over the CTAs, for the last three quarters of the tiles. The
    metrics are for all tiles.

    Raises:
        CannotRun: ncu is missing or may not profile here.
    """
    counted = profile_plan("grids", GRID_METRICS, device.sms, quick=quick)
    timed = ((row, int(row["tiles"]) * 3 // 4, clocks) for row, clocks in counted)
    return [row | {"cycles": float(np.median(clocks)) / tiles} for row, tiles, clocks in timed]


def measure_own(device: Device, *, quick: bool) -> list[MeasuredRow]:
    """
    Measure the reads from the L2 of launches without loads.

    Raises:
        CannotRun: ncu is missing or may not profile here.
    """
    return [row for row, _ in profile_plan("own", OWN_METRICS, device.sms, quick=quick)]


def measure_apart(device: Device, *, quick: bool) -> list[MeasuredRow]:
    """
    Measure how many sectors the L2 looks up for lines that SMs of a GPC request some cycles apart.

    Column ``apart`` has the cycles from the loads of one SM to those of the next, by their own clocks.

    Raises:
        CannotRun: ncu is missing or may not profile here.
    """
    rows: list[MeasuredRow] = []
    for row, clocks in profile_plan("apart", APART_METRICS, device.sms, quick=quick):
        members = [int(sm) for sm in str(row["sms"]).split()]
        late = dict.fromkeys(members, 0.0)
        late |= {sm: total / int(row["steps"]) for sm, total in clocks.tolist() if total}
        rows.append(row | {"apart": (late[members[-1]] - late[members[0]]) / (len(members) - 1)})
    return rows
