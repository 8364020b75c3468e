"""The L1: what is looked up in it, and what it keeps."""

from dataclasses import replace

import pytest
from doubles.by_hand import (
    Memory,
    copy,
    execute,
    instruction,
    load,
    quiet,
)
from doubles.figures import with_figures
from doubles.published import H200

from gpusim.sim.core.constants import PIPE
from gpusim.sim.figures import figures_of

NEAR_ONLY = replace(H200, l2=replace(H200.l2, far_fraction_percent=0))
HIT = H200.async_copy.l1_latency
BEYOND = H200.async_copy.l1_latency - H200.l1.hit_latency
"""What a copy takes beyond a load."""
L2_HIT = H200.l2.hit_latency + BEYOND
MISS = H200.dram.latency + BEYOND


def taken(core, requests, *, cached=True, stall=5000, l1_lines=8, machine=NEAR_ONLY, **memory):
    """Cycles that copies of requests take, from when they leave the MIO, one every so many cycles; and the chip."""
    code = [copy(fetch, stall=stall, activity=0, through_l1=cached) for fetch in range(len(requests))]
    figures = figures_of(machine, 0, busy=False)._replace(l1_lines=l1_lines)
    ran = execute(core, (code, 1), figures=figures, machine=machine, memory=Memory(requests, **memory))
    return [landed - at - 1 for at, landed in ran.warps[0, 0].notes], ran.chip


def asked(*lines):
    """The request of some (line, sector mask)."""
    return sum(mask.bit_count() for _, mask in lines), lines


def test_a_ca_copy_hits_the_sectors_that_an_earlier_one_brought(core):
    """Sectors 0 and 1 of line 5, then 1 and 2: sector 2 alone goes to the L2, which has the whole line since."""
    log, chip = taken(core, [asked((5, mask)) for mask in (0b0011, 0b0011, 0b0110, 0b0110)])

    assert log == [MISS, HIT, L2_HIT, HIT]
    assert (sum(chip.l1.sectors), chip.l2.sectors, chip.dram.read_bytes) == (8, 3, 128)


def test_a_load_hits_what_a_copy_brought(core):
    """A load's latency on a hit is its own, in which its wavefront passes the data stage."""
    code = [copy(0, stall=5000, through_l1=True), load(0, activity=0, write=0), instruction(PIPE, waits=(0,))]
    ran = execute(core, (code, 1), machine=NEAR_ONLY, memory=Memory([asked((5, 1))]))
    ((at, landed),) = ran.warps[0, 0].notes

    assert landed - at - 1 == H200.l1.hit_latency
    assert ran.warps[0, 0].stalled("long_scoreboard") == landed - at - 1


def test_a_cg_copy_goes_around_the_l1(core):
    log, _ = taken(core, [asked((5, 1))] * 3, cached=False)

    assert log == [MISS, L2_HIT, L2_HIT]


def test_who_asks_for_a_sector_that_is_coming_waits_for_it(core):
    """And then, as both have it at once, for the four wavefronts of the one before."""
    log, _ = taken(core, [asked((5, 1))] * 2, stall=100)

    assert log == [MISS, MISS - 100 + 4]


def test_the_l1_forgets_the_least_recently_used_line(core):
    """Room for two lines. What it forgot is in the L2."""
    log, _ = taken(core, [asked((line, 1)) for line in (1, 2, 1, 3, 1, 2)], l1_lines=2)

    assert log == [MISS, MISS, HIT, MISS, HIT, L2_HIT]


def test_without_room_the_l1_holds_nothing(core):
    log, _ = taken(core, [asked((1, 1))] * 2, l1_lines=0)

    assert log == [MISS, L2_HIT]


def test_a_request_of_32_lines_finds_room_in_the_smallest_l1(core):
    """It keeps one of them, the last; the L2 has the others."""
    every = asked(*((line, 1) for line in range(32)))
    log, chip = taken(core, [every, asked((31, 1)), asked((30, 1))], l1_lines=1)

    assert log[1:] == [HIT, L2_HIT]
    assert chip.l2.sectors == 33


def test_a_copy_of_nothing_asks_nobody(core):
    """It is there a hit behind the last of the zeros that it writes."""
    log, chip = taken(core, [asked()])

    assert log == [HIT + 3]
    assert chip.l2.sectors == 0


FIGURES = with_figures(figures_of(H200, 0, busy=False), {"l2.far_fraction_percent": 0}, constant_miss=0)
"""A hit takes 258 cycles, a miss 690."""


@pytest.mark.parametrize("through_l1", [False, True], ids=["cg", "ca"])
@pytest.mark.parametrize("simulates_l2", [False, True], ids=["sampled", "exact"])
def test_what_the_l1_has_not_is_looked_up(core, through_l1, simulates_l2):
    """A copy and a load of 4 sectors, 5000 cycles apart. Around the L1 both are looked up; through it, one is."""
    code = [copy(0, stall=5000, through_l1=through_l1), load(0, activity=0)]
    memory = Memory([(4, ((0, 15),))], simulates_l2=simulates_l2)
    chip = execute(core, (code, 1), figures=FIGURES, memory=memory).chip

    assert chip.l2.looked_up == chip.l2.sectors == (4 if through_l1 else 8)


def test_a_load_is_looked_up_line_by_line_where_the_l1_lacks_more_than_it_has_wavefronts():
    """
    Four lines in two wavefronts of the L1's banks: four cycles where it lacks them, two when it has them (freed.csv).

    With three of them there one is lacked, and the wavefronts decide.
    """
    request = (4, tuple((line, 1) for line in range(4)))
    chip = quiet(load(0), figures=FIGURES, memory=Memory([request], banks=[2]))
    taken = []
    for at in (100, 5000):
        chip.lsu.load(0, 0, at)
        taken.append(chip.lsu.tag_free[0] - at)
    chip.l1.caches[0].held[chip.l1.caches[0].lookup(0)] = 0
    chip.lsu.load(0, 0, 9000)

    assert taken[0] - taken[1] == 4 - 2
    assert chip.lsu.tag_free[0] - 9000 == taken[1]
