"""Measures TMA stores of the boxes that epilogues store."""

from collections.abc import Iterator
from itertools import product
from typing import Final, Literal, NamedTuple

import numpy as np

from gpusim.lab.calibrate.hopper import tensor_maps
from gpusim.lab.calibrate.hopper.boxes import BOX_COLUMNS, LONE_CTA_SHARED
from gpusim.lab.calibrate.hopper.launches import ALIGNED_BYTES, clocks, of_ctas, of_rounds, structure
from gpusim.lab.calibrate.runner import Device, MeasuredRow

STORE_SHAPES: Final = ((32, 64, 2), (32, 128, 2), (64, 32, 2), (64, 64, 2), (64, 128, 2), (32, 64, 4), (32, 128, 4))
"""Columns and rows of a box, and bytes of an element. Their swizzle is of a row's bytes."""

STORE_BURSTS: Final = (1, 2, 4, 8)
STORE_RINGS: Final = (1, 2, 3, 4)
_ROUNDS: Final = 9
_NEAR_ROWS, _FAR_ROWS = 256, 4096
_NEAR_STORES: Final = 96


class StoreCase(NamedTuple):
    """A "burst" of stores as one group, or a "ring" of a group each; to memory that stays in the L2, or to more."""

    kind: Literal["burst", "ring"]
    target: Literal["L2", "DRAM"]
    columns: int
    rows: int
    element: int
    stores: int
    sms: int

    @property
    def inner(self) -> int:
        """Bytes of a row of a box."""
        return self.columns * self.element

    @property
    def box_bytes(self) -> int:
        """Bytes of a box."""
        return self.rows * self.inner


def _cases(sms: int, *, quick: bool) -> Iterator[StoreCase]:
    for (columns, rows, element), count in product(STORE_SHAPES[:: 3 if quick else 1], (1, sms)):
        for stores in STORE_BURSTS:
            if stores * columns * rows * element <= LONE_CTA_SHARED:
                yield StoreCase("burst", "L2", columns, rows, element, stores, count)
        for stores in STORE_RINGS:
            yield StoreCase("ring", "L2", columns, rows, element, stores, count)
            yield StoreCase("ring", "DRAM", columns, rows, element, stores, count)


def measure_tma_stores(device: Device, *, quick: bool) -> list[MeasuredRow]:
    """
    Measure TMA stores of boxes, swizzled by a row's bytes, by one thread of each of ``sms`` SMs.

    Of a "burst" of ``stores`` boxes, one group, ``issued`` has the cycles until they have been issued, ``read`` until
    they have been read from shared memory, ``cycles`` until all have been written: medians over SMs and eight rounds
    that begin on all SMs at once; ``slowest`` is the longest round. In a "ring" each store is a group, and waits until
    fewer than ``stores`` groups have not been read; ``cycles`` has the median over SMs, ``slowest`` the slowest SM's,
    ``per_box`` the cycles of an SM for a box, ``bytes_per_cycle`` its bytes.
    """
    data = device.cupy.zeros(device.sms * _FAR_ROWS * BOX_COLUMNS * 128, dtype=np.uint8)
    rows: list[MeasuredRow] = []
    for case in _cases(device.sms, quick=quick):
        area_rows = _FAR_ROWS if case.target == "DRAM" else _NEAR_ROWS
        tensor_map = tensor_maps.encode(
            tensor_maps.BoxMap(
                address=int(data.data.ptr),
                columns=BOX_COLUMNS * case.columns,
                rows=device.sms * area_rows,
                pitch=BOX_COLUMNS * case.inner,
                box_columns=case.columns,
                box_rows=case.rows,
                swizzle=case.inner,
                element=case.element,
            )
        )
        boxes = structure(
            rows=case.rows,
            slot_bytes=case.box_bytes,
            columns=case.columns,
            row_mask=area_rows - 1,
            area_rows=area_rows,
        )
        shape = (case.sms, _ROUNDS, 4) if case.kind == "burst" else (case.sms, 2)
        stores = _NEAR_STORES if case.target == "L2" else BOX_COLUMNS * (area_rows // case.rows)
        trips = stores // case.stores - 1
        stamps, error = clocks(
            device,
            "tma_stores",
            f"{case.kind}_{case.stores}",
            (tensor_map, boxes, np.uint32(_ROUNDS if case.kind == "burst" else trips)),
            shape,
            ctas=case.sms,
            shared=max(LONE_CTA_SHARED, case.stores * case.box_bytes + ALIGNED_BYTES),
        )
        if case.kind == "burst":
            found = of_rounds(stamps, ("issued", "read", "cycles"))
        else:
            found = of_ctas(stamps, trips * case.stores, case.box_bytes)
        rows.append(case._asdict() | found | {"error": error})
    return rows
