"""Chooses what the pictures of a GEMM's or convolution's run show."""

from collections.abc import Sequence

from gpusim.families.gemm.program import mainloop_policy
from gpusim.families.gemm.words import words
from gpusim.report.bank_grid import BankPicture
from gpusim.report.overlap import overlap_chart
from gpusim.report.style import Canvas
from gpusim.results.result import PipelineRow, Result
from gpusim.results.timeline import Timeline
from gpusim.scenario.gemm import GemmScenario
from gpusim.tile.lanes import copy_table, fragment_table, tile_store_table


def bank_pictures(scenario: GemmScenario) -> tuple[BankPicture, ...]:
    """Return the first write of operand A into shared memory and the first ldmatrix of each operand, of warp 0."""
    a = scenario.operand("a")
    if mainloop_policy(scenario).through_registers:
        stores = tile_store_table(a)
        write = BankPicture("st.shared of A", stores.addresses[0, 0, 0], stores.width, kind="store")
    else:
        copies = copy_table(a)
        write = BankPicture("cp.async of A", copies.addresses[0, 0, 0, 0], copies.width, kind="store")
    pictures = [write]
    for side, operand in scenario.operands.items():
        loads = fragment_table(operand)
        title = f"ldmatrix of {side.upper()}"
        pictures.append(BankPicture(title, loads.addresses[0, 0, 0, 0], 16, matrices=loads.matrices or 1))
    return tuple(pictures)


def draw_overlap(
    scenario: GemmScenario,
    result: Result,
    timeline: Timeline,
    canvas: Canvas,
    measured: Sequence[PipelineRow] | None = None,
) -> Canvas:
    """Draw which slots of the shared-memory ring fill while which are read, and return ``canvas``."""
    through_registers = mainloop_policy(scenario).through_registers
    return overlap_chart(result, words(scenario), timeline, canvas, measured, through_registers=through_registers)
