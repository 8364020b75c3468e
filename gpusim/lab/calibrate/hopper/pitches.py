"""Measures TMA loads of boxes whose rows begin anywhere within lines and sectors of global memory."""

from collections.abc import Iterator
from itertools import product
from typing import Final

import numpy as np

from gpusim.lab.calibrate.hopper.boxes import BOX_COLUMNS, NEAR_ROWS, BoxCase, Loads
from gpusim.lab.calibrate.runner import Device, MeasuredRow
from gpusim.units import LINE_BYTES, SECTOR_BYTES

PITCHES: Final = (
    *(1024, 1280, 1408, 1424, 1440, 1456, 1472, 1488, 1504, 1520, 1536),
    *(2000, 2016, 2032, 2048, 4096, 4112),
)
FIRSTS: Final = (16, 32, 48, 64, 96, 112)
_SHAPES: Final = ((128, 128), (64, 64), (64, 0), (32, 0))


def _cases(sms: int, *, quick: bool) -> Iterator[BoxCase]:
    places = [*((pitch, 0) for pitch in PITCHES), *((1536, first) for first in FIRSTS)]
    for (pitch, first), (inner, swizzle), count in product(places[:: 5 if quick else 1], _SHAPES, (1, sms)):
        for rows in (64, 128):
            for in_flight in (1, 4):
                yield BoxCase("burst", "L2", rows, inner, swizzle, pitch, first, in_flight, count)
                yield BoxCase("ring", "L2", rows, inner, swizzle, pitch, first, in_flight, count)
            yield BoxCase("ring", "L2", rows, inner, swizzle, pitch, first, 8, count)


def touched(case: BoxCase, unit: int) -> float:
    """Return the lines or sectors, of ``unit`` bytes, that a box touches: the mean over the boxes of an area."""
    columns = case.first + LINE_BYTES * np.arange(BOX_COLUMNS)
    begins = case.pitch * np.arange(NEAR_ROWS)[:, None] + columns
    units = (begins + case.inner - 1) // unit - begins // unit + 1
    return float(units.mean()) * case.rows


def measure_tma_pitch(device: Device, *, quick: bool) -> list[MeasuredRow]:
    """
    Measure boxes whose rows begin ``pitch`` bytes apart, the first one ``first`` bytes from the begin of its line.

    Columns ``sectors`` and ``lines`` have those that a box touches. The others are those of ``measure_tma_boxes``.
    """
    loads = Loads(device, device.sms * NEAR_ROWS * max(PITCHES))
    return [
        loads.row(case) | {"sectors": touched(case, SECTOR_BYTES), "lines": touched(case, LINE_BYTES)}
        for case in _cases(device.sms, quick=quick)
        if case.fits
    ]
