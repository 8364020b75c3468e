"""Measures the clock of each SM while all that have a CTA do the same."""

from itertools import product
from typing import Final

import numpy as np

from gpusim.gpu.calibrate.runner import WARP, Device, MeasuredRow

CLOCKED: Final = ("spin", "ffma", "mma", "ld.global")
"""What the CTAs do, by its number in the microbenchmark."""

_THREADS: Final = 8 * WARP
_DATA_BYTES: Final = 1 << 30
_NANOSECONDS: Final = (20_000, 200_000)


def measure_clocks(device: Device, *, quick: bool) -> list[MeasuredRow]:
    """
    Measure cycles and nanoseconds of every SM with a CTA, in launches of some microseconds.

    The clock of an SM is its cycles over its nanoseconds, of which the timer counts 32 at once.
    """
    rows: list[MeasuredRow] = []
    data = device.cupy.zeros(_DATA_BYTES, dtype=np.uint8)
    for (number, load), nanoseconds, ctas, launch in product(
        enumerate(CLOCKED), _NANOSECONDS[:1] if quick else _NANOSECONDS, (16, 64, device.sms), range(1 if quick else 3)
    ):
        stamps = device.cupy.zeros((ctas, 3), dtype=np.uint64)
        arguments = (stamps, data, np.uint64(_DATA_BYTES), np.int32(nanoseconds))
        device.launch("clocks", f"clocks_{number}", arguments, ctas=ctas, threads=_THREADS)
        for sm, cycles, passed in sorted(device.cupy.asnumpy(stamps).astype(np.int64).tolist()):
            row: MeasuredRow = {"load": load, "asked": nanoseconds, "ctas": ctas, "launch": launch}
            rows.append(row | {"sm": sm, "cycles": cycles, "nanoseconds": passed})
    return rows
