"""The format of the buffer in which a trace build records the ops of each warp; kernels_cuda/record.cuh writes it."""

import re
from collections.abc import Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

from gpusim.arrays import IntArray
from gpusim.errors import CheckFailed
from gpusim.schedule.ops import WarpOp
from gpusim.units import WARP_SIZE

WORDS: Final = 4
"""int64 words of one lane in one record: header, shared offset, global offset, predicate."""


def operation_names(op_kinds: Sequence[type[WarpOp]]) -> dict[int, str]:
    """Return the snake-case names of the kinds of ops that a trace records, by their numbers (``WarpOp.traced_as``)."""
    return {
        kind.traced_as: re.sub(r"(?<!^)(?=[A-Z])", "_", kind.__name__).lower()
        for kind in op_kinds
        if kind.traced_as is not None
    }


RECORD: Final = np.dtype(
    [
        ("slot", np.int64),
        ("warp", np.int64),
        ("position", np.int64),
        ("op", np.int64),
        ("operand", np.int64),
        ("zfill", np.bool_),
        ("cg", np.bool_),
        ("stage", np.int64),
        ("k_group", np.int64),
        ("index", np.int64),
        ("k_tile", np.int64),
        ("shared", np.int64, WARP_SIZE),
        ("global", np.int64, WARP_SIZE),
        ("predicate", np.bool_, WARP_SIZE),
    ]
)
"""
dtype of one operation of one warp.

slot: Position of the CTA in ``Params.recorded``.
warp: Warp of the CTA.
position: Number of the operation in that warp's program.
op: Number of the op (``WarpOp.traced_as``).
operand: 0 none, 1 a, 2 b.
zfill: A copy or a global load fills lanes that are predicated off with zeros.
cg: A copy bypasses L1 (cp.async.cg).
stage, k_group, k_tile: -1 if the operation has none. k_tile is the fetch of a copy, a global load or a StoreTile, and
    the step of an epilogue operation.
index: access * vecs + vec of a copy or a global load; the access of a StoreTile or an epilogue operation; the
    instruction of a fragment load; the mma.sync count of a WarpMma; the pending groups of a wait; otherwise -1.
shared: Offset in elements from the operand's base, or in accumulators from the base of the epilogue's staging; -1 if
    the operation does not access shared memory.
global: Offset in elements from the tensor's base, at least 0 in valid lanes and arbitrary in others; -1 if the
    operation does not access global memory.
predicate: Lanes that are not predicated off.
"""


def buffer_words(slots: int, warps: int, capacity: int) -> int:
    """Return the number of int64 words of ``Params.records`` that hold ``capacity`` records of every warp."""
    return slots * warps * capacity * WARP_SIZE * WORDS


def decode(buffer: npt.NDArray[np.int64], counts: npt.NDArray[np.int32]) -> npt.NDArray[np.void]:
    """
    Decode the buffer of a trace build.

    Args:
        buffer: ``Params.records`` after the launch, ``buffer_words`` long, of any shape.
        counts: ``Params.record_counts``, shape [slots, warps].

    Returns:
        Records of dtype ``RECORD``, sorted by slot, warp and position.

    Raises:
        CheckFailed: A warp's records did not fit the buffer, or its lanes recorded different operations.
    """
    slots, warps = counts.shape
    words = buffer.reshape(slots, warps, -1, WARP_SIZE, WORDS)
    capacity = words.shape[2]
    if counts.max(initial=0) > capacity:
        raise CheckFailed(f"the trace has room for {capacity} records of a warp, but one had {int(counts.max())}")
    position = np.arange(capacity, dtype=np.int64)
    slot, warp, number = np.nonzero(position < counts[:, :, None])
    kept: IntArray = words[slot, warp, number]
    header = kept[:, 0, 0]
    if (kept[:, :, 0] != header[:, None]).any():
        raise CheckFailed("the lanes of a warp recorded different operations at one place of the trace")
    records = np.zeros(len(kept), dtype=RECORD)
    records["slot"], records["warp"], records["position"] = slot, warp, number
    records["op"] = header & 0xFF
    records["operand"] = header >> 8 & 3
    records["zfill"] = header >> 10 & 1
    records["cg"] = header >> 11 & 1
    records["stage"] = (header >> 12 & 0xFF) - 1
    records["k_group"] = (header >> 20 & 0xFF) - 1
    records["index"] = (header >> 28 & 0xFFFF) - 1
    records["k_tile"] = (header >> 44 & 0x7FFFF) - 1
    records["shared"], records["global"] = kept[:, :, 1], kept[:, :, 2]
    records["predicate"] = kept[:, :, 3] != 0
    return records
