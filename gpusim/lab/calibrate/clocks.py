"""Measures the clock of each SM while all SMs with a CTA do the same work, and which parts of the chip follow it."""

from itertools import product
from typing import Any, Final

import numpy as np

from gpusim.lab.calibrate.memory import chain_lines
from gpusim.lab.calibrate.runner import WARP, Device, MeasuredRow

CLOCKED: Final = ("spin", "ffma", "mma", "ld.global")
"""Work of the CTAs, by its number in the microbenchmark."""

_THREADS: Final = 8 * WARP
_DATA_BYTES: Final = 1 << 30
_NANOSECONDS: Final = (20_000, 200_000)


def measure_clocks(device: Device, *, quick: bool) -> list[MeasuredRow]:
    """
    Measure cycles and nanoseconds of every SM with a CTA, in launches of some microseconds.

    The clock of an SM is its cycles over its nanoseconds. The timer counts in steps of 32 ns.
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


GONE_THROUGH: Final = {"l1 chase": 0, "l2 chase": 1, "dram chase": 1, "l2 read": 2, "l2 write": 3}
"""Work of the warps beside those that multiply, and the number of its kernel in the microbenchmark."""

_MULTIPLYING, _GOING_THROUGH = 4 * WARP, 16 * WARP
_SHARES: Final = (0.75, 0.5, 0.25)
"""Rates at which batches of mma.sync begin, as shares of the rate without pauses."""

_HOPS: Final = {"l1 chase": 16_384, "l2 chase": 1024, "dram chase": 256}
_PASSES: Final = 16
_CHAINS: Final = {"l1 chase": (64, 128), "l2 chase": (1 << 14, 128), "dram chase": (1 << 18, 512)}
"""Lines of a chain, and bytes from one to the next."""

_PASS_BYTES: Final = 65_536
_FLUSH_WORDS: Final = 1 << 26


def measure_domains(device: Device, *, quick: bool) -> list[MeasuredRow]:
    """
    Measure loads and stores of all SMs beside warps that multiply without a pause, with pauses, or not at all.

    Each row has the medians over the SMs: cycles and nanoseconds of ``count`` hops from pointer to pointer, or of
    ``count`` bytes of an SM, and the number of batches of 64 mma.sync of each SMSP in that time. A period is the least
    number of cycles from one batch to the next: 0 if there is no pause between them, empty without mma.sync.
    """
    rows: list[MeasuredRow] = []
    for what in GONE_THROUGH:
        data, starts = _data_of(device, what)
        periods: list[int | None] = [None, 0]
        while periods:
            period = periods.pop(0)
            own = [_beside(device, what, starts, period) | {"launch": launch} for launch in range(1 if quick else 3)]
            rows += own
            if period == 0 and not quick:
                batch = float(own[-1]["cycles"]) / float(own[-1]["batches"])
                periods += [round(batch / share) for share in _SHARES]
        del data
    return rows


def _beside(device: Device, what: str, starts: Any, period: int | None) -> MeasuredRow:
    """Launch twice, the second time with warm caches (except for DRAM's chase); return the row."""
    chases = what in _CHAINS
    trips = _HOPS.get(what, _PASSES)
    stamps = device.cupy.zeros((device.sms, 4), dtype=np.uint64)
    flush = device.cupy.zeros(_FLUSH_WORDS, dtype=np.uint32) if what == "dram chase" else None
    for _ in range(2):
        if flush is not None:
            flush.max()
        device.launch(
            "domains",
            f"domains_{GONE_THROUGH[what]}",
            (
                *(stamps, starts, np.uint32(_PASS_BYTES), np.int32(trips)),
                *(np.uint64(period or 0), np.int32(period is not None)),
            ),
            ctas=device.sms,
            threads=_MULTIPLYING + (WARP if chases else _GOING_THROUGH),
        )
    cycles, passed, batches, _ = np.median(device.cupy.asnumpy(stamps).astype(np.int64), axis=0).tolist()
    row: MeasuredRow = {"what": what, "period": "" if period is None else period}
    return row | {
        "count": trips if chases else trips * _PASS_BYTES,
        "cycles": cycles,
        "nanoseconds": passed,
        "batches": batches,
    }


def _data_of(device: Device, what: str) -> tuple[Any, Any]:
    """Return the data of a row, and where each CTA begins: each has a part of the chain, or of the bytes."""
    ctas = np.arange(device.sms)
    if what not in _CHAINS:
        data = device.cupy.zeros(device.sms * _PASS_BYTES, dtype=np.uint8)
        return data, device.cupy.asarray((int(data.data.ptr) + ctas * _PASS_BYTES).astype(np.uint64))
    lines, pitch = _CHAINS[what]
    words = device.cupy.zeros(lines * pitch // 8, dtype=np.uint64)
    order = np.random.default_rng(0).permutation(lines)
    chain_lines(device, words, order, pitch // 8)
    starts = order[ctas * lines // device.sms]
    return words, device.cupy.asarray((int(words.data.ptr) + starts * pitch).astype(np.uint64))
