"""What microbenchmarks of copies find in global memory: rows that the L2 holds, copied along block after block."""

from dataclasses import replace

from doubles.by_hand import NOTHING

from gpusim.sim.core.columns import Data, column
from gpusim.units import LINE_BYTES, SECTOR_BYTES, SECTORS_PER_LINE

COPY_BYTES = 512
"""Bytes of a warp's copy."""


def copied_rows(
    warps: int,
    copies: int,
    row_bytes: int,
    pitch: int,
    passes: int,
    *,
    ctas: int = 1,
    along: int = 0,
) -> Data:
    """
    Return the columns of CTAs whose warps copy rows of a block, and then of the next one.

    The copies of a step are numbered as its accesses, those of later steps follow; a step goes on by ``row_bytes``
    along the rows.

    Args:
        warps: Warps of each CTA.
        copies: Copies of each warp in a step.
        row_bytes: Bytes of each row in a step.
        pitch: Bytes from one row to the next.
        passes: Blocks of each CTA.
        ctas: CTAs; each has blocks of its own.
        along: Bytes along the rows of a block; 0 for all of the pitch.
    """
    rows, lines, masks = COPY_BYTES // row_bytes, [], []
    for step in range(0, along or pitch, row_bytes):
        for access in range(copies):
            for warp in range(warps):
                for place in range(rows):
                    at = ((warp * copies + access) * rows + place) * pitch + step
                    lines.append(at // LINE_BYTES)
                    masks.append(((1 << row_bytes // SECTOR_BYTES) - 1) << at % LINE_BYTES // SECTOR_BYTES)
    # Blocks lie behind one another along the rows, or where they are as long as the rows, one below the other.
    block = along // LINE_BYTES if along else warps * copies * rows * pitch // LINE_BYTES
    requests, fetches = len(lines) // rows, ctas * passes
    return replace(
        NOTHING.data(warps, ctas),
        row_fetch=column(cta * passes for cta in range(ctas)),
        row_status=column(cta * passes for cta in range(ctas)),
        pattern=column([0] * fetches),
        fetch_line=column(number * block for number in range(fetches)),
        slow=column([0] * fetches),
        missed=column([0] * fetches),
        shared=column([1] * fetches),
        looked=column([1000] * fetches),
        request=column([0]),
        vecs=column([1]),
        asked=column([COPY_BYTES // LINE_BYTES * SECTORS_PER_LINE] * requests),
        touched=column(range(0, len(lines) + 1, rows)),
        line=column(lines),
        mask=column(masks),
        cached=False,
        simulates_l2=False,
    )
