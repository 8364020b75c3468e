"""What boxes of TMA touch: sectors of global memory, and wavefronts of a read of eight rows from shared memory."""

from dataclasses import dataclass
from typing import Final

import numpy as np

from gpusim.arrays import IntArray
from gpusim.tile.tma.tensor_map import SWIZZLE_BYTES, TensorMap
from gpusim.units import LINE_BYTES, SECTOR_BYTES

_CHUNK: Final = 16
_ROWS: Final = 8
"""Rows of a matrix of ldmatrix, and of a core matrix of wgmma."""


@dataclass(frozen=True, slots=True)
class BoxCost:
    """
    What a box costs.

    Attributes:
        bytes: Bytes in shared memory.
        sectors, most_sectors: Sectors that a box inside the tensor touches, in the mean over all boxes, and at most.
        ideal_sectors: Sectors of as many contiguous bytes.
        lines: Lines that a box touches, in the mean.
        column_wavefronts: Wavefronts of a read of the same 16 bytes of eight consecutive rows: 1 without conflicts.
    """

    bytes: int
    sectors: float
    most_sectors: int
    ideal_sectors: int
    lines: float
    column_wavefronts: int


def box_cost(tensor: TensorMap) -> BoxCost:
    """
    Return what the boxes of a tensor map cost, over the boxes of one tiling that lie inside the tensor.

    Raises:
        ValueError: The map is not legal; ``TensorMap.broken_rules`` says why.
    """
    broken = tensor.broken_rules()
    if broken:
        raise ValueError(broken[0])
    rows = _row_starts(tensor)
    first = np.arange(max(1, tensor.extents[0] // tensor.box[0]), dtype=np.int64) * tensor.row_bytes
    starts = rows[..., np.newaxis] + first
    ends = starts + min(tensor.row_bytes, tensor.extents[0] * tensor.element_bytes) - 1
    sectors = (ends // SECTOR_BYTES - starts // SECTOR_BYTES + 1).sum(axis=1)
    lines = (ends // LINE_BYTES - starts // LINE_BYTES + 1).sum(axis=1)
    return BoxCost(
        bytes=tensor.box_bytes,
        sectors=float(sectors.mean()),
        most_sectors=int(sectors.max()),
        ideal_sectors=-(-tensor.box_bytes // SECTOR_BYTES),
        lines=float(lines.mean()),
        column_wavefronts=_column_wavefronts(tensor),
    )


def _row_starts(tensor: TensorMap) -> IntArray:
    """Return the address of each row of each box, shape [boxes, rows of a box]; at most 4,096 boxes are looked at."""
    found = np.array([[tensor.address]], dtype=np.int64)
    steps = tensor.steps or (1,) * len(tensor.box)
    for extent, box, stride, step in zip(tensor.extents[1:], tensor.box[1:], tensor.strides, steps[1:], strict=True):
        boxes = np.arange(min(max(1, extent // box), max(1, 4096 // len(found))), dtype=np.int64) * box * stride
        within = np.arange(0, min(box, extent), step, dtype=np.int64) * stride
        outer = (found[:, np.newaxis, :] + boxes[np.newaxis, :, np.newaxis]).reshape(-1, found.shape[1])
        found = (outer[:, :, np.newaxis] + within[np.newaxis, np.newaxis, :]).reshape(len(outer), -1)
    return found


def _column_wavefronts(tensor: TensorMap) -> int:
    """Return how many of eight rows' chunks lie in the same banks, at the worst chunk of a row."""
    chunks = SWIZZLE_BYTES.get(tensor.swizzle, _CHUNK) // _CHUNK
    row = np.arange(_ROWS, dtype=np.int64)[:, np.newaxis] * tensor.row_bytes
    offsets = tensor.shared_address + row + np.arange(max(1, tensor.row_bytes // _CHUNK), dtype=np.int64) * _CHUNK
    banks = (offsets ^ (offsets // LINE_BYTES % chunks) * _CHUNK) % LINE_BYTES // _CHUNK
    return max(int(np.bincount(column).max()) for column in banks.T)
