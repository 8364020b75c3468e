"""The wavefronts in which copies from global memory reach shared memory: every 128-byte line returns separately."""

import numpy as np

from gpusim.arrays import BoolArray, IntArray
from gpusim.layout.banks import STANDARD, Banks
from gpusim.units import LINE_BITS, SECTOR_BITS, SECTOR_BYTES, VECTOR_BITS, WARP_SIZE


def returning_wavefronts(
    offset: IntArray, target: IntArray, valid: BoolArray, bits: int, banks: Banks = STANDARD
) -> IntArray:
    """
    Count the wavefronts in which the data of each warp instruction returns when its copies bypass L1.

    Every 128-byte line of global memory returns separately. It takes one wavefront, unless several of the aligned
    32-byte pieces that it fills in shared memory lie in the same eight banks.

    Args:
        offset: Elements from the tensor's base, shape [..., 32].
        target: Elements from a 32-byte boundary of shared memory, same shape.
        valid: Predicates of the lanes, same shape.
        bits: Element width.
        banks: Banks of the shared memory.

    Returns:
        Shape [...]; 0 where no lane is valid.

    Source: reports/measured/h200/microbench/ldgsts.csv; docs/cross-checking.md lists what this rule does not explain.
    """
    line, piece = offset * bits // LINE_BITS, target * bits // SECTOR_BITS
    together = (line[..., :, None] == line[..., None, :]) & valid[..., :, None] & valid[..., None, :]
    earlier = np.tri(WARP_SIZE, k=-1, dtype=bool)
    fresh = ~(together & (piece[..., :, None] == piece[..., None, :]) & earlier).any(axis=-1)
    meeting = together & ((piece[..., :, None] - piece[..., None, :]) % max(1, banks.row_bytes // SECTOR_BYTES) == 0)
    in_group = (meeting & fresh[..., None, :]).sum(axis=-1)
    in_line = np.where(together, in_group[..., None, :], 0).max(axis=-1)
    first_of_line = valid & ~(together & earlier).any(axis=-1)
    return np.asarray((in_line * first_of_line).sum(axis=-1), dtype=np.int64)


def returning_lines(offset: IntArray, valid: BoolArray, bits: int, width: int) -> IntArray:
    """
    Count the lines in which the data of each warp instruction returns when its copies go through L1 (cp.async.ca).

    Copies of 4 or 8 bytes take only the wavefronts of their address pattern, so none are counted.

    Args:
        offset: Elements from the tensor's base, shape [..., 32].
        valid: Predicates of the lanes, same shape.
        bits: Element width.
        width: Bytes of one copy.

    Returns:
        Shape [...]; 0 where no lane is valid.
    """
    return distinct_pieces(offset * bits // LINE_BITS, valid & (width * 8 == VECTOR_BITS))


def distinct_pieces(pieces: IntArray, valid: BoolArray) -> IntArray:
    """Count the distinct numbers among the valid lanes of each warp instruction; valid numbers are at least 0."""
    outside = -1
    ordered = np.sort(np.where(valid, pieces, outside), axis=-1)
    distinct = (np.diff(ordered, axis=-1) != 0).sum(axis=-1)
    return np.asarray(distinct + 1 - (ordered[..., 0] == outside), dtype=np.int64)
