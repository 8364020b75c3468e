"""Computes the addresses of an attention kernel's row statistics, log-sum-exps and f32 buffer; it knows no time."""

from functools import lru_cache

import numpy as np

from gpusim.arrays import BoolArray, IntArray
from gpusim.families.attention.problem import AttentionScenario
from gpusim.families.attention.program.softmax import At
from gpusim.families.attention.tile.blocks import BlockAdvance, attention_epilogue, source_parts
from gpusim.families.attention.tile.operands import fragment_rows
from gpusim.families.attention.tile.shape import attention_shape
from gpusim.tile.epilogue import OutputAccess
from gpusim.tile.mma import warp_coordinates
from gpusim.units import WARP_SIZE


@lru_cache(maxsize=1024)
def statistic_words(scenario: AttentionScenario, at: At, index: int, *, partial: bool) -> IntArray:
    """
    Return the words that lanes access, counted from the base of their statistic.

    Args:
        scenario: Problem and kernel.
        at: Rule that gives a lane its row, as in ``softmax.LoadStatistic``.
        index: The lane's row, the warp column of an owner, or the epilogue's vector.
        partial: Whether the statistic is the partial sums, which have rows for each warp column.

    Returns:
        Shape [warps, 32].
    """
    shape = attention_shape(scenario)
    thread = np.arange(shape.threads, dtype=np.int64).reshape(-1, WARP_SIZE)
    if at == "fragment":
        rows = fragment_rows(scenario)[:, :, index]
        column = warp_coordinates(shape.qk.warps)[:, 1, None]
        return rows + column * shape.qk.threadblock[0] if partial else rows
    if at == "owner":
        rows = thread // WARP_SIZE * shape.owned_rows + thread % WARP_SIZE
        return rows + index * shape.qk.threadblock[0] if partial else rows
    tile = attention_epilogue(scenario)
    step, access = divmod(index, tile.accesses_per_step)
    return tile.output(step, 0, 0).rows[:, access].reshape(-1, WARP_SIZE)


def statistic_lanes(scenario: AttentionScenario, at: At, *, stores: bool) -> BoolArray:
    """
    Return the lanes that take part in one access, shape [warps, 32].

    A row's statistic is stored by the first of the four lanes that hold the row; an owner is one of as many lanes as a
    warp has rows.
    """
    shape = attention_shape(scenario)
    lanes = np.arange(shape.threads, dtype=np.int64).reshape(-1, WARP_SIZE) % WARP_SIZE
    taking: BoolArray = lanes < (shape.owned_rows if at == "owner" else WARP_SIZE)
    return taking & (lanes % 4 == 0) if at == "fragment" and stores else taking


def lse_access(scenario: AttentionScenario, advance: BlockAdvance) -> tuple[IntArray, BoolArray]:
    """
    Return where CTAs store their log-sum-exps, and which of their threads do: rows of the CTA's batch only.

    A thread stores the row that it owns; in flash each of its rows, by the first of the four lanes that hold the row.

    Returns:
        Element offsets and predicates, shape [ctas, threads, stores].
    """
    shape = attention_shape(scenario)
    at: At = "fragment" if shape.flash else "owner"
    rows = [
        statistic_words(scenario, at, row, partial=False) for row in range(shape.rows_of_lane if shape.flash else 1)
    ]
    within = np.stack(rows, axis=-1).reshape(shape.threads, -1)
    taking = statistic_lanes(scenario, at, stores=True).reshape(-1, 1)
    return advance.lse[:, None, None] + within, taking & (within < advance.num_queries[:, None, None])


def buffer_access(scenario: AttentionScenario, output: OutputAccess) -> tuple[IntArray, BoolArray]:
    """
    Return the accesses to the f32 buffer that correspond to one step of the output, by one CTA.

    Args:
        output: The accesses of the output, arrays [1, threads, accesses].

    Returns:
        Element offsets and predicates, shape [threads, accesses * source_parts].
    """
    parts = source_parts(scenario)
    part = np.arange(parts, dtype=np.int64) * (attention_epilogue(scenario).elements_per_access // parts)
    threads = output.offset.shape[1]
    offsets = (output.offset[0][..., None] + part).reshape(threads, -1)
    return offsets, np.repeat(output.valid[0], parts, axis=1)
