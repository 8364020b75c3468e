"""What microbenchmarks of copies find in global memory: rows that the L2 holds, copied along block after block."""

from collections.abc import Sequence
from dataclasses import replace

from doubles.by_hand import NOTHING, finish, instruction
from doubles.figures import with_figures

from gpusim.machine import load_machine
from gpusim.sim.code import Decoded, DecodedSegment, of_one_role
from gpusim.sim.columns import Data, column
from gpusim.sim.core.constants import DEPBAR, EXIT
from gpusim.sim.core.engine import engine
from gpusim.sim.cta_scheduler import CtaLife
from gpusim.sim.figures import figures_of
from gpusim.sim.tables import code_of
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
        brought=column([0] * fetches),
        shared=column([1] * fetches),
        looked=column([1000] * fetches),
        request=column([0]),
        vecs=column([1]),
        asked=column([COPY_BYTES // LINE_BYTES * SECTORS_PER_LINE] * requests),
        touched=column(range(0, len(lines) + 1, rows)),
        # Rows that all lie in the same banks of the L1.
        l1_wavefronts=column([max(rows, COPY_BYTES // LINE_BYTES)] * requests),
        line=column(lines),
        mask=column(masks),
        cached=False,
        simulates_l2=False,
    )


def lives_of_loop(
    loop: Sequence[Decoded], passes: int, warps: int, rows: Data, *, ctas: int = 1, groups: Sequence[int] = ()
) -> list[CtaLife]:
    """
    Run so many passes of a loop on an H200, each CTA on an SM of its own, until all that is copied is there.

    Measured loops are timed from a barrier on, so that code and constants are at hand.
    """
    machine = load_machine("h200")
    end = DecodedSegment("epilogue", (instruction(DEPBAR, pending=0, stall=4), instruction(EXIT)), 1, 0)
    figures = with_figures(figures_of(machine, 0, busy=False), {"instruction_cache.stream_lines": 0}, constant_miss=0)
    columns = code_of({0: of_one_role((DecodedSegment("mainloop", tuple(loop), passes, 1), end), warps)}, 0)
    chip = engine().module.Chip(figures, columns, rows, ctas, 1, 1, tuple(groups))
    return finish(chip, ctas, -1, 0)
