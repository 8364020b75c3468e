"""
How long sm_90 GEMMs of CUTLASS 3.x take, beside an H200: the launches of one tile an SM, whose cycles are committed.

All of them were looked at while the mechanisms were found. docs/hopper.md has the errors over all launches.
"""

from functools import cache
from statistics import mean

import pytest
from problems.cutlass3 import measured

from gpusim.families.hopper.simulation.launch import time_of
from gpusim.lab.hopper_time import cutlass_launch

ONE_TILE = (1408, 1536)
"""Extents of M and N with which each of 132 SMs has one tile of 128x128."""

ROWS = [
    row
    for row in measured()
    if (row["M"], row["N"]) == ONE_TILE
    and row["name"].startswith(("f16_tn_128x128x64", "f16_nt", "bf16", "e4m3_tn_128x128x128_co8"))
]


LAUNCHES = [cutlass_launch(row) for row in ROWS]


@cache
def simulated(place):
    """The time of a launch with CUTLASS's code."""
    return time_of(LAUNCHES[place].scenario)


def test_cycles_are_two_per_cent_off_in_the_mean():
    """And 6 % at most."""
    elapsed = [abs(simulated(place).elapsed / one.elapsed - 1) for place, one in enumerate(LAUNCHES)]
    active = [abs(simulated(place).active / one.active - 1) for place, one in enumerate(LAUNCHES)]

    assert len(ROWS) >= 20
    assert mean(elapsed) < 0.02
    assert mean(active) < 0.025
    assert max(elapsed + active) < 0.06


@pytest.mark.parametrize("place", range(len(ROWS)))
def test_sectors_that_sms_receive_are_the_measured_ones(place):
    measured_sectors = ROWS[place]["counters"]["l1tex__m_xbar2l1tex_read_sectors_mem_global_op_tma_ld.sum"]

    assert simulated(place).received == measured_sectors


def test_a_k_tile_takes_what_it_takes_on_silicon_with_each_number_of_stages():
    """From the pairs of one kernel with K = 1024 and 4096, 48 k tiles apart: within 5.5 %."""
    place = {(row["name"], row["K"]): at for at, row in enumerate(ROWS)}
    pairs = [(place[name, 1024], at) for (name, k), at in place.items() if k == 4096 and (name, 1024) in place]

    assert len(pairs) >= 8
    for short, long in pairs:
        own = simulated(long).active - simulated(short).active
        theirs = LAUNCHES[long].active - LAUNCHES[short].active

        assert own == pytest.approx(theirs, rel=0.055), ROWS[long]["name"]
