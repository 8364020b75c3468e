"""The L1 of one SM: who looks a line up, who goes around, and what it forgets."""

from dataclasses import replace

from doubles.published import H200
from gpusim.sim.l1 import L1
from gpusim.sim.l2 import SimulatedL2

NEAR_ONLY = replace(H200, l2=replace(H200.l2, far_fraction_percent=0))


def l1_of(lines, l2=None):
    """An L1 with room for ``lines`` lines."""
    machine = NEAR_ONLY
    carve_out = machine.l1.bytes - lines * machine.l1.line_bytes
    return L1(machine, l2 or SimulatedL2(machine, ports=1), 0, carve_out)


def copied(l1, at, *lines, cached=True):
    """Cycles that a copy of some (line, mask) takes."""
    sectors = sum(mask.bit_count() for _, mask in lines)
    return l1.copy(at, (sectors, lines), issued=at, cached=cached, status=None) - at


HIT = H200.async_copy.l1_latency
BEYOND = H200.async_copy.l1_latency - H200.l1.hit_latency
"""What a copy takes beyond a load."""
L2_HIT = H200.l2.hit_latency + BEYOND
MISS = H200.dram.latency + BEYOND


def test_a_ca_copy_hits_the_sectors_that_an_earlier_one_brought():
    """Sectors 0 and 1 of line 5, then 1 and 2: sector 2 alone goes to the L2, and from there to DRAM."""
    l1 = l1_of(8)
    log = [copied(l1, 5000 * number, (5, mask)) for number, mask in enumerate((0b0011, 0b0011, 0b0110, 0b0110))]

    assert log == [MISS, HIT, MISS, HIT]


def test_a_cg_copy_goes_around_the_l1():
    l1 = l1_of(8)
    log = [copied(l1, 5000 * number, (5, 1), cached=False) for number in range(3)]

    assert log == [MISS, L2_HIT, L2_HIT]


def test_who_asks_for_a_sector_that_is_coming_waits_for_it():
    l1 = l1_of(8)

    assert [copied(l1, 0, (5, 1)), copied(l1, 100, (5, 1))] == [MISS, MISS - 100]


def test_the_l1_forgets_the_least_recently_used_line():
    """Room for two lines. What it forgot is in the L2."""
    l1 = l1_of(2)
    log = [(line, copied(l1, 5000 * number, (line, 1))) for number, line in enumerate((1, 2, 1, 3, 1, 2))]

    assert log == [(1, MISS), (2, MISS), (1, HIT), (3, MISS), (1, HIT), (2, L2_HIT)]


def test_without_room_the_l1_holds_nothing():
    l1 = l1_of(0)

    assert [copied(l1, 5000 * number, (1, 1)) for number in range(2)] == [MISS, L2_HIT]


def test_a_copy_of_nothing_asks_nobody():
    l2 = SimulatedL2(NEAR_ONLY, ports=1)

    assert copied(l1_of(2, l2), 10) == HIT
    assert l2.sectors_read == 0
