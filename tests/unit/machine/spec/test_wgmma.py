"""How the SMs' clock falls with wgmma: cycles of a constant clock in 100 cycles of the SMs."""

import csv
from pathlib import Path

import pytest

from gpusim.machine import load_machine
from gpusim.machine.spec.wgmma import WgmmaClockSpec

CLOCK = WgmmaClockSpec(idle=110, short_busy=10, long_busy=4, l2=20, dram=50, short=1000, long=2000)
MEASURED = Path(__file__).parents[4] / "reports" / "measured" / "h200" / "microbench" / "wgmma_clock.csv"
MOST_MHZ = 1980


def percent(cycles, busy=1.0, l2=0.0, dram=0.0):
    return CLOCK.percent(busy=busy, l2_bytes=l2, dram_bytes=dram, cycles=cycles)


def test_in_a_short_launch_the_tensor_cores_alone_count():
    assert (percent(10), percent(1000, l2=50, dram=50), percent(1000, busy=0)) == (120, 120, 110)


def test_in_a_long_launch_memory_counts_too():
    assert (percent(2000), percent(9000, l2=50), percent(9000, dram=10)) == (114, 124, 119)


def test_between_them_it_changes_evenly():
    assert [percent(cycles) for cycles in (1000, 1500, 2000)] == [120, 117, 114]


def rows():
    lines = MEASURED.read_text(encoding="utf-8").splitlines()
    found = csv.DictReader(line for line in lines if not line.startswith("#"))
    return [
        row
        for row in found
        if row["sms"] == "132"
        and row["n"] == "128"
        and int(row["percent"]) >= 80
        and row["source"] in ("", "own", "DRAM")
    ]


def test_the_clock_of_an_h200_is_within_five_per_cent_of_the_measured_one():
    """
    Alone, beside boxes from the L2 of each SM, and from DRAM, for 10 to 640 kilocycles and at least 80 % busy.

    With tensor cores less busy the traffic counts for less than here: 6 % at 60 % and from DRAM.
    """
    clock = load_machine("h200").wgmma.clock
    assert len(rows()) > 60
    for row in rows():
        loaded = float(row["bytes_per_cycle"])
        found = clock.percent(
            busy=float(row["busy"]),
            l2_bytes=loaded,
            dram_bytes=loaded if row["source"] == "DRAM" else 0.0,
            cycles=1000 * int(row["kilocycles"]),
        )

        assert 100 * MOST_MHZ / found == pytest.approx(float(row["mhz"]), rel=0.05), row
