"""Loads of rows that the L1 lacks (returns.cu): cycles of an SM for each, measured and simulated."""

from dataclasses import replace
from pathlib import Path

import pytest
from doubles.by_hand import instruction, load
from doubles.copied_rows import COPY_BYTES, copied_rows, lives_of_loop

from gpusim.gpu.calibrate.table import MeasuredTable
from gpusim.machine import load_machine
from gpusim.sim.core.constants import PIPE
from gpusim.units import LINE_BYTES

MACHINE = load_machine("h200")
RETURNS = MeasuredTable(Path(__file__).parents[2] / "reports" / "measured" / "h200" / "microbench", "returns")
LOADS, PITCH = 4, 16384
"""Of a warp's round, each into registers of its own; and bytes from one row to the next."""


def measured(kernel, row_bytes, warps, along):
    return RETURNS.numbers("cycles_each", kernel=kernel, row_bytes=row_bytes, warps=warps, along=along)[0]


def simulated(row_bytes, warps):
    """Cycles of a load of rows of so many bytes: each waits until the one before it into its registers has come."""
    branch = MACHINE.pipes["branch"]
    loop = [
        load(0, stall=2, write=number, waits=(number,), gated=True)._replace(target=(0, 0, number, 0))
        for number in range(LOADS)
    ]
    loop.append(instruction(PIPE, pipe="branch", stall=5, latency=branch.latency, is_branch=True, joins=True))
    passes = PITCH // LINE_BYTES
    rows = copied_rows(warps, LOADS, row_bytes, PITCH, passes, along=LINE_BYTES)
    (life,) = lives_of_loop(loop, passes, warps, replace(rows, cached=True))
    return life.finished / (passes * warps * LOADS)


@pytest.mark.parametrize("kernel", ["loads", "loads_around"])
@pytest.mark.parametrize("row_bytes", [32, 64, 128, 256])
def test_a_line_comes_in_two_cycles_with_one_sector_or_four(kernel, row_bytes):
    """512 bytes in rows of 32 are 16 lines: 32 cycles; in rows of 64 8 lines: 16; in whole lines 4: 8."""
    lines = COPY_BYTES // min(row_bytes, LINE_BYTES)
    along = max(row_bytes, LINE_BYTES)

    assert measured(kernel, row_bytes, 16, along) == pytest.approx(2 * lines, rel=0.08)


@pytest.mark.parametrize("row_bytes", [32, 64])
def test_other_sectors_of_a_line_that_the_l1_has_come_no_faster(row_bytes):
    """Rounds that go on within a line find its tag: within 1 %."""
    of = {"kernel": "loads", "row_bytes": row_bytes, "warps": 16}

    assert measured(along=row_bytes, **of) == pytest.approx(measured(along=LINE_BYTES, **of), rel=0.01)


@pytest.mark.parametrize(("row_bytes", "warps"), [(32, 4), (32, 8), (32, 16), (64, 8), (64, 16), (128, 16)])
def test_loads_that_wait_for_the_lines_before_them_take_what_they_take_on_an_h200(row_bytes, warps):
    """Of fewer warps, or of whole lines by eight, the L2's latency decides, and how often the loop asks."""
    assert simulated(row_bytes, warps) == pytest.approx(measured("loads", row_bytes, warps, LINE_BYTES), rel=0.08)
