"""Chooses the contents of the pictures of attention's run."""

from collections.abc import Sequence
from math import prod

from gpusim.families.attention.chart import attention_overlap_chart
from gpusim.families.attention.problem import AttentionScenario
from gpusim.families.attention.schedule import kernels
from gpusim.families.attention.tile.operands import GEMMS
from gpusim.families.attention.tile.shape import attention_shape
from gpusim.families.bank_pictures import bank_pictures as worst_pictures
from gpusim.machine import load_machine
from gpusim.report.bank_grid import BankPicture
from gpusim.report.captions import Words
from gpusim.report.style import Canvas
from gpusim.results.result import PipelineRow, Result
from gpusim.results.timeline import Timeline
from gpusim.results.use import mma_interval

_TYPICAL = (("sts", "p"), ("ldmatrix", "p"), ("ldmatrix", "q"), ("ldmatrix", "k"), ("ldmatrix", "v"))
"""Accesses to show if none conflicts: stores and loads of P if it goes through shared memory, else the operands."""


def bank_pictures(scenario: AttentionScenario) -> tuple[BankPicture, ...]:
    """Return the worst shared access of each kind, the worst first, the epilogue's and the atomics among them."""
    return worst_pictures(kernels(scenario)[0], _TYPICAL, "v")


def draw_overlap(
    scenario: AttentionScenario,
    words: Words,
    result: Result,
    timeline: Timeline,
    canvas: Canvas,
    *,
    measured: Sequence[PipelineRow] | None = None,
) -> Canvas:
    """Draw the key blocks of one warp: GEMMs, softmax and waits, below the measured key blocks if there are any."""
    return attention_overlap_chart(result, words, timeline, canvas, _block_cycles(scenario, result), measured=measured)


def _block_cycles(scenario: AttentionScenario, result: Result) -> dict[str, int] | None:
    """Return the cycles that the MMAs of one warp's key block occupy the tensor core, by GEMM; None if not known."""
    interval, shape = mma_interval(result, load_machine(scenario.machine)), attention_shape(scenario)
    if interval is None:
        return None
    tiles = {"qk": shape.qk_tiles, "pv": scenario.keys_per_block // shape.pv.threadblock[2] * shape.column_blocks}
    return {
        gemm: prod(shape.tiling(gemm).warp) // prod(shape.tiling(gemm).instruction) * tiles[gemm] * interval
        for gemm in GEMMS
    }
