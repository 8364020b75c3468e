"""What the pictures of attention's run show."""

from collections.abc import Sequence

from gpusim.families.attention.chart import attention_overlap_chart
from gpusim.families.attention.problem import AttentionScenario
from gpusim.families.attention.schedule import kernels
from gpusim.families.attention.words import words
from gpusim.families.bank_pictures import bank_pictures as worst_pictures
from gpusim.report.bank_grid import BankPicture
from gpusim.report.style import Canvas
from gpusim.results.result import PipelineRow, Result
from gpusim.results.timeline import Timeline

_TYPICAL = (("sts", "p"), ("ldmatrix", "p"), ("ldmatrix", "q"), ("ldmatrix", "k"), ("ldmatrix", "v"))
"""Accesses to show where none conflicts: the way of P where it goes through shared memory, else the operands."""


def bank_pictures(scenario: AttentionScenario) -> tuple[BankPicture, ...]:
    """Return the worst shared access of each kind, the worst first, the epilogue's and the atomics among them."""
    return worst_pictures(kernels(scenario)[0], _TYPICAL, "v")


def draw_overlap(
    scenario: AttentionScenario,
    result: Result,
    timeline: Timeline,
    canvas: Canvas,
    measured: Sequence[PipelineRow] | None = None,  # noqa: ARG001 - no build stamps key blocks
) -> Canvas:
    """Draw the key blocks of one warp: both GEMMs, the softmax, and what the warp waits for."""
    return attention_overlap_chart(result, words(scenario), timeline, canvas)
