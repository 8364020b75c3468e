"""Measures wgmma beside boxes that TMA writes into shared memory and beside other warps' loads and stores there."""

from collections.abc import Iterator
from typing import Final, NamedTuple

import numpy as np

from gpusim.lab.calibrate.hopper import tensor_maps
from gpusim.lab.calibrate.hopper.boxes import BOX_PITCH, NEAR_ROWS
from gpusim.lab.calibrate.hopper.launches import ALIGNED_BYTES, clocks, structure
from gpusim.lab.calibrate.runner import WARP, Device, MeasuredRow

MULTIPLIERS: Final = ((64, 1), (128, 1), (256, 1), (64, 2), (128, 2))
"""Columns of a wgmma, and warpgroups that multiply."""

TURN_BYTES: Final = {"lds": 16 * 512, "sts": 16 * 512, "tma": 4 << 14}
"""Bytes of a turn of traffic: 16 accesses of a warp, or four boxes."""

_WARPS: Final = (1, 2, 4, 8)
_PACED_WARPS: Final = 4
_ACCESS_PACES: Final = (192, 256, 384, 512, 1024, 2048)
_BOX_PACES: Final = (0, 170, 200, 250, 300, 400, 800, 1600)
_WARPS_OF_GROUP, _GROUP = 4, 4
_TRIPS: Final = 256
_COUNTED, _LASTING = 0.8, 4


class BesideCase(NamedTuple):
    """Traffic of ``warps`` warps, a turn of a warp or a box in at least ``pace`` cycles, beside wgmma or alone."""

    traffic: str
    n: int
    warpgroups: int
    warps: int
    pace: int
    sms: int
    multiplies: int


def _traffic(sms: int) -> Iterator[tuple[str, int, int, int]]:
    for traffic in ("lds", "sts"):
        yield from ((traffic, warps, 0, 1) for warps in _WARPS)
        yield from ((traffic, _PACED_WARPS, pace, 1) for pace in _ACCESS_PACES)
    yield from (("tma", 1, pace, 1) for pace in _BOX_PACES)
    yield from (("tma", 1, pace, sms) for pace in (0, 400))


def _cases(sms: int, *, quick: bool) -> Iterator[BesideCase]:
    for n, warpgroups in MULTIPLIERS[:: 2 if quick else 1]:
        for traffic, warps, pace, count in list(_traffic(sms))[:: 3 if quick else 1]:
            for multiplies in (0, 1):
                yield BesideCase(traffic, n, warpgroups, warps, pace, count, multiplies)


def measure_wgmma_loads(device: Device, *, quick: bool) -> list[MeasuredRow]:
    """
    Measure wgmma beside traffic of shared memory, and either of them without the other.

    LDS and STS are of 16 bytes a lane, free of conflicts, by ``warps`` warps. TMA loads boxes of 128 rows of 128 bytes,
    swizzled, that hit the L2. Column ``per_wgmma`` has the cycles of an SM for one m64n``n``k16, in rows whose
    ``traffic`` is "none" without any; ``bytes_per_cycle`` the bytes of an SM's traffic in a cycle, with ``multiplies``
    0 without wgmma: the ceiling of the traffic's own loop. Medians over ``sms`` SMs.
    """
    data = device.cupy.zeros(device.sms * NEAR_ROWS * BOX_PITCH, dtype=np.uint8)
    tensor_map = tensor_maps.encode(
        tensor_maps.BoxMap(
            address=int(data.data.ptr),
            columns=BOX_PITCH // 2,
            rows=device.sms * NEAR_ROWS,
            pitch=BOX_PITCH,
            box_columns=64,
            box_rows=128,
            swizzle=128,
        )
    )
    alone: dict[tuple[int, int], int] = {}
    rows: list[MeasuredRow] = []
    for n, warpgroups in MULTIPLIERS:
        case = BesideCase("none", n, warpgroups, 0, 0, 1, 1)
        row, alone[n, warpgroups] = _row(device, case, tensor_map, 0)
        rows.append(row)
    for case in _cases(device.sms, quick=quick):
        row, _ = _row(device, case, tensor_map, alone[case.n, case.warpgroups])
        rows.append(row)
    return rows


def _row(device: Device, case: BesideCase, tensor_map: np.void, alone: int) -> tuple[MeasuredRow, int]:
    """Return the row of a case and the cycles of its wgmma, which take ``alone`` cycles without traffic."""
    multiplying = _WARPS_OF_GROUP * case.warpgroups
    warps = multiplying + case.warps
    times = structure(
        counted=int(_COUNTED * alone),
        ended=_LASTING * alone if case.multiplies else alone,
        pace=case.pace,
    )
    seen, error = clocks(
        device,
        "wgmma_loads",
        f"{case.traffic}_{case.n}_{case.warpgroups}",
        (tensor_map, times, np.uint32(_TRIPS * case.multiplies)),
        (case.sms * warps, 3),
        ctas=case.sms,
        threads=warps * WARP,
        shared=(case.warpgroups * 64 + case.n) * 128 + TURN_BYTES["tma"] + ALIGNED_BYTES,
        repeats=2,
    )
    of_sms = seen.reshape(case.sms, warps, 3)
    own, others = of_sms[:, :multiplying], of_sms[:, multiplying:]
    row: MeasuredRow = case._asdict()
    cycles = int(np.median(own[..., 2].max(axis=1) - own[..., 0].min(axis=1)))
    if case.multiplies:
        row["per_wgmma"] = cycles / (_TRIPS * _GROUP * case.warpgroups)
    if case.warps:
        lasted = np.maximum(1, others[..., 2] - others[..., 0])
        paces = (others[..., 1] * TURN_BYTES[case.traffic] / lasted).sum(axis=1)
        row["bytes_per_cycle"] = float(np.median(paces))
    return row | {"error": error}, cycles
