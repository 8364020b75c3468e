"""Loads of rows that the L1 lacks (returns.cu): cycles of an SM for each, measured and simulated."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from doubles.by_hand import instruction, load
from doubles.copied_rows import COPY_BYTES, copied_rows, lives_of_loop

from gpusim.lab.calibrate.table import MeasuredTable
from gpusim.machine import load_machine
from gpusim.sim.core.constants import PIPE
from gpusim.sim.footprint import l1_wavefronts
from gpusim.units import LINE_BYTES

MACHINE = load_machine("h200")
RETURNS = MeasuredTable(Path(__file__).parents[4] / "reports" / "measured" / "h200" / "microbench", "returns")
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
@pytest.mark.parametrize("row_bytes", [32, 64])
def test_a_line_comes_in_a_cycle_with_one_sector_or_two(kernel, row_bytes):
    """512 bytes in rows of 32 are 16 lines: 16 cycles; in rows of 64 8. Whole lines wait for the L2, not each other."""
    lines = COPY_BYTES // row_bytes

    assert measured(kernel, row_bytes, 16, LINE_BYTES) == pytest.approx(lines, rel=0.03)


@pytest.mark.parametrize("row_bytes", [32, 64])
def test_other_sectors_of_a_line_that_the_l1_has_come_no_faster(row_bytes):
    """Rounds that go on within a line find its tag: within 2 %."""
    of = {"kernel": "loads", "row_bytes": row_bytes, "warps": 16}

    assert measured(along=row_bytes, **of) == pytest.approx(measured(along=LINE_BYTES, **of), rel=0.02)


@pytest.mark.parametrize(("row_bytes", "warps"), [(32, 8), (32, 16), (64, 16)])
def test_loads_that_wait_for_the_lines_before_them_take_what_they_take_on_an_h200(row_bytes, warps):
    """Of fewer warps, or of whole lines, the L2's latency decides, and how often the loop asks."""
    assert simulated(row_bytes, warps) == pytest.approx(measured("loads", row_bytes, warps, LINE_BYTES), rel=0.08)


HITS = [{name: int(row[name]) for name in ("row_bytes", "apart", "behind")} for row in RETURNS.rows(along=0)]


@pytest.mark.parametrize("row", HITS, ids=str)
def test_what_the_l1_has_takes_a_cycle_for_each_wavefront_of_its_banks(row):
    """
    Rows of 64 bytes that lie in the same banks take eight, as eight rows do that two lines have each; rows that lie 64
    bytes further apart take four. Rows of 32 bytes take sixteen, eight where two of four share banks, or four.
    """
    lanes = np.arange(32)
    each = row["row_bytes"] // 16
    addresses = lanes // each * (PITCH + row["apart"]) + lanes % each * 16 + row["behind"]
    (found,) = RETURNS.rows(**row, along=0)

    wavefronts = int(l1_wavefronts(addresses, np.ones(32, dtype=bool), 16))

    assert float(found["cycles_each"]) == pytest.approx(wavefronts, rel=0.2)
