"""Reads of one line by many SMs, some cycles apart: how many a look-up serves, on an H200 and on the machine."""

import csv
from heapq import heappop, heappush
from pathlib import Path

import pytest
from doubles.by_hand import quiet

from gpusim.lab.calibrate.table import MeasuredTable
from gpusim.machine import load_machine
from gpusim.sim.cta_scheduler import groups_of_places
from gpusim.sim.figures import figures_of

HITS = Path(__file__).parents[4] / "reports" / "measured" / "h200" / "microbench" / "hits.csv"
MACHINE = load_machine("h200")
SMS, TILES, COPIES = 132, 4, 32
"""CTAs that read the same tiles, one on each SM; a tile is 32 copies of a warp, of four whole lines each."""

LINES, SECTORS, COPY_BYTES, COPY_CYCLES = 4, 16, 512, 4
"""Lines, sectors and bytes of a copy, and the cycles from one to the next."""

WARM = 100_000
"""When the tiles, read once, are long in the L2."""


def measured():
    """Sectors that the SMs receive for each that is looked up, by the cycles from one CTA's begin to the next one's."""
    with HITS.open(encoding="utf-8") as file:
        rows = list(csv.DictReader(line for line in file if not line.startswith("#")))
    return {
        int(row["stagger"]): float(row["l1tex__m_xbar2l1tex_read_sectors.sum"])
        / float(row["lts__t_sectors_srcunit_tex.sum"])
        for row in rows
        if row["group"] == str(SMS)
    }


def simulated(stagger, window=MACHINE.l2.merging.window):
    """The same of CTAs whose copies follow one another, and wait for the tile before the last one."""
    groups = tuple(groups_of_places(SMS, SMS, 1, MACHINE.launch.units))
    figures = figures_of(MACHINE, 0, busy=False)._replace(merge_window=window)
    chip = quiet(figures=figures, sms=SMS, groups=groups)
    for line in range(TILES * COPIES * LINES):
        chip.l2.read(0, chip.l2.lines.touch(line), 15, 0, 0)
    chip.l2.looked_up = 0
    landed = [[0] * TILES for _ in range(SMS)]
    events = [(WARM + sm * stagger, sm, 0, 0) for sm in range(SMS)]
    while events:
        at, sm, tile, copy = heappop(events)
        start = chip.crossbar.inject(sm, at, COPY_BYTES)
        first = (tile * COPIES + copy) * LINES
        landed[sm][tile] = max(
            landed[sm][tile], *(chip.l2.read(sm, chip.l2.lines.touch(first + i), 15, start, at) for i in range(LINES))
        )
        if copy + 1 < COPIES:
            heappush(events, (at + COPY_CYCLES, sm, tile, copy + 1))
        elif tile + 1 < TILES:
            heappush(events, (max(at + COPY_CYCLES, landed[sm][tile - 1] if tile else 0), sm, tile + 1, 0))
    return SMS * TILES * COPIES * SECTORS / chip.l2.looked_up


@pytest.mark.parametrize("stagger", [0, 20, 50, 100, 200, 1000])
def test_a_look_up_serves_as_many_reads_as_an_h200_s(stagger):
    """
    All at once 3.4 and 3.8, 20 cycles apart 2.9 and 2.8, 50 apart 2.1 and 2.0, 100 apart 1.3 and 1.0, 1000 apart 1.
    """
    assert simulated(stagger) == pytest.approx(measured()[stagger], rel=0.25)


def test_without_a_window_only_reads_that_come_at_once_are_merged():
    assert simulated(20, window=0) < 0.4 * measured()[20]


# --- two SMs of a GPC, on a chip that rests (apart.csv) ---

APART = MeasuredTable(HITS.parent, "apart")
STEPS, PERIOD = 256, 3000
NEVER_MERGED = 1400


def part_merged(looked_up, late):
    """Part of the second SM's reads that are merged with the first one's, by what is looked up where none are."""
    return (looked_up(NEVER_MERGED) - looked_up(late)) / (STEPS * 4)


def measured_apart(late):
    return APART.numbers("lts__t_sectors_srcunit_tex.sum", warm=0, late=late)[0]


def simulated_apart(late):
    """Sectors looked up for lines that come from DRAM, asked for by one SM and, so much later, by its neighbour."""
    groups = tuple(groups_of_places(SMS, SMS, 1, MACHINE.launch.units))
    chip = quiet(figures=figures_of(MACHINE, 0, busy=False), sms=SMS, groups=groups)
    for line in range(STEPS):
        for sm, at in ((0, line * PERIOD), (1, line * PERIOD + late)):
            chip.l2.read(sm, chip.l2.lines.touch(line), 15, chip.crossbar.inject(sm, at, 128), at)
    return chip.l2.looked_up


@pytest.mark.parametrize("late", [0, 50, 100, 200, 400, 600, 800, 1000])
def test_a_read_is_merged_with_one_that_waits_for_dram_as_an_h200_s(late):
    """
    All of those up to 200 cycles later, half of those 400 cycles later (of lines that cross the chip), and few at 600.

    Until its line is there, of which the last part is the way back from the L2, two of three would be at 600.
    """
    assert part_merged(simulated_apart, late) == pytest.approx(part_merged(measured_apart, late), abs=0.07)
