"""Bursts of more copies than an SM has on their way (outstanding.cu): how many issue before a pause, measured and simulated."""

from itertools import pairwise
from pathlib import Path

import pytest
from doubles.by_hand import Memory, copy, execute, instruction

from gpusim.gpu.calibrate.table import MeasuredTable
from gpusim.machine import load_machine
from gpusim.sim.core import chip
from gpusim.sim.core.constants import COMMIT, PIPE
from gpusim.sim.figures import figures_of
from gpusim.sim.footprint import IN_L2
from gpusim.units import SECTOR_BYTES

MACHINE = load_machine("h200")
BURSTS = MeasuredTable(Path(__file__).parents[2] / "reports" / "measured" / "h200" / "microbench", "outstanding")
WARPS, EACH, PAUSE = 16, 24, 250
FAR = figures_of(MACHINE, 0, busy=False)._replace(
    stream_lines=0, constant_miss=0, l2_near=9000, l2_far_percent=0
)
"""Nothing comes before most have issued, as of the host's memory."""


def measured(row_bytes, lanes, source="host", kernel="copies"):
    return BURSTS.numbers("issued", kernel=kernel, source=source, row_bytes=row_bytes, pitch=256, lanes=lanes)[0]


def simulated(row_bytes, lanes):
    """Copies that issue before the first pause: each of lines of its own."""
    rows, mask = 16 * lanes // row_bytes, (1 << row_bytes // SECTOR_BYTES) - 1
    requests = [
        (rows * row_bytes // SECTOR_BYTES, tuple((number * rows + row, mask) for row in range(rows)))
        for number in range(EACH)
    ]
    memory = Memory(requests, statuses=[IN_L2] * EACH, simulates_l2=False)
    code = []
    for number in range(EACH):
        code += [copy(number, registers=3, stall=2), instruction(COMMIT, stall=1), instruction(PIPE, stall=12)]
    ran = execute(chip, (code, 1), warps=WARPS, figures=FAR, memory=memory)
    issues = sorted(at for warp in range(WARPS) for at in ran.warps[0, warp].selected[: 3 * EACH : 3])
    return next((number for number, (one, next_) in enumerate(pairwise(issues), 1) if next_ - one >= PAUSE), len(issues))


@pytest.mark.parametrize(("row_bytes", "lanes"), [(64, 32), (32, 32), (32, 16), (32, 8)])
def test_it(row_bytes, lanes):
    assert simulated(row_bytes, lanes) == pytest.approx(measured(row_bytes, lanes), abs=8)
