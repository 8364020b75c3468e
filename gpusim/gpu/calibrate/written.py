"""Measures what is written: zeros of copies behind others and before them, and the stores of an epilogue's steps."""

from itertools import product
from typing import Final

import numpy as np

from gpusim.gpu.calibrate.runner import WARP, Device, MeasuredRow

ZEROS_ORDERS: Final = ("behind", "ahead", "loads")
"""Where the copies that write zeros stand: the microbenchmark's numbers."""

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
_WARM, _TRIPS = 2, 40
_REST: Final = 1500
"""Cycles between two steps: all stores have left by then."""


def measure_zeros(device: Device, *, quick: bool) -> list[MeasuredRow]:
    """
    Measure what copies that write zeros wait for, behind copies that bring something or ahead of them.

    Columns ``issued`` and ``cycles`` have the cycles until a warp has issued all, and until all is there, means over
    warps. With ``order`` "loads" a warp waits for the copies alone, and for the others: ``issued`` are the cycles until
    then, ``cycles`` those of four ldmatrix.x4 from there.
    """
    rows: list[MeasuredRow] = []
    warps_of = ZEROS_WARPS[1:2] if quick else ZEROS_WARPS
    for (number, order), row_bytes, warps in product(enumerate(ZEROS_ORDERS), ZEROS_ROWS, warps_of):
        for copies, zeros in product(ZEROS_COPIES, ZEROS_COUNTS):
            if copies + zeros == 0 or (order == "loads" and not copies):
                continue
            data = device.cupy.zeros(max(ZEROS_WARPS) * _WARP_SPANS["zeros"], dtype=np.uint8)
            counts = device.cupy.zeros((warps, 2), dtype=np.uint64)
            arguments = (counts, data, np.uint32(row_bytes), np.uint32(_WARM + _TRIPS), np.uint32(0))
            kernel = f"zeros_{copies}_{zeros}_{number}"
            for _ in range(2):
                device.launch(
                    "zeros", kernel, arguments, ctas=device.sms, threads=warps * WARP, shared=_SHARED["zeros"]
                )
            issued, cycles = device.cupy.asnumpy(counts).astype(np.int64).mean(axis=0) / _TRIPS
            row: MeasuredRow = {"order": order, "row_bytes": row_bytes, "warps": warps}
            row |= {"copies": copies, "zeros": zeros, "issued": round(float(issued), 1)}
            rows.append(row | {"cycles": round(float(cycles), 1)})
    return rows


def measure_steps(device: Device, *, quick: bool) -> list[MeasuredRow]:
    """
    Measure a step of an epilogue behind another one's stores to global memory: stores to shared memory, and loads.

    ``stores`` of ``bytes`` a lane to global memory are followed by a barrier, ``shared`` of 8 bytes a lane to shared
    memory, a barrier, and four loads of 16 bytes. Column ``cycles`` has the cycles until the last one's data is there,
    the mean over warps.
    """
    rows: list[MeasuredRow] = []
    warps_of = STEPS_WARPS[1:2] if quick else STEPS_WARPS
    for shared, bytes_, stores, warps in product(STEPS_SHARED, STEPS_BYTES, STEPS_STORES, warps_of):
        data = device.cupy.zeros(max(STEPS_WARPS) * _WARP_SPANS["steps"], dtype=np.uint8)
        counts = device.cupy.zeros(warps, dtype=np.uint64)
        arguments = (counts, data, np.uint32(_WARM + _TRIPS), np.uint32(_REST), np.uint32(0))
        kernel = f"steps_{stores}_{bytes_}_{shared}"
        for _ in range(2):
            device.launch("steps", kernel, arguments, ctas=device.sms, threads=warps * WARP, shared=_SHARED["steps"])
        cycles = device.cupy.asnumpy(counts).astype(np.int64).mean() / _TRIPS
        row: MeasuredRow = {"stores": stores, "bytes": bytes_, "shared": shared, "warps": warps}
        rows.append(row | {"cycles": round(float(cycles), 1)})
    return rows
