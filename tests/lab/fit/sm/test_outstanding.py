"""Bursts of more copies than an SM has on their way (outstanding.cu): how many issue before a pause, as simulated."""

from itertools import pairwise
from pathlib import Path

import pytest
from doubles.by_hand import Memory, copy, execute, instruction
from doubles.figures import with_figures

from gpusim.lab.calibrate.table import MeasuredTable
from gpusim.machine import load_machine
from gpusim.sim.core import chip
from gpusim.sim.core.constants import PIPE
from gpusim.sim.figures import figures_of
from gpusim.sim.footprint import IN_L2
from gpusim.units import SECTOR_BYTES

MACHINE = load_machine("h200")
BURSTS = MeasuredTable(Path(__file__).parents[4] / "reports" / "measured" / "h200" / "microbench", "outstanding")
WARPS, EACH, PAUSE = 16, 24, 250
FAR = with_figures(
    figures_of(MACHINE, 0, busy=False),
    {"instruction_cache.stream_lines": 0, "l2.far_fraction_percent": 0},
    constant_miss=0,
)
SLOW, NEAR = 3000, 250
"""Cycles from the host's memory, when pauses end, and from the L2."""


def measured(row_bytes, lanes, source="host", kernel="copies"):
    return BURSTS.numbers("issued", kernel=kernel, source=source, row_bytes=row_bytes, pitch=256, lanes=lanes)[0]


def simulated(row_bytes, lanes, *, through_l1=False, **figures):
    """Copies that issue before the first pause, each of lines of its own."""
    rows, mask = 16 * lanes // row_bytes, (1 << row_bytes // SECTOR_BYTES) - 1
    requests = [
        (rows * row_bytes // SECTOR_BYTES, tuple((number * rows + row, mask) for row in range(rows)))
        for number in range(EACH)
    ]
    memory = Memory(requests, statuses=[IN_L2] * EACH, simulates_l2=False, apart=rows * EACH)
    code = []
    for number in range(EACH):
        code += [copy(number, registers=3, stall=2, through_l1=through_l1), instruction(PIPE, stall=12)]
    far = with_figures(FAR, {"l2_near": SLOW} | figures)
    ran = execute(chip, (code, 1), warps=WARPS, figures=far, memory=memory)
    issues = sorted(at for warp in range(WARPS) for at in ran.warps[0, warp].selected[: 2 * EACH : 2])
    return next((count for count, (one, other) in enumerate(pairwise(issues), 1) if other - one >= PAUSE), len(issues))


@pytest.mark.parametrize(("row_bytes", "lanes"), [(64, 32), (32, 32), (32, 16), (32, 8), (128, 32)])
def test_as_many_copies_issue_before_a_pause(row_bytes, lanes):
    """Within 13: fewer wait for their look-up here, 50 of those that have issued for 56. Of whole lines all issue."""
    assert simulated(row_bytes, lanes) == pytest.approx(measured(row_bytes, lanes), abs=13)


@pytest.mark.parametrize(("row_bytes", "lanes"), [(128, 16), (128, 32), (64, 32), (64, 16), (32, 16)])
def test_as_many_copies_through_the_l1_issue_before_a_pause(row_bytes, lanes):
    """272, 158, 100, 158 and 100 on an H200: 456 lines on their way, and as many in the queues here as there."""
    found = simulated(row_bytes, lanes, through_l1=True)

    assert found == pytest.approx(measured(row_bytes, lanes, kernel="copies_through"), abs=5)


@pytest.mark.parametrize("lanes", [16, 8])
def test_of_two_or_four_half_lines_fewer_copies_issue_than_here(lanes):
    """357 and 356, which is not modelled: here all 384 do."""
    assert measured(64, lanes) < 360 < simulated(64, lanes) == WARPS * EACH


def test_no_burst_pauses_whose_data_comes_soon():
    assert simulated(64, 32, l2_near=NEAR) == WARPS * EACH


def test_on_silicon_a_copy_keeps_its_place_until_those_before_it_have_come():
    """
    Of the rows alone: where every second copy hits the L2, as many issue as where none does, not twice as many.

    Of 16 requests of a sector each, whose first pauses are the shortest, 107 do for 100.
    """
    for row_bytes, lanes, within in ((64, 32, 0.03), (32, 32, 0.07), (32, 16, 0.03), (32, 8, 0.03)):
        assert measured(row_bytes, lanes, "host and l2") == pytest.approx(measured(row_bytes, lanes), rel=within)


def test_on_silicon_loads_may_be_fewer_whatever_they_ask_of_a_line():
    """
    Of the rows alone, as no limit of loads is modelled.

    Of 8 lines each 172 issue before a pause, of one sector or two, and of 16 lines 119: 850 requests beyond 66. In
    other runs it was 990 and 950. Of four lines more would than were measured. No kernel here has as many loads on
    their way.
    """
    eight = measured(64, 32, kernel="loads")
    sixteen = measured(32, 32, kernel="loads")

    assert measured(32, 16, kernel="loads") == pytest.approx(eight, abs=2)
    assert 800 < 16 * (eight - sixteen) < 1000
    assert measured(64, 16, kernel="loads") == measured(128, 32, kernel="loads") == 256
