"""Reads behind stores to global memory (astern.cu): how long they wait at their SM's port, measured and simulated."""

from itertools import product
from pathlib import Path

import pytest
from doubles.by_hand import quiet

from gpusim.lab.calibrate.memory import ASTERN_DELAYS
from gpusim.lab.calibrate.table import MeasuredTable
from gpusim.machine import load_machine
from gpusim.sim.core.constants import MILLI
from gpusim.sim.figures import figures_of
from gpusim.units import SECTOR_BYTES

ASTERN = MeasuredTable(Path(__file__).parents[4] / "reports" / "measured" / "h200" / "microbench", "astern")
H200 = load_machine("h200")
STORING, SECTORS, WAVEFRONTS = 4, 16, 4
FEW = (2, 4, 8)
"""Stores of each of four warps that all find room at the port: 16 KiB at most."""


def waits(read, stores, delay):
    """Cycles that a read takes longer behind stores than without."""
    behind, alone = (ASTERN.numbers("cycles", read=read, ctas=1, stores=count, delay=delay)[0] for count in (stores, 0))
    return behind - alone


def simulated(stores, delay):
    """Cycles that a read waits at the port, of which the data stage takes a store every four cycles."""
    chip = quiet(figures=figures_of(H200, 0, busy=False))
    for number in range(STORING * stores):
        chip.stores.store(0, number * WAVEFRONTS, 0, SECTORS)
    return chip.crossbar.inject(0, delay, SECTORS * SECTOR_BYTES) // MILLI - delay


@pytest.mark.parametrize(("stores", "delay"), list(product(FEW, ASTERN_DELAYS)))
def test_a_load_leaves_behind_what_was_stored_before_it(stores, delay):
    """
    Eight stores of each of four warps are 16 KiB, for which the port takes 496 cycles at 33 bytes a cycle: a load waits
    478 at once, 310 after 200 cycles, and none after 800.
    """
    assert simulated(stores, delay) == pytest.approx(waits("ld.global", stores, delay), abs=30)


@pytest.mark.parametrize("delay", ASTERN_DELAYS)
def test_a_copy_does_too(delay):
    """It is up to 40 cycles quicker behind stores, waits or not, which nothing here explains."""
    assert simulated(8, delay) == pytest.approx(waits("cp.async", 8, delay), abs=75)
