"""A step of an epilogue behind another one's stores (steps.cu): cycles, measured and simulated."""

from pathlib import Path

import pytest
from doubles.by_hand import Memory, execute, instruction, lds, store

from gpusim.lab.calibrate.table import MeasuredTable
from gpusim.machine import load_machine
from gpusim.sim.core.constants import BAR, PIPE, SHARED
from gpusim.sim.core.engine import engine
from gpusim.sim.figures import figures_of
from gpusim.sim.footprint import IN_L2
from gpusim.units import SECTOR_BYTES

TABLE = MeasuredTable(Path(__file__).parents[4] / "reports" / "measured" / "h200" / "microbench", "steps")
H200 = load_machine("h200")
LOADS, CLOCK = 4, 8


def measured(**of):
    return TABLE.numbers("cycles", **of)[0]


def simulated(stores, bytes, shared, warps):  # noqa: A002 - the column's name
    """Cycles from the first issue behind a barrier to the data of the last load."""
    kept = [store(0, stall=4, registers=2 + bytes // 4, wavefronts=((1,) * 32,)) for _ in range(stores)]
    put = instruction(SHARED, fills=True, stall=4, registers=3, wavefronts=((2,) * 32,))
    fields = {"bytes": 512, "stall": 4, "registers": 1, "latency": H200.shared.load_latency}
    loads = [lds(write=0)._replace(**fields, wavefronts=((4,) * 32,)) for _ in range(LOADS)]
    barrier = instruction(BAR, joins=True, stall=2)
    code = [barrier, instruction(PIPE, stall=5), *kept, barrier, *[put] * shared, barrier, *loads]
    code += [instruction(PIPE, waits=(0,))]
    memory = Memory(outputs=[(32 * bytes // SECTOR_BYTES, IN_L2)])
    figures = figures_of(H200, 0, busy=False)._replace(constant_miss=0)
    ran = execute(engine().module, (code, 1), warps=warps, figures=figures, memory=memory)
    selected = [warp.selected for warp in ran.warps.values()]
    return sum(one[len(code) - 1] - one[1] for one in selected) / warps + CLOCK


@pytest.mark.parametrize("shared", [0, 4, 8])
@pytest.mark.parametrize(("bytes_", "stores"), [(16, 1), (16, 2), (16, 4), (8, 2), (8, 4), (4, 4)])
def test_a_step_waits_for_the_way_of_stores_before_it(bytes_, stores, shared):
    """
    Of 16 bytes a lane, eight stores of four warps put 32 to shared memory and 16 loads off by 41 cycles, 16 by 98.

    Each takes the way to the port for 512 bytes at 72 a cycle, in which the next store waits, 7 cycles, and what is
    behind that with it; before it was modelled it took the 4 of its wavefronts, and eight put them off by 12.
    """
    of = {"bytes": bytes_, "shared": shared, "warps": 4}
    longer = measured(stores=stores, **of) - measured(stores=0, **of)

    assert simulated(stores, bytes_, shared, 4) - simulated(0, bytes_, shared, 4) == pytest.approx(longer, abs=17)


@pytest.mark.parametrize(("warps", "within"), [(4, 0.13), (8, 0.15), (16, 0.18)])
@pytest.mark.parametrize("stores", [0, 1, 2, 4])
def test_steps_take_what_they_take_there(stores, warps, within):
    """Of 16 bytes a lane; where many stores wait for the port, too, up to 17 % too short here."""
    of = {"stores": stores, "bytes": 16, "shared": 8, "warps": warps}

    assert simulated(**of) == pytest.approx(measured(**of), rel=within)
