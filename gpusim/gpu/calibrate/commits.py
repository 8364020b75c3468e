"""Measures what follows a warp's copies, and how long they keep it: a group's end, a wait, a barrier, new addresses."""

from itertools import product
from typing import Final

import numpy as np

from gpusim.gpu.calibrate.runner import WARP, Device, MeasuredRow
from gpusim.gpu.calibrate.runs import SMSPS

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
"""What each tile's copies are followed by, by its number in the microbenchmark; the wait leaves six groups pending."""

_ROWS: Final = (64, 128, 512)
_COPIES: Final = (1, 2, 4, 8)
_WARPS: Final = (1, 2)
_PITCH, _TILES, _PASSES = 8192, 16, 33
_SHARED_OF_A_WARP: Final = 16384


def measure_commits(device: Device, *, quick: bool) -> list[MeasuredRow]:
    """
    Measure tiles of a few cp.async.cg of 16 bytes, one after another, with what kernels have behind them.

    Column ``cycles`` has those of a tile, in the mean over all passes but the first, which brings the rows to the L2;
    median over warps. ``behind`` says what each tile's copies are followed by.
    """
    rows: list[MeasuredRow] = []
    for row_bytes, copies, behind in product(
        _ROWS[:1] if quick else _ROWS, _COPIES[:1] if quick else _COPIES, BEHIND_COPIES
    ):
        for per_smsp, ctas in product(_WARPS, (1, device.sms)):
            warps = per_smsp * SMSPS
            span = warps * copies * (WARP * 16 // row_bytes) * _PITCH
            data = device.cupy.zeros(ctas * span, dtype=np.uint8)
            clocks = device.cupy.zeros((ctas, warps), dtype=np.uint64)
            device.launch(
                "commits",
                f"commits_{row_bytes}_{copies}_{behind}",
                (clocks, data, np.int32(_PASSES), np.uint32(span), np.uint64(0)),
                ctas=ctas,
                threads=warps * WARP,
                shared=warps * _SHARED_OF_A_WARP,
            )
            cycles = float(np.median(device.cupy.asnumpy(clocks))) / ((_PASSES - 1) * _TILES)
            row: MeasuredRow = {"row_bytes": row_bytes, "copies": copies, "behind": BEHIND_COPIES[behind]}
            rows.append(row | {"warps": per_smsp, "ctas": ctas, "cycles": cycles})
    return rows
