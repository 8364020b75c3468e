"""When bursts of loads let go of their address registers (freed.cu): cycles, measured and simulated."""

from pathlib import Path

import pytest
from doubles.by_hand import Memory, execute, instruction, load
from doubles.figures import with_figures

from gpusim.lab.calibrate.table import MeasuredTable
from gpusim.machine import load_machine
from gpusim.sim.core.constants import BAR, PIPE
from gpusim.sim.core.engine import engine
from gpusim.sim.figures import figures_of
from gpusim.sim.footprint import IN_L2
from gpusim.units import LINE_BYTES, SECTOR_BYTES, WARP_SIZE

TABLE = MeasuredTable(Path(__file__).parents[4] / "reports" / "measured" / "h200" / "microbench", "freed")
H200 = load_machine("h200")
CLOCK = 6
"""Cycles that the clock read between the loads and the overwriting takes."""


def measured(**of):
    return TABLE.numbers("freed", **of)[0]


def simulated(source, bytes, row_bytes, pitch, warps, count):  # noqa: A002, PLR0917 - the columns' names
    """Cycles from the first issue behind a barrier to that of what overwrites the last address, the mean over warps."""
    rows, mask = WARP_SIZE * bytes // row_bytes, (1 << row_bytes // SECTOR_BYTES) - 1
    # Rows that lie 4096 bytes apart are all in the same banks, those that lie a row further beside one another.
    banks = max(rows if pitch % LINE_BYTES == 0 else 1, WARP_SIZE * bytes // LINE_BYTES)
    lines = [tuple((number * rows + row, mask) for row in range(rows)) for number in range(count)]
    memory = Memory(
        [(rows * row_bytes // SECTOR_BYTES, one) for one in lines],
        statuses=[IN_L2] * count,
        simulates_l2=False,
        banks=[banks] * count,
        apart=rows * count,
    )
    barrier = instruction(BAR, joins=True, stall=2)
    burst = [load(number, stall=4, registers=2, write=1, read=0) for number in range(count)]
    then = [instruction(PIPE, stall=CLOCK), instruction(PIPE, waits=(0,), stall=4), instruction(PIPE, waits=(1,))]
    again = [barrier, instruction(PIPE, stall=5), *burst, *then]
    code = [*again, *again] if source == "l1" else again
    figures = with_figures(figures_of(H200, 0, busy=False), {"instruction_cache.stream_lines": 0}, constant_miss=0)
    ran = execute(engine().module, (code, 1), warps=warps, figures=figures, memory=memory)
    begin = len(code) - len(again) + 2
    selected = [warp.selected for warp in ran.warps.values()]
    return sum(one[begin + count + 1] - one[begin] for one in selected) / warps


def longer(found, count, **of):
    """Cycles by which so many loads' last address is free later than that of four, which wait for nothing."""
    return found(count=count, **of) - found(count=4, **of)


@pytest.mark.parametrize("count", [12, 16])
@pytest.mark.parametrize(
    ("bytes_", "row_bytes", "pitch"), [(8, 64, 4160), (8, 32, 4128), (16, 64, 4160), (16, 32, 4128), (8, 64, 4096)]
)
def test_each_line_that_a_load_lacks_is_looked_up_in_a_cycle(bytes_, row_bytes, pitch, count):
    """
    Of 8 bytes a lane in rows of 64, a load has four lines, and two wavefronts of the L1's banks.

    Of four warps' 64 such loads the last address is free 154 cycles later than that of 16, 136 here: four for each that
    is looked up by then. Some 26 wait for that without their address (D3). Where the L1 has the lines it is 92.
    """
    of = {"source": "l2", "bytes": bytes_, "row_bytes": row_bytes, "pitch": pitch, "warps": 4}

    assert longer(simulated, count, **of) == pytest.approx(longer(measured, count, **of), rel=0.15, abs=21)


@pytest.mark.parametrize(("bytes_", "row_bytes"), [(8, 64), (16, 128)])
def test_what_the_l1_has_is_looked_up_in_a_cycle_for_each_wavefront(bytes_, row_bytes):
    """Rows that lie 4096 bytes apart are in the same banks: four wavefronts."""
    of = {"source": "l1", "bytes": bytes_, "row_bytes": row_bytes, "pitch": 4096, "warps": 4}

    assert longer(simulated, 16, **of) == pytest.approx(longer(measured, 16, **of), rel=0.1)


def test_what_the_l1_has_is_looked_up_faster_on_silicon_than_what_it_lacks():
    of = {"bytes": 8, "row_bytes": 64, "pitch": 4160, "warps": 4, "count": 16}

    assert measured(source="l1", **of) < 0.7 * measured(source="l2", **of)
