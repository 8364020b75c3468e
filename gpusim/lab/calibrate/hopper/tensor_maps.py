"""Encodes tensor maps of the copy engine through the CUDA driver; knows no benchmark."""

import ctypes
from dataclasses import dataclass
from functools import cache
from typing import Final

import numpy as np

from gpusim.errors import CannotRun

_MAP_BYTES, _MAP_ALIGNMENT = 128, 64
_MAP: Final = np.dtype([("words", np.uint64, _MAP_BYTES // 8)])
_FLOAT16, _FLOAT32 = 6, 7
_SWIZZLES: Final = {0: 0, 32: 1, 64: 2, 128: 3}
_NO_INTERLEAVE, _PROMOTED_TO_128, _ZEROS = 0, 2, 0


@dataclass(frozen=True, slots=True)
class BoxMap:
    """
    A matrix in global memory, and the boxes of it that the copy engine moves.

    Attributes:
        address: Global address of the first element, bytes.
        columns, rows: Elements of a row, and rows.
        pitch: Bytes from one row to the next.
        box_columns, box_rows: Elements of a row of a box, and its rows.
        swizzle: Bytes of the swizzle's span: 0 (none), 32, 64 or 128.
        element: Bytes of an element: 2 (f16) or 4 (f32).
    """

    address: int
    columns: int
    rows: int
    pitch: int
    box_columns: int
    box_rows: int
    swizzle: int
    element: int = 2


def encode(boxes: BoxMap) -> np.void:
    """
    Return the CUtensorMap of boxes, as a kernel takes it by value. L2 promotion is of 128 bytes, as CUTLASS has it.

    Raises:
        CannotRun: The driver is missing, has no tensor maps, or rejects these.
    """
    room = ctypes.create_string_buffer(_MAP_BYTES + _MAP_ALIGNMENT)
    address = -(-ctypes.addressof(room) // _MAP_ALIGNMENT) * _MAP_ALIGNMENT
    status = _driver().cuTensorMapEncodeTiled(
        ctypes.c_void_p(address),
        ctypes.c_int(_FLOAT32 if boxes.element == 4 else _FLOAT16),
        ctypes.c_uint32(2),
        ctypes.c_void_p(boxes.address),
        (ctypes.c_uint64 * 2)(boxes.columns, boxes.rows),
        (ctypes.c_uint64 * 1)(boxes.pitch),
        (ctypes.c_uint32 * 2)(boxes.box_columns, boxes.box_rows),
        (ctypes.c_uint32 * 2)(1, 1),
        ctypes.c_int(_NO_INTERLEAVE),
        ctypes.c_int(_SWIZZLES[boxes.swizzle]),
        ctypes.c_int(_PROMOTED_TO_128),
        ctypes.c_int(_ZEROS),
    )
    if status != 0:
        raise CannotRun(f"the driver does not encode a tensor map (error {status}): {boxes}")
    words = np.frombuffer(ctypes.string_at(address, _MAP_BYTES), dtype=_MAP)
    found: np.void = words[0]
    return found


@cache
def _driver() -> ctypes.CDLL:
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError as error:
        raise CannotRun(f"the CUDA driver cannot be loaded ({error})") from error
    if not hasattr(driver, "cuTensorMapEncodeTiled"):
        raise CannotRun("the CUDA driver is too old: it has no cuTensorMapEncodeTiled")
    return driver
