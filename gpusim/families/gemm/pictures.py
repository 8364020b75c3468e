"""Chooses what the pictures of a GEMM's or convolution's run show."""

from collections.abc import Sequence

from gpusim.families.bank_pictures import bank_pictures as worst_pictures
from gpusim.families.gemm.program import mainloop_policy
from gpusim.families.gemm.schedule import kernels
from gpusim.machine import load_machine
from gpusim.report.bank_grid import BankPicture
from gpusim.report.captions import Words
from gpusim.report.overlap import overlap_chart
from gpusim.report.style import Canvas
from gpusim.results.result import PipelineRow, Result
from gpusim.results.timeline import Timeline
from gpusim.results.use import mma_interval
from gpusim.scenario.gemm import GemmScenario

_TYPICAL = (("ldgsts", "a"), ("sts", "a"), ("ldmatrix", "a"), ("ldmatrix", "b"), ("lds", "a"), ("lds", "b"))
"""Accesses to show where none conflicts: the write of A, and the fragments of both operands."""


def bank_pictures(scenario: GemmScenario) -> tuple[BankPicture, ...]:
    """Return the worst shared access of each kind, the worst first, the epilogue's among them."""
    transposed = [side for side in scenario.operands if not scenario.problem.k_contiguous(side)]
    return worst_pictures(kernels(scenario)[0], _TYPICAL, transposed)


def draw_overlap(
    scenario: GemmScenario,
    words: Words,
    result: Result,
    timeline: Timeline,
    canvas: Canvas,
    *,
    measured: Sequence[PipelineRow] | None = None,
) -> Canvas:
    """Draw which slots of the shared-memory ring fill while which are read, and return ``canvas``."""
    return overlap_chart(
        result,
        words,
        timeline,
        canvas,
        measured,
        through_registers=mainloop_policy(scenario).through_registers,
        group_cycles=_group_cycles(scenario, result),
    )


def _group_cycles(scenario: GemmScenario, result: Result) -> int | None:
    """Return the cycles that one warp's MMAs of a k group occupy the tensor core; None where that is not known."""
    interval = mma_interval(result, load_machine(scenario.machine))
    (warp_m, warp_n, _), (m, n, _) = scenario.kernel.warp, scenario.kernel.instruction
    return None if interval is None else (warp_m // m) * (warp_n // n) * interval
