"""Measures the CTAs that an SM holds at once by the named barriers of their kernel."""

from collections.abc import Iterator
from typing import Final, NamedTuple

import numpy as np

from gpusim.lab.calibrate.runner import WARP, Device, MeasuredRow

RESIDENT_BARRIERS: Final = (0, 1, 2, 3, 4, 5, 8, 12, 16)
"""Barriers of the kernels whose barrier numbers are constants."""

_REGISTER_BARRIERS: Final = (1, 16)
_THREADS: Final = (WARP, 4 * WARP)
_CTAS_PER_SM: Final = 40
_STAY: Final = 40_000
"""Cycles that a CTA stays: about 20 us, in which every SM fills up."""


class _Case(NamedTuple):
    barriers: int
    register_id: int
    threads: int


def _cases(*, quick: bool) -> Iterator[_Case]:
    for threads in _THREADS[: 1 if quick else None]:
        for barriers in RESIDENT_BARRIERS:
            yield _Case(barriers, 0, threads)
        for barriers in _REGISTER_BARRIERS:
            yield _Case(barriers, 1, threads)


def measure_residents(device: Device, *, quick: bool) -> list[MeasuredRow]:
    """
    Measure the CTAs that an SM holds at once.

    A CTA of ``threads`` threads syncs at ``barriers`` barriers. With ``register_id`` 1, the barrier number is in a
    register, and ptxas allocates all 16. Column ``resident`` has the most CTAs that any SM held at once, and ``fewest``
    the same of the SM that held the fewest.
    """
    rows: list[MeasuredRow] = []
    for case in _cases(quick=quick):
        residents, most = (device.cupy.zeros(device.sms, dtype=np.int32) for _ in range(2))
        kernel = "residents_register" if case.register_id else f"residents_constant_{case.barriers}"
        arguments = (residents, most, np.int32(case.barriers), np.int32(_STAY))
        device.launch("residents", kernel, arguments, ctas=_CTAS_PER_SM * device.sms, threads=case.threads)
        found = device.cupy.asnumpy(most)
        rows.append(case._asdict() | {"resident": int(found.max()), "fewest": int(found.min())})
    return rows
