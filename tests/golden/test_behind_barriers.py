"""Loads from shared memory beside stores to global memory that leave an SM slowly, against microbenchmarks."""

from itertools import product
from pathlib import Path

import pytest
from doubles.by_hand import quiet

from gpusim.gpu.calibrate.table import MeasuredTable
from gpusim.machine import load_machine
from gpusim.sim.core.constants import MIO
from gpusim.sim.figures import figures_of

FOLDER = Path(__file__).parents[2] / "reports" / "measured" / "h200" / "microbench"
ARRIVED, STORED = (MeasuredTable(FOLDER, name) for name in ("arrived", "stored"))
FIGURES = figures_of(load_machine("h200"), 0, busy=False)

SECTORS, WAVEFRONTS, REGISTERS = 16, 4, 6
"""Of a store of 16 bytes a lane: 512 bytes, the data stage's cycles for them, and those of its address and data."""

APART, LOADS_AT = 4, 40
"""Cycles from one store of a warp to the next, and at which a load issues, behind a barrier or beside the stores."""


def passes(stores, *, barred):
    """
    Cycle at which a load of SMSP 0 leaves its queue, beside so many stores of each of the other three.

    Stores issue when their SMSP's queue has room; behind a barrier the load issues after the last of them.
    """
    chip = quiet(figures=FIGURES)
    at = LOADS_AT
    for place, smsp in product(range(stores), (1, 2, 3)):
        at = max(APART * place, chip.port_free[(smsp + 1) * chip.ports - MIO])
        leaves = chip.dispatch_output(smsp, at, WAVEFRONTS, REGISTERS, chip.room_of_port(0), 0)
        chip.store(0, leaves, at, SECTORS)
    if barred:
        chip.clear(0)
    at = max(at, LOADS_AT) if barred else LOADS_AT
    chip.dispatch(0, at, 1, 1, 0, 0, 0)
    return chip.collected


@pytest.mark.parametrize("warps", [3, 6])
@pytest.mark.parametrize("count", [2, 4, 8])
def test_a_load_behind_a_barrier_passes_when_stores_of_other_smsps_have_left_their_queues(warps, count):
    """
    Of 48 stores, the last leaves some 550 cycles behind the first: the port takes 33 bytes a cycle and keeps 13 stores.

    The load's own way, and that from the barrier to its issue, are those of a launch without stores.
    """
    landed, alone = (
        ARRIVED.numbers("landed", instruction=name, count=number, row_bytes=512, warps=warps, barrier=1)[0]
        for name, number in (("stg.128", count), ("", 0))
    )

    behind = passes(warps // 3 * count, barred=True) - LOADS_AT - 1
    assert behind == pytest.approx(landed - alone, abs=30)


def test_a_load_beside_stores_of_other_smsps_waits_for_none_of_them():
    """
    There it takes no more than 15 cycles beyond those of one without stores, though they leave for 500 cycles.

    Here it waits for registers that stores before it read, in the order of issue (D8).
    """
    alone, beside = (
        STORED.numbers("cycles", probe="lds", busy="0 1 2", partner=3, stores=stores, delay=100)[0]
        for stores in (0, 16)
    )

    assert beside - alone < 15
    assert passes(16, barred=False) - LOADS_AT - 1 < 25
