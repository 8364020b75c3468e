"""Measures the clock of each SM while all that have a CTA do the same, and which parts of the chip follow it."""

from itertools import product
from typing import Any, Final

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


CROSSED: Final = {"l1 chase": 0, "l2 chase": 1, "dram chase": 1, "l2 read": 2, "l2 write": 3}
"""What warps do beside those that multiply, and the number of its kernel in the microbenchmark."""

_LINE: Final = 128
_MULTIPLYING, _READING = 4 * WARP, 16 * WARP
_SHARES: Final = (1, 0.75, 0.5, 0.25)
"""Of the time, in which tensor cores multiply."""


def measure_domains(device: Device, *, quick: bool) -> list[MeasuredRow]:
    """
    Measure loads and stores of all SMs beside warps that multiply all the time, a part of it, or never.

    Each row has the medians over the SMs: cycles and nanoseconds of ``count`` hops from pointer to pointer, or of so
    many bytes of an SM, and how many batches of 64 mma.sync each SMSP has had meanwhile. A period is the least number
    of cycles from one batch to the next; 0 of them is as fast as they go.
    """
    rows: list[MeasuredRow] = []
    flush = device.cupy.zeros(1 << 28, dtype=np.uint8)
    for what, launches in product(CROSSED, (1 if quick else 3,)):
        chases = what.endswith("chase")
        data, own, apart = _data_of(device, what)
        trips = {"l1 chase": 16_384, "l2 chase": 1024, "dram chase": 256}.get(what, 16)
        periods: list[int | None] = [None, 0]
        while periods:
            period = periods.pop(0)
            for launch in range(launches):
                flush += 1
                if what == "l2 chase":
                    data.sum()
                stamps = device.cupy.zeros((device.sms, 4), dtype=np.uint64)
                arguments = (stamps, data, np.uint32(own), np.uint64(apart), np.int32(trips), np.uint64(period or 0))
                device.launch(
                    "domains",
                    f"domains_{CROSSED[what]}",
                    (*arguments, np.int32(period is not None)),
                    ctas=device.sms,
                    threads=_MULTIPLYING + (WARP if chases else _READING),
                )
                found = np.median(device.cupy.asnumpy(stamps).astype(np.int64), axis=0)
                cycles, nanoseconds, batches = (float(value) for value in found[:3])
                row: MeasuredRow = {"what": what, "period": "" if period is None else period, "launch": launch}
                row |= {"count": trips if chases else trips * own, "cycles": cycles, "nanoseconds": nanoseconds}
                rows.append(row | {"batches": batches})
            if period == 0 and not quick:
                periods += [round(cycles / batches / share) for share in _SHARES[1:]]
    return rows


def _data_of(device: Device, what: str) -> tuple[Any, int, int]:
    """Return the data of a row, the bytes that a CTA goes through, and those from one CTA's begin to the next one's."""
    if not what.endswith("chase"):
        own = 16 * _READING * 8
        return device.cupy.zeros(device.sms * own, dtype=np.uint8), own, own
    lines, pitch = {"l1 chase": (64, _LINE), "l2 chase": (1 << 14, _LINE), "dram chase": (1 << 18, 1 << 13)}[what]
    data = device.cupy.zeros(lines * pitch, dtype=np.uint8)
    order = np.random.default_rng(0).permutation(lines)
    targets = data.data.ptr + np.roll(order, -1).astype(np.uint64) * np.uint64(pitch)
    words = data.view(np.uint64).reshape(lines, pitch // 8)
    words[device.cupy.asarray(order), 0] = device.cupy.asarray(targets)
    return data, 0, 0 if what == "l1 chase" else 61 * pitch
