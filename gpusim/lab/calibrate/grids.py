"""Lists grids of CTAs that copy tiles of rows, shared as in GEMMs, to measure merging and the speed of the L2."""

from typing import Final

from gpusim.lab.calibrate.runner import KernelArgument, MeasuredRow, ProfiledLaunch

GRID_METRICS: Final = (
    "sm__cycles_active.max",
    "l1tex__m_xbar2l1tex_read_sectors.sum",
    "lts__t_sectors_srcunit_tex.sum",
    "lts__t_sectors_op_read.sum",
    "lts__t_requests_srcunit_tex.sum",
    "lts__cycles_elapsed.max",
    "lrc__cycles_elapsed.max",
    "lrc__lrc2xbar_cycles_active.max",
    "lrc__lrc2xbar_cycles_active.sum",
    "lrc__lrc2xbar_sectors_op_read.sum",
    "lrc__lrc2xbar_sectors_op_read_replayed.sum",
    "lrc__request_sectors_op_read_coalescing_achieved_type_hardware.sum",
    "lrc__xbar2gpc_sectors_op_read.sum",
    "lrc__xbar2lrc_requests_op_read.sum",
    "dram__bytes_read.sum",
)
"""Counters of L2 slices (lts) and of the request coalescers before them (lrc), one of each a slice."""

_THREADS, _ROWS = 128, 64
_TILES = 512
_PITCH, _OWN_PITCH = 8192, 2048
LONE_CTA_BYTES, _TWO_CTAS_BYTES = 120_000, 100_000
"""Dynamic shared memory of a CTA of which one, or two, fit on an SM."""

_SKEW_TILES = 11
_PACES = (150, 200, 300, 400, 800)
"""Cycles of a tile of 8 KiB; a tile of 16 KiB has twice as many."""


def grid_launches(sms: int, quick: bool) -> list[ProfiledLaunch]:
    """
    Return grids of CTAs that copy tiles of 64 rows of each of two operands, one CTA on an SM, or two.

    A grid on all SMs has 11 CTAs in one dimension. CTAs of ``own`` grids share nothing. CTAs of ``skew`` grids begin at
    different places of their rows, so no two request the same data at once. ``pace`` is the least cycles of a tile.
    """
    found: list[ProfiledLaunch] = []
    rows = min(11, sms)
    columns = sms // rows
    for stages, row_bytes in ((6, 64), (5, 128)) if quick else ((6, 64), (5, 128), (3, 64), (3, 128)):
        shapes = [(1, 1), (rows, max(1, columns // 2)), (rows, columns)]
        found += [_grid(stages, row_bytes, *shape) for shape in shapes]
        found += [_grid(stages, row_bytes, rows, columns, own=1), _grid(stages, row_bytes, rows, columns, skewed=True)]
        found += [_grid(stages, row_bytes, 2 * rows, columns, per_sm=2)]
        found += [
            _grid(stages, row_bytes, rows, columns, pace=pace * row_bytes // 64)
            for pace in (_PACES[:1] if quick else _PACES)
        ]
    return found


def _grid(
    stages: int, row_bytes: int, m: int, n: int, *, own: int = 0, skewed: bool = False, per_sm: int = 1, pace: int = 0
) -> ProfiledLaunch:
    pitch = _OWN_PITCH if own else _PITCH
    tile_bytes = 2 * _ROWS * row_bytes
    copies = tile_bytes // (_THREADS * 16)
    skew = _SKEW_TILES * row_bytes if skewed else 0
    arguments: tuple[KernelArgument, ...] = ("clocks", "data", m, own, row_bytes, pitch, pitch, _TILES, skew, pace)
    columns: MeasuredRow = {"ctas_m": m, "ctas_n": n, "per_sm": per_sm, "stages": stages, "row_bytes": row_bytes}
    columns |= {"own": own, "skew": skew, "pace": pace, "tile_bytes": tile_bytes, "tiles": _TILES}
    return ProfiledLaunch(
        "grids",
        f"grids_{stages}_{copies}",
        m * n,
        _THREADS,
        arguments,
        columns,
        clocks=1,
        data_bytes=(2 * m * n if own else m + n) * _ROWS * pitch,
        shared=LONE_CTA_BYTES if per_sm == 1 else _TWO_CTAS_BYTES,
    )
