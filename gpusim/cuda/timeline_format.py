"""The format of the buffer in which a timeline build records times of each warp; kernels_cuda/record.cuh writes it."""

from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from gpusim.arrays import IntArray
from gpusim.errors import CheckFailed

HEADER_WORDS: Final = 16
"""uint32 words of the header before a warp's rows. They hold eight int64."""

NOT_STAMPED: Final = -1
"""Value of a time that no warp wrote, because the row has no such event."""

_EMPTY: Final = np.uint32(0xFFFFFFFF)
_WRAP: Final = 1 << 32


@dataclass(frozen=True, slots=True)
class WarpTimeline:
    """
    The times at which one warp reached the events of its program.

    Times are SM cycles since the first warp of the CTA started. A row is a k tile, or a fetch of one. An event that did
    not happen in a row is ``NOT_STAMPED``: a fetch beyond the last k tile has a ``copy_issue`` only.

    Attributes:
        slot: Position of the CTA in ``Params.recorded``.
        warp: Warp of the CTA.
        block: Linear index of the CTA, x fastest.
        sm: The SM that the CTA ran on.
        globaltimer: The GPU's globaltimer when the warp began, nanoseconds.
        k_tiles: Number of k tiles that the warp consumed.
        begin: Time of the warp's first instructions.
        prologue_end, tail_end, end: Times after the prologue, after the last wait and barrier, and after the epilogue.
        copy_issue: Time before the first copy of each fetch, shape [rows].
        wait_begin: Time before the wait_group that each k tile needs, shape [rows].
        wait_end: Time after the barrier that follows that wait, shape [rows].
        ldmatrix: Time before the fragment loads of each k group, shape [rows, k_groups].
        mma_begin: Time after the first mma.sync of each k group was issued, shape [rows, k_groups].
        mma_end: Time after the last mma.sync of each k group was issued, shape [rows, k_groups].
    """

    slot: int
    warp: int
    block: int
    sm: int
    globaltimer: int
    k_tiles: int
    begin: int
    prologue_end: int
    tail_end: int
    end: int
    copy_issue: IntArray
    wait_begin: IntArray
    wait_end: IntArray
    ldmatrix: IntArray
    mma_begin: IntArray
    mma_end: IntArray


def row_words(k_groups: int) -> int:
    """Return the number of uint32 words of one row."""
    return 3 + 3 * k_groups


def least_capacity(k_iterations: int, stages: int) -> int:
    """
    Return the rows to reserve for a warp, rounded up to an even number.

    A warp needs a row for each k tile, for each fetch beyond the last k tile, and for one more fetch, which a
    convolution issues in part. An even number of rows keeps every warp's header, which holds 64-bit values, 8-byte
    aligned.
    """
    return (k_iterations + stages + 1) // 2 * 2


def buffer_words(slots: int, warps: int, k_groups: int, capacity: int) -> int:
    """Return the number of uint32 words of ``Params.records``. The host fills them with 0xFFFFFFFF before a launch."""
    return slots * warps * (HEADER_WORDS + capacity * row_words(k_groups))


def decode(buffer: npt.NDArray[np.uint32], slots: int, warps: int, k_groups: int) -> tuple[WarpTimeline, ...]:
    """
    Decode the buffer of a timeline build.

    Args:
        buffer: ``Params.records`` after the launch, ``buffer_words`` long, of any shape.
        slots: Number of CTAs recorded.
        warps: Warps of a CTA.
        k_groups: k groups (slices of the mma.sync's K) of a k tile.

    Returns:
        One timeline for each warp, sorted by slot and warp.

    Raises:
        CheckFailed: A CTA to be recorded did not run, or the buffer was too small.
    """
    per_warp = buffer.reshape(slots, warps, -1)
    headers = np.ascontiguousarray(per_warp[:, :, :HEADER_WORDS]).view(np.int64)
    rows = per_warp[:, :, HEADER_WORDS:].reshape(slots, warps, -1, row_words(k_groups))
    if (headers[:, :, 0] == -1).any():
        raise CheckFailed("a CTA that was to be recorded never ran: its index is outside the grid, or has no tile")
    if (rows[:, :, 0, 0] == _EMPTY).any():
        raise CheckFailed("the timeline's buffer has room for too few k tiles")
    return tuple(
        _warp_timeline(slot, warp, headers[slot], rows[slot, warp]) for slot in range(slots) for warp in range(warps)
    )


def _warp_timeline(slot: int, warp: int, headers: IntArray, rows: npt.NDArray[np.uint32]) -> WarpTimeline:
    start = int(headers[:, 0].min())
    header = [int(value) for value in headers[warp]]
    # A stamp holds the low 32 bits of the clock, so its distance from the start is known modulo 2^32.
    cycles = np.where(rows == _EMPTY, NOT_STAMPED, (rows.astype(np.int64) - start) % _WRAP)
    groups = cycles[:, 3:].reshape(len(rows), -1, 3)
    return WarpTimeline(
        slot=slot,
        warp=warp,
        block=header[7],
        sm=header[2],
        globaltimer=header[1],
        k_tiles=header[6],
        begin=header[0] - start,
        prologue_end=header[3] - start,
        tail_end=header[4] - start,
        end=header[5] - start,
        copy_issue=cycles[:, 0],
        wait_begin=cycles[:, 1],
        wait_end=cycles[:, 2],
        ldmatrix=groups[:, :, 0],
        mma_begin=groups[:, :, 1],
        mma_end=groups[:, :, 2],
    )
