"""How the timeline build writes down when each warp did what, and how it is read. kernels_cuda/record.cuh writes it."""

from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from gpusim.arrays import IntArray
from gpusim.errors import CheckFailed

HEADER_WORDS: Final = 16
"""uint32 before a warp's rows: eight int64."""

NOT_STAMPED: Final = -1
"""A time that no warp wrote: the row has no such event."""

_EMPTY: Final = np.uint32(0xFFFFFFFF)
_WRAP: Final = 1 << 32


@dataclass(frozen=True, slots=True)
class WarpTimeline:
    """
    What one warp was seen to do. Times are SM cycles from the first start of a warp of the CTA.

    Attributes:
        slot: Position of the CTA in ``Params.recorded``.
        warp: Warp of the CTA.
        block: Linear index of the CTA, x fastest.
        sm: The SM it ran on.
        globaltimer: Nanoseconds of the GPU's timer when the warp began.
        k_tiles: k tiles consumed.
        begin: The warp's first instructions.
        prologue_end, tail_end, end: After the prologue; after the last wait and barrier; after the epilogue.
        copy_issue: Before the first copy of each fetch, shape [rows]; rows are k tiles or fetches. Here and below
            ``NOT_STAMPED`` where there is no such event: overrun fetches have a copy_issue only.
        wait_begin: Before the wait_group that brings each k tile, shape [rows].
        wait_end: After its barrier, shape [rows].
        ldmatrix: Before the fragment loads of each k group, shape [rows, k_groups].
        mma_begin: After the first mma.sync of each k group was issued, shape [rows, k_groups].
        mma_end: After the last one was, shape [rows, k_groups].
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
    """uint32 of one row."""
    return 3 + 3 * k_groups


def least_capacity(k_iterations: int, stages: int) -> int:
    """
    Rows a warp needs: its k tiles, the overrun, and the share that a convolution issues of one fetch more.

    Even, so that every warp's header, which holds 64-bit stamps, begins on 8 bytes.
    """
    return (k_iterations + stages + 1) // 2 * 2


def buffer_words(slots: int, warps: int, k_groups: int, capacity: int) -> int:
    """uint32 words of ``Params.records``; the host fills them with ones (0xFFFFFFFF) before the launch."""
    return slots * warps * (HEADER_WORDS + capacity * row_words(k_groups))


def decode(buffer: npt.NDArray[np.uint32], slots: int, warps: int, k_groups: int) -> tuple[WarpTimeline, ...]:
    """
    Read a timeline.

    Args:
        buffer: ``Params.records`` after the launch, ``buffer_words`` long, of any shape.
        slots: CTAs recorded.
        warps: Warps of a CTA.
        k_groups: Instruction-K slices of a k tile.

    Returns:
        By slot, then warp.

    Raises:
        CheckFailed: A CTA that was to be recorded did not run, or the buffer had room for too few rows.
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
    # Stamps hold the clock's low 32 bits, so the distance from the start is theirs modulo 2^32.
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
