"""What the pictures of attention's run show."""

from collections.abc import Sequence

from gpusim.families.attention.chart import attention_overlap_chart
from gpusim.families.attention.problem import AttentionScenario
from gpusim.families.attention.tile.lanes import AttentionLanes
from gpusim.families.attention.words import words
from gpusim.report.bank_grid import BankPicture
from gpusim.report.style import Canvas
from gpusim.results.result import PipelineRow, Result
from gpusim.results.timeline import Timeline
from gpusim.tile.lanes import fragment_table


def bank_pictures(scenario: AttentionScenario) -> tuple[BankPicture, ...]:
    """
    Return the first accesses of shared memory by warp 0.

    Where P goes through shared memory they are P's store and ldmatrix, else those of Q and K; and V's ldmatrix.
    """
    lanes = AttentionLanes(scenario)
    pictures = []
    if not scenario.flash:
        stores = lanes.p_stores
        pictures.append(BankPicture("st.shared of P", stores.addresses[0, 0], stores.width, kind="store"))
    for name in ("q", "k", "v") if scenario.flash else ("p", "v"):
        loads = fragment_table(lanes.operands[name])
        title = f"ldmatrix{'.trans' if name == 'v' else ''} of {name.upper()}"
        pictures.append(BankPicture(title, loads.addresses[0, 0, 0, 0], loads.width, matrices=loads.matrices))
    return tuple(pictures)


def draw_overlap(
    scenario: AttentionScenario,
    result: Result,
    timeline: Timeline,
    canvas: Canvas,
    measured: Sequence[PipelineRow] | None = None,  # noqa: ARG001 - no build stamps key blocks
) -> Canvas:
    """Draw the key blocks of one warp: both GEMMs, the softmax, and what the warp waits for."""
    return attention_overlap_chart(result, words(scenario), timeline, canvas)
