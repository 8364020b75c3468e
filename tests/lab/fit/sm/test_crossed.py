"""Stores beside copies (crossed.cu), and atomics (atomics.cu): cycles of the data stage, measured and simulated."""

from pathlib import Path

import pytest
from doubles.by_hand import quiet

from gpusim.lab.calibrate.table import MeasuredTable
from gpusim.lab.calibrate.tiles import CROSSED_MOST
from gpusim.machine import load_machine
from gpusim.sim.core.constants import COPY_WRITES
from gpusim.sim.figures import figures_of

MEASURED = Path(__file__).parents[4] / "reports" / "measured" / "h200" / "microbench"
CROSSED, ATOMICS = (MeasuredTable(MEASURED, name) for name in ("crossed", "atomics"))
H200 = load_machine("h200")
COPY_BYTES, CYCLES = 512, 3000
STORES = ("sts16", "sts8", "sts4")


def taken(most, few, gap):
    """Cycles that each of a few instructions takes from others that keep the data stage busy, and how far apart."""
    (alone,) = CROSSED.numbers("issued", most=most, few="nothing")
    issued, few_issued, cycles = (
        CROSSED.numbers(name, most=most, few=few, gap=gap)[0] for name in ("issued", "few_issued", "cycles")
    )
    return (alone - issued) / alone * cycles / few_issued, cycles / few_issued


def simulated(wavefronts, apart):
    """Cycles that stores without end lose to each copy, of which one comes so often."""
    chip = quiet(figures=figures_of(H200, 0, busy=False))
    written = COPY_WRITES * chip.sms
    copies = round(CYCLES / apart)
    for number in range(copies):
        chip.data_stage.return_data(written, round(number * apart), COPY_BYTES // chip.data_stage.fill_bytes)
    stored, at = 0, 0
    while at < CYCLES:
        chip.data_stage.reserve(0, at, wavefronts, written)
        stored += wavefronts
        at = chip.data_stage.last + 1
    return (at - stored) / copies


@pytest.mark.parametrize("gap", [0, 256])
@pytest.mark.parametrize("most", STORES)
def test_stores_lose_a_cycle_to_nearly_every_write_of_a_copy(most, gap):
    """
    A copy takes 8 cycles of stores that keep the data stage busy, one for each 64 bytes; on an H200 6.6 to 6.9.

    Of its loads of nothing and the ends of groups beside it, loads lose as much as stores do: it is left out.
    """
    lost, apart = taken(most, "copies", gap)
    lost -= taken("lds16", "copies", gap)[0]

    assert lost == pytest.approx(6.6, abs=1.5)
    assert simulated(CROSSED_MOST[most], apart) == pytest.approx(lost, abs=2.5)


@pytest.mark.parametrize("most", ["lds16", "ldmatrix"])
@pytest.mark.parametrize("gap", [0, 256])
def test_loads_lose_none(most, gap):
    """Three loads of nothing and the end of a group are between four copies: 1.4 to 1.6 cycles each."""
    assert taken(most, "copies", gap)[0] < 1.6


@pytest.mark.parametrize("others", ["none", "lds", "ldmatrix", "sts"])
@pytest.mark.parametrize("lanes", [4, 8, 16, 32])
def test_an_atomic_takes_a_wavefront_for_each_lane_at_a_word_whatever_is_beside_it(others, lanes):
    (beside,) = ATOMICS.numbers("per_trip", others=others, one="atomic", lanes=lanes, warps=16)
    (alone,) = (0.0,) if others == "none" else ATOMICS.numbers("per_trip", others=others, one="nothing", warps=16)

    assert beside - alone == pytest.approx(H200.shared.atomic_wavefronts * lanes, abs=0.15)
