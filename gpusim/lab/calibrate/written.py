"""Measures writes: zero-filling copies behind other copies and ahead of them, and the stores of an epilogue's steps."""

from itertools import product
from typing import Any, Final

import numpy as np

from gpusim.lab.calibrate.runner import WARP, Device, MeasuredRow

ZEROS_ORDERS: Final = ("behind", "ahead", "loads")
"""Places of the zero-filling copies, by their numbers in the microbenchmark."""

ZEROS_COPIES: Final = (0, 4, 8, 16)
ZEROS_COUNTS: Final = (0, 4, 8, 16, 24)
ZEROS_ROWS: Final = (512, 64)
ZEROS_WARPS: Final = (1, 4, 8)

STEPS_STORES: Final = (0, 1, 2, 4)
STEPS_BYTES: Final = (16, 8, 4)
STEPS_SHARED: Final = (0, 4, 8)
STEPS_WARPS: Final = (1, 4, 8, 16)

_WARP_SPANS: Final = {"zeros": 131072, "steps": 65536}
_SHARED: Final = {"zeros": 160 << 10, "steps": 128 << 10}
_LAUNCHES, _WARM, _TRIPS = 2, 2, 40
_REST: Final = 1500
"""Cycles between two steps, in which all stores leave."""


def _cycles_of(device: Device, benchmark: str, case: str, counts: Any, *arguments: Any) -> Any:
    """Return the counts of a trip, the mean over all warps of SM 0; ``counts`` has a row for each warp."""
    for _ in range(_LAUNCHES):
        device.launch(
            benchmark,
            f"{benchmark}_{case}",
            (counts, *arguments, np.uint32(0)),
            ctas=device.sms,
            threads=len(counts) * WARP,
            shared=_SHARED[benchmark],
        )
    return device.cupy.asnumpy(counts).astype(np.int64).mean(axis=0) / _TRIPS


def measure_zeros(device: Device, *, quick: bool) -> list[MeasuredRow]:
    """
    Measure how long zero-filling copies wait, behind copies of data or ahead of them.

    Columns ``issued`` and ``cycles`` have the cycles until a warp has issued all copies, and until all have landed:
    means over warps. With ``order`` "loads" a warp waits for its data copies, and then at a barrier: ``issued`` has
    the cycles until then, ``cycles`` those of four ldmatrix.x4 from there.
    """
    rows: list[MeasuredRow] = []
    warps_of = ZEROS_WARPS[1:2] if quick else ZEROS_WARPS
    data = device.cupy.zeros(max(ZEROS_WARPS) * _WARP_SPANS["zeros"], dtype=np.uint8)
    for (number, order), row_bytes, warps in product(enumerate(ZEROS_ORDERS), ZEROS_ROWS, warps_of):
        for copies, zeros in product(ZEROS_COPIES, ZEROS_COUNTS):
            if copies + zeros == 0 or (order == "loads" and not copies):
                continue
            counts = device.cupy.zeros((warps, 2), dtype=np.uint64)
            sizes = (np.uint32(row_bytes), np.uint32(_WARM + _TRIPS))
            issued, cycles = _cycles_of(device, "zeros", f"{copies}_{zeros}_{number}", counts, data, *sizes)
            row: MeasuredRow = {"order": order, "row_bytes": row_bytes, "warps": warps}
            row |= {"copies": copies, "zeros": zeros, "issued": round(float(issued), 1)}
            rows.append(row | {"cycles": round(float(cycles), 1)})
    return rows


def measure_steps(device: Device, *, quick: bool) -> list[MeasuredRow]:
    """
    Measure an epilogue's step (stores to shared memory, and loads) behind the last step's stores to global memory.

    ``stores`` of ``bytes`` a lane to global memory are followed by a barrier, ``shared`` stores of 8 bytes a lane to
    shared memory, a barrier, and four loads of 16 bytes. Column ``cycles`` has the cycles until the last load's data
    has arrived, the mean over warps.
    """
    rows: list[MeasuredRow] = []
    warps_of = STEPS_WARPS[1:2] if quick else STEPS_WARPS
    data = device.cupy.zeros(max(STEPS_WARPS) * _WARP_SPANS["steps"], dtype=np.uint8)
    for shared, bytes_, stores, warps in product(STEPS_SHARED, STEPS_BYTES, STEPS_STORES, warps_of):
        counts = device.cupy.zeros(warps, dtype=np.uint64)
        times = (np.uint32(_WARM + _TRIPS), np.uint32(_REST))
        cycles = _cycles_of(device, "steps", f"{stores}_{bytes_}_{shared}", counts, data, *times)
        row: MeasuredRow = {"stores": stores, "bytes": bytes_, "shared": shared, "warps": warps}
        rows.append(row | {"cycles": round(float(cycles), 1)})
    return rows
