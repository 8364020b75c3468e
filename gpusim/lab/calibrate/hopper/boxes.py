"""Measures TMA loads of single boxes, by rows, bytes of a row, swizzle, loads in flight and SMs."""

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from functools import partial
from itertools import product
from typing import Any, Final, Literal

import numpy as np

from gpusim.lab.calibrate.cold import FILL_BYTES, fill_l2
from gpusim.lab.calibrate.hopper import tensor_maps
from gpusim.lab.calibrate.hopper.launches import ALIGNED_BYTES, clocks, of_ctas, of_rounds, structure
from gpusim.lab.calibrate.runner import Device, MeasuredRow
from gpusim.units import LINE_BYTES

BOX_ROWS: Final = (1, 2, 4, 8, 16, 32, 64, 128, 256)

FULL_SPANS: Final = ((16, 0), (32, 0), (64, 0), (128, 0), (32, 32), (64, 64), (128, 128))
"""Bytes of a box's row, and its swizzle, that fills with a row where there is one."""

NARROW_SPANS: Final = ((16, 32), (32, 64), (64, 128))
"""Rows of half a swizzle's span. In shared memory they are as far apart as whole ones."""

BURSTS: Final = (1, 2, 4, 8, 16, 32)
RINGS: Final = (1, 2, 4, 8)

BOX_COLUMNS: Final = 4
BOX_PITCH: Final = BOX_COLUMNS * LINE_BYTES
NEAR_ROWS, FAR_ROWS = 256, 8192
"""Rows of an SM's area: its boxes stay in the L2, or all SMs' boxes are more than the L2 holds."""

_ROUNDS: Final = 9
_BURST_BYTES, _RING_BYTES = 128 << 10, 192 << 10
LONE_CTA_SHARED: Final = 120 << 10
"""Bytes of shared memory of which an SM has no two."""


@dataclass(frozen=True, slots=True)
class BoxCase:
    """
    Loads of boxes.

    Attributes:
        kind: A "burst" of loads on one barrier, or a "ring" of loads, each renewed when it has landed.
        source: Where the boxes are: "L2" or "DRAM".
        rows, inner, swizzle: Rows of a box, bytes of a row, and bytes of the swizzle's span, 0 without.
        pitch: Bytes from one row to the next in global memory.
        first: Bytes from the begin of a row to the first box.
        in_flight: Loads of the burst or of the ring.
        sms: SMs that load, a CTA each.
        divide, modulo: Boxes of an SM are in the area of its number over ``divide``, modulo ``modulo``.
    """

    kind: Literal["burst", "ring"]
    source: Literal["L2", "DRAM"]
    rows: int
    inner: int
    swizzle: int
    pitch: int
    first: int
    in_flight: int
    sms: int
    divide: int = 1
    modulo: int = 0

    @property
    def slot_bytes(self) -> int:
        """Bytes of a load's place in shared memory."""
        return -(-self.rows * max(self.inner, self.swizzle) // ALIGNED_BYTES) * ALIGNED_BYTES

    @property
    def fits(self) -> bool:
        """Whether the boxes fit in shared memory, and those of a burst in an SM's area of the L2."""
        held = self.in_flight * self.slot_bytes
        below = -(-self.in_flight // BOX_COLUMNS) * self.rows
        return (held <= _BURST_BYTES and below <= NEAR_ROWS) if self.kind == "burst" else held <= _RING_BYTES


class Loads:
    """Global memory that boxes are loaded from, and other memory that drives it out of the L2."""

    def __init__(self, device: Device, data_bytes: int) -> None:
        self._device = device
        self._data: Any = device.cupy.zeros(data_bytes, dtype=np.uint8)
        self._filling: Any = device.cupy.zeros(FILL_BYTES, dtype=np.uint8)

    def row(self, case: BoxCase) -> MeasuredRow:
        """Measure a case, and return its columns, those of its cycles and ``error``."""
        area_rows = FAR_ROWS if case.source == "DRAM" else NEAR_ROWS
        modulo = case.modulo or (1 if case.sms == 1 else self._device.sms)
        boxes = structure(
            bytes=case.rows * case.inner,
            rows=case.rows,
            slot_bytes=case.slot_bytes,
            column_first=case.first // 2,
            row_mask=area_rows - 1,
            round_rows=NEAR_ROWS if case.source == "DRAM" else 0,
            area_rows=area_rows,
            divide=case.divide,
            modulo=modulo,
        )
        described = tensor_maps.BoxMap(
            address=int(self._data.data.ptr),
            columns=case.pitch // 2,
            rows=modulo * area_rows,
            pitch=case.pitch,
            box_columns=case.inner // 2,
            box_rows=case.rows,
            swizzle=case.swizzle,
        )
        launched: Callable[..., Any] = partial(
            clocks,
            self._device,
            "tma_boxes",
            f"{case.kind}_{case.in_flight}",
            ctas=case.sms,
            shared=max(LONE_CTA_SHARED, case.in_flight * case.slot_bytes + ALIGNED_BYTES),
            before=partial(fill_l2, self._device, self._filling) if case.source == "DRAM" else None,
        )
        row: MeasuredRow = asdict(case)
        tensor_map = tensor_maps.encode(described)
        if case.kind == "burst":
            stamps, error = launched((tensor_map, boxes, np.uint32(_ROUNDS)), (case.sms, _ROUNDS, 3))
            found = of_rounds(stamps, ("issued", "cycles"))
            landed = float(found["cycles"])
            found |= {"per_box": landed / case.in_flight}
            found |= {"bytes_per_cycle": case.in_flight * case.rows * case.inner / landed if landed else 0.0}
        else:
            trips = _trips(case)
            spans, error = launched((tensor_map, boxes, np.uint32(trips)), (case.sms, 2))
            found = of_ctas(spans, trips * case.in_flight, case.rows * case.inner)
        return row | found | {"error": error}


def _trips(case: BoxCase) -> int:
    """Return the trips of a ring: 128 loads, or as many as an SM's area has boxes in DRAM, but for the first trips."""
    if case.source == "L2":
        return 128 // case.in_flight
    below = -(-case.in_flight // BOX_COLUMNS)
    return FAR_ROWS // (case.rows * below) - 3


def _cases(sms: int, *, quick: bool) -> Iterator[BoxCase]:
    shapes = [*FULL_SPANS, *NARROW_SPANS][:: 3 if quick else 1]
    for (inner, swizzle), rows in product(shapes, BOX_ROWS[:: 4 if quick else 1]):
        for count in (1,) if (inner, swizzle) in NARROW_SPANS else (1, sms):
            for in_flight in BURSTS:
                yield BoxCase("burst", "L2", rows, inner, swizzle, BOX_PITCH, 0, in_flight, count)
            for in_flight in RINGS:
                yield BoxCase("ring", "L2", rows, inner, swizzle, BOX_PITCH, 0, in_flight, count)
    for rows, count in product((128,) if quick else (64, 128, 256), (1, sms)):
        for in_flight in (1, 4):
            yield BoxCase("burst", "DRAM", rows, 128, 128, BOX_PITCH, 0, in_flight, count)
        for in_flight in (1, 2, 4, 6, 8):
            yield BoxCase("ring", "DRAM", rows, 128, 128, BOX_PITCH, 0, in_flight, count)


def measure_tma_boxes(device: Device, *, quick: bool) -> list[MeasuredRow]:
    """
    Measure TMA loads of boxes by one thread of each of ``sms`` SMs, in straight-line code.

    A box has ``rows`` rows of ``inner`` bytes, ``pitch`` bytes apart. Each SM has boxes of its own. "DRAM" boxes were
    driven out of the L2. A "burst" begins on all SMs at once: ``issued`` has the cycles until its ``in_flight`` loads
    have been issued, ``cycles`` until all have landed, medians over SMs and eight rounds; ``slowest`` is the longest
    round. In a "ring" ``in_flight`` loads are under way all the time; ``cycles`` has the median over SMs of all of it,
    ``slowest`` the slowest SM's. Column ``per_box`` has the cycles of an SM for a box, ``bytes_per_cycle`` its bytes.
    ``error`` says what was wrong, if anything was.
    """
    loads = Loads(device, device.sms * FAR_ROWS * BOX_PITCH)
    return [loads.row(case) for case in _cases(device.sms, quick=quick) if case.fits]
