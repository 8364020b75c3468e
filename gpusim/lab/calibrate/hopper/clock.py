"""Measures the clock of SMs whose tensor cores execute wgmma for a part of the time, beside boxes that TMA loads."""

import time
from collections.abc import Iterator
from functools import partial
from typing import Any, Final, NamedTuple

import numpy as np

from gpusim.lab.calibrate.hopper import tensor_maps
from gpusim.lab.calibrate.hopper.boxes import BOX_PITCH
from gpusim.lab.calibrate.hopper.launches import ALIGNED_BYTES, clocks, structure
from gpusim.lab.calibrate.runner import WARP, Device, MeasuredRow

_WARPGROUPS, _GROUP, _MULTIPLYING = 2, 4, 8
_BUSY_PERCENT: Final = (100, 95, 90, 80, 70, 60, 40, 20, 10)
_KILOCYCLES: Final = (10, 20, 40, 80, 160, 320, 640)
_RANDOM_BYTES: Final = (1 << 20) + 1
"""Random bytes that data repeats."""

_REST_SECONDS: Final = 0.02
_PLACES_BYTES: Final = 4 << 14
_BOX_BYTES: Final = 1 << 14

AREA_ROWS: Final = {"own": 256, "pair": 256, "all": 256, "DRAM": 1 << 13}
"""Rows of 512 bytes of an area, by who loads the same boxes: one SM, both of a TPC, or all; or boxes beyond the L2."""

_FED: Final = (("own", 2048), ("own", 1024), ("own", 512), ("pair", 512), ("pair", 256), ("all", 256), ("DRAM", 1024))
"""What is loaded, and cycles from one box of 16 KB to the next."""


class ClockCase(NamedTuple):
    """
    wgmma of ``n`` columns on ``sms`` SMs, at most ``percent`` of the time, for about ``kilocycles``.

    ``source`` says what TMA loads meanwhile, a box in at least ``pace`` cycles; nothing if ``pace`` is 0.
    """

    n: int
    sms: int
    percent: int
    kilocycles: int
    source: str = ""
    pace: int = 0

    @property
    def group_cycles(self) -> int:
        """Cycles of a group of both warpgroups."""
        return self.n // 2 * _GROUP * _WARPGROUPS

    @property
    def group_pace(self) -> int:
        """Cycles from one group of a warpgroup to the next; 0 for no pause."""
        return 0 if self.percent == 100 else self.group_cycles * 100 // self.percent


def _cases(sms: int, *, quick: bool) -> Iterator[ClockCase]:
    for percent in _BUSY_PERCENT[:: 4 if quick else 1]:
        for kilocycles in _KILOCYCLES[:: 3 if quick else 1]:
            yield ClockCase(128, sms, percent, kilocycles)
    for n in (64, 256):
        yield from (ClockCase(n, sms, percent, 80) for percent in (100, 80, 40))
    for some in (1, 8, 16, 32, 66, 99):
        yield from (ClockCase(128, some, 100, kilocycles) for kilocycles in (20, 160))
    for source, pace in _FED[:: 3 if quick else 1]:
        for percent in (100, 90, 80, 60, 30):
            for kilocycles in (20, 80, 320):
                yield ClockCase(128, sms, percent, kilocycles, source, pace)


def measure_wgmma_clock(device: Device, *, quick: bool) -> list[MeasuredRow]:
    """
    Measure the clock of SMs that execute wgmma.

    Two warpgroups of each SM multiply random fractions, m64n``n``k16 of f16 with sums of f32. A ninth warp loads boxes
    of 128 rows of 128 bytes from random data: each SM its own, both SMs of a TPC the same, or all SMs the same, from
    the L2; or from DRAM. Before a launch the GPU rests for 20 ms. Column ``busy`` has the part of the cycles in which
    the tensor cores were busy, ``bytes_per_cycle`` what an SM loads, ``microseconds`` the median span of an SM, ``mhz``
    its cycles over that.
    """
    rows = device.sms * max(AREA_ROWS.values())
    random = np.random.default_rng(1).integers(0, 256, _RANDOM_BYTES, dtype=np.uint8)
    data = device.cupy.asarray(np.resize(random, rows * BOX_PITCH))
    tensor_map = tensor_maps.encode(
        tensor_maps.BoxMap(
            address=int(data.data.ptr),
            columns=BOX_PITCH // 2,
            rows=rows,
            pitch=BOX_PITCH,
            box_columns=64,
            box_rows=128,
            swizzle=128,
        )
    )
    return [_row(device, case, tensor_map) for case in _cases(device.sms, quick=quick)]


def _row(device: Device, case: ClockCase, tensor_map: Any) -> MeasuredRow:
    trips = max(1, case.kilocycles * 1000 // max(case.group_pace, case.group_cycles))
    boxes = structure(
        pace=case.pace,
        divide=2 if case.source == "pair" else 1,
        modulo=1 if case.source == "all" else device.sms,
        area_rows=AREA_ROWS.get(case.source, 256),
    )
    warps = _MULTIPLYING + 1
    seen, error = clocks(
        device,
        "wgmma_clock",
        f"paced_{case.n}",
        (tensor_map, boxes, np.uint32(case.group_pace), np.uint32(trips)),
        (case.sms, warps, 4),
        ctas=case.sms,
        threads=warps * WARP,
        shared=(_WARPGROUPS * 64 + case.n) * 128 + _PLACES_BYTES + ALIGNED_BYTES,
        before=partial(time.sleep, _REST_SECONDS),
    )
    own = seen[:, :_MULTIPLYING]
    cycles, nanoseconds = float(np.median(own[..., 3] - own[..., 0])), float(np.median(own[..., 2] - own[..., 1]))
    loaded = float(np.median(seen[:, _MULTIPLYING, 0])) * _BOX_BYTES
    return case._asdict() | {
        "busy": round(trips * case.group_cycles / cycles, 4) if cycles else 0.0,
        "bytes_per_cycle": round(loaded / cycles, 2) if cycles else 0.0,
        "microseconds": round(nanoseconds / 1000, 2),
        "mhz": round(1000 * cycles / nanoseconds, 1) if nanoseconds else 0.0,
        "error": error,
    }
