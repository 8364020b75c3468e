"""Loads from shared memory beside stores and copies that leave an SM slowly, against microbenchmarks."""

from itertools import product
from pathlib import Path

import pytest
from doubles.by_hand import Memory, copy, execute, instruction, queue, quiet
from doubles.figures import with_figures

from gpusim.lab.calibrate.table import MeasuredTable
from gpusim.machine import load_machine
from gpusim.sim.core.constants import BAR, SHARED
from gpusim.sim.figures import figures_of

FOLDER = Path(__file__).parents[4] / "reports" / "measured" / "h200" / "microbench"
ARRIVED, STORED = (MeasuredTable(FOLDER, name) for name in ("arrived", "stored"))
FIGURES = figures_of(load_machine("h200"), 0, busy=False)

SECTORS, WAVEFRONTS, REGISTERS, WAY = 16, 4, 6, 7
"""Of a store of 16 bytes a lane: 512 bytes, the data stage's cycles for them, and those of its address and data."""

APART, LOADS_AT = 4, 40
"""Cycles from one store of a warp to the next, and at which a load issues, behind a barrier or beside the stores."""


def passes(stores, *, barred):
    """
    Cycles at which a load of SMSP 0 leaves its queue and is taken, beside so many stores of each of the other three.

    Stores issue when their SMSP's queue has room; behind a barrier the load issues after the last of them.
    """
    chip = quiet(figures=FIGURES)
    at = LOADS_AT
    for place, number in product(range(stores), (1, 2, 3)):
        smsp = number * chip.width
        at = max(APART * place, chip.mio.collector.port_free[smsp + chip.mio.mio])
        leaves = queue(
            chip.mio,
            smsp,
            at,
            cycles=WAVEFRONTS,
            registers=REGISTERS,
            port_room=chip.stores.room_at_port(0),
            port_path_cycles=WAY,
        )
        chip.stores.store(0, leaves, at, SECTORS)
    if barred:
        chip.lsu.fence(0)
    at = max(at, LOADS_AT) if barred else LOADS_AT
    taken = queue(chip.mio, 0, at, cycles=1, registers=1)
    return chip.mio.smsp_exit, taken


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

    _, taken = passes(warps // 3 * count, barred=True)
    assert taken - LOADS_AT - 1 == pytest.approx(landed - alone, abs=30)


def test_a_load_beside_stores_of_other_smsps_waits_for_none_of_them():
    """
    There it takes no more than 15 cycles beyond those of one without stores, though they leave for 500 cycles.
    """
    alone, beside = (
        STORED.numbers("cycles", probe="lds", busy="0 1 2", partner=3, stores=stores, delay=100)[0]
        for stores in (0, 16)
    )

    assert beside - alone < 15
    left, _ = passes(16, barred=False)
    assert left - LOADS_AT - 1 < 15


# --- behind copies (arrived.cu) ---

COPIERS, LOOK_UPS = 4, {64: 8, 128: 4, 512: 4}
"""Warps that copy here, of three and six there; lines that a copy of such rows looks up."""


def behind_copies(core, row_bytes, copies):
    """When a word has come that a warp loads behind a barrier, and its warps' copies before that."""
    rows = tuple((number, 1) for number in range(LOOK_UPS[row_bytes]))
    load = instruction(SHARED, latency=23, bytes=128, wavefronts=((1,) * 32,), is_load=True, registers=1, activity=0)
    code = [copy(0, stall=APART, registers=3) for _ in range(copies // COPIERS)]
    figures = with_figures(FIGURES, {"instruction_cache.l1_miss_latency": 0}, constant_miss=0)
    ran = execute(
        core, ([*code, instruction(BAR), load], 1), warps=COPIERS, figures=figures, memory=Memory([(16, rows)])
    )
    return max(warp.notes[-1][1] for warp in ran.warps.values()) - min(warp.selected[0] for warp in ran.warps.values())


@pytest.mark.parametrize("row_bytes", [64, 128, 512])
def test_a_load_behind_a_barrier_waits_for_the_look_ups_of_copies(core, row_bytes):
    """
    Behind 48 copies of rows of 64 bytes a word comes 200 cycles later than behind 24, of whole lines 97 and 99: what
    24 look-ups take. The barrier is released 255 and 99 cycles before it, those of the load 47.
    """
    landed, released = (
        [
            ARRIVED.numbers(what, instruction="cp.async.cg", count=count, row_bytes=row_bytes, warps=6, barrier=1)[0]
            for count in (4, 8)
        ]
        for what in ("landed", "released")
    )

    late = behind_copies(core, row_bytes, 48) - behind_copies(core, row_bytes, 24)
    assert late == pytest.approx(landed[1] - landed[0], abs=15)
    assert landed[1] - released[1] > 2 * 47 - 1
