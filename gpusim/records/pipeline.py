"""
Converts clock stamps of the timeline build to pipeline rows, as in ``Result.pipeline``. It measures nothing itself.
"""

from collections.abc import Sequence
from itertools import pairwise
from statistics import median

import numpy as np

from gpusim.cuda.timeline_format import NOT_STAMPED, WarpTimeline
from gpusim.records.record import LoopTime, MeasuredPipeline
from gpusim.results.result import PipelineRow
from gpusim.schedule.kernel import Stamped


def pipeline_rows(warp: WarpTimeline, stamped: Stamped) -> tuple[PipelineRow, ...]:
    """
    Return one row for each k tile or key block of a warp, in the warp's order, in cycles from the CTA's start.

    An mma.sync is stamped at its issue, so ``mma_end`` is earlier than in a simulation, where it is the time of the
    result. The warp's clock cannot show when copies land, so ``copy_done`` is None. If a kernel does not stamp its
    first mma.sync, the MMAs begin with the fragment loads.

    Args:
        warp: Stamps of one warp of the recorded CTA.
        stamped: The events that the build stamps.
    """
    rows = range(warp.k_tiles)
    multiplies = np.where(warp.mma_begin == NOT_STAMPED, warp.ldmatrix, warp.mma_begin)
    return tuple(
        PipelineRow(
            k_tile=turn,
            stage=turn % stamped.stages,
            copy_issue=int(warp.copy_issue[row]),
            copy_done=None,
            wait_begin=int(warp.wait_begin[row]),
            wait_end=int(warp.wait_end[row]),
            mma_begin=int(multiplies[row, 0]),
            mma_end=int(warp.mma_end[row, -1]),
        )
        for turn, row in enumerate(reversed(rows) if stamped.descending else rows)
    )


def steady_k_tile(rows: Sequence[PipelineRow]) -> float | None:
    """
    Return the median cycles from the first MMA of a k tile to the first MMA of the next one.

    The first two and the last two k tiles are left out. None below 7 k tiles.
    """
    begins = [row.mma_begin for row in sorted(rows, key=lambda row: row.k_tile)]
    steps = [after - before for before, after in pairwise(begins[2:-2])]
    return float(median(steps)) if len(steps) >= 2 else None


def measured_pipeline(
    warps: Sequence[WarpTimeline], stamped: Stamped, plain: LoopTime | None, instrumented: LoopTime | None
) -> MeasuredPipeline:
    """
    Return the part of a timeline that a record keeps: the rows of warp 0, and the cost of stamping them.

    Args:
        warps: Warps of the recorded CTA, warp 0 first.
        stamped: The events that the build stamps.
        plain, instrumented: Warm-loop times of the plain and of the timeline build; None if not timed.
    """
    perturbation = None
    if plain is not None and instrumented is not None:
        perturbation = round(instrumented.median / plain.median, 4)
    return MeasuredPipeline(
        rows=pipeline_rows(warps[0], stamped),
        instrumented_us=None if instrumented is None else instrumented.median,
        perturbation=perturbation,
        cta_cycles=max(warp.end for warp in warps),
    )
