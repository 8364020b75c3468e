"""Measures the steps of an epilogue: what passes through shared memory, and is stored, between two barriers."""

from itertools import product
from typing import Final

import numpy as np

from gpusim.gpu.calibrate.runner import WARP, Device, MeasuredRow

STEPS: Final = 8
"""Steps of a launch, one after the other."""

STORED: Final = ("", "other registers", "loaded", "loaded, times a factor")
"""What each step stores to global memory, by its number in the microbenchmark."""

_SHAPES: Final = ((4, 2, 256), (8, 4, 256), (8, 2, 256), (4, 1, 256), (4, 2, 512), (0, 2, 256))
"""st.shared.v2 and ld.shared.v4 of a step, and bytes of a row of what is stored."""

_OWN_BYTES: Final = 4096
_PITCH: Final = 4096


def measure_steps(device: Device, *, quick: bool) -> list[MeasuredRow]:
    """
    Measure the steps of an epilogue on one SM, whose code and data are warm.

    A step is so many st.shared.v2, a barrier, so many ld.shared.v4, as many st.global.v4, and a barrier. Columns
    ``at_0`` to ``at_7`` have the cycle at which the loads of each step have been issued, of the CTA's first warp,
    counted from the first step's.
    """
    rows: list[MeasuredRow] = []
    for (puts, loads, row_bytes), (number, stored), warps in product(
        _SHAPES[:1] if quick else _SHAPES, enumerate(STORED), (1, 4, 8)
    ):
        stamps = device.cupy.zeros((warps, STEPS), dtype=np.uint64)
        output = device.cupy.zeros(warps * STEPS * loads * (WARP * 16 // row_bytes) * _PITCH, dtype=np.uint8)
        kernel, arguments = f"steps_{puts}_{loads}_{number}_{row_bytes}", (stamps, output, np.float32(2))
        device.launch("steps", kernel, arguments, threads=warps * WARP, shared=warps * _OWN_BYTES)
        first = device.cupy.asnumpy(stamps).astype(np.int64)[0]
        row: MeasuredRow = {"st.shared.v2": puts, "ld.shared.v4": loads, "stored": stored}
        row |= {"row_bytes": row_bytes, "warps": warps}
        rows.append(row | {f"at_{step}": int(at - first[0]) for step, at in enumerate(first)})
    return rows
