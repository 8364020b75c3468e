"""DRAM under load: tiles that CTAs read from it, one to four of each in flight, on the machine's banks and channels."""

import csv
from heapq import heappop, heappush
from pathlib import Path
from statistics import mean, median

import pytest
from doubles.by_hand import quiet
from slow import one_in

from gpusim.machine import load_machine
from gpusim.sim.figures import figures_of

ROWS = Path(__file__).parents[4] / "reports" / "measured" / "h200" / "microbench" / "rows.csv"
MACHINE = load_machine("h200")
SMS, LINES, LINE_BYTES = 132, 64, 128
"""SMs of the chip, and a tile of 8 KB."""

TILES = 32
PORT_CYCLES = LINES * LINE_BYTES // 64
"""Cycles in which an SM's port brings a tile, at 64 bytes a cycle."""

TRIP = 90
"""Cycles of a tile beyond its last line's: those of one CTA alone with one tile in flight, less its slowest line's."""

SHAPES = [(66, 1), (66, 2), (66, 4), (132, 1), (132, 2), (132, 3), (132, 4), (264, 1), (264, 2), (264, 4)]


def measured():
    """Bytes a cycle of each shape, CTAs and tiles in flight: the median over what a row is and what lies beside it."""
    found = {}
    with ROWS.open(encoding="utf-8") as file:
        for row in csv.DictReader(line for line in file if not line.startswith("#")):
            if row["prefetch"] == "128" and row["pitch"] != "8192":
                rate = int(row["bytes"]) / (float(row["sm__cycles_active.max"]) - 600)
                found.setdefault((int(row["ctas"]), int(row["flight"])), []).append(rate)
    return {shape: median(found[shape]) for shape in SHAPES}


FIGURES = figures_of(MACHINE, 0, busy=False)


def simulated(ctas, flight, busy=FIGURES.dram_bank_busy):
    """Bytes a cycle of CTAs that read ``TILES`` tiles each, ``flight`` of them at once."""
    chip = quiet(figures=FIGURES._replace(dram_bank_busy=busy), sms=SMS)
    events = [(cta % 7, cta, 0) for cta in range(ctas)]
    landed = [[] for _ in range(ctas)]
    last = 0
    while events:
        at, cta, tile = heappop(events)
        done = 0
        for line in range(LINES):
            issued = at + line * PORT_CYCLES // LINES
            number = (cta * LINES + line) * TILES + tile
            there = chip.dram.read(number, chip.dram.bank_of(number), issued * 1000, LINE_BYTES, issued)
            done = max(done, there + (FIGURES.l2_crossing if chip.l2.is_far(cta % SMS, number) else 0))
        landed[cta].append(done + TRIP)
        last = max(last, done + TRIP)
        if tile + 1 < TILES:
            oldest = landed[cta][tile + 1 - flight] if tile + 1 >= flight else 0
            heappush(events, (max(at + PORT_CYCLES // 2, oldest), cta, tile + 1))
    return ctas * TILES * LINES * LINE_BYTES / last


@pytest.mark.slow
def test_bytes_a_cycle_by_load_are_those_of_an_h200():
    """
    Each shape within 9 %, all within 4 % in the mean: what the time of a bank was fitted on.

    One tile in flight in every second SM brings 400 bytes a cycle, four in two CTAs of each SM 2,100 of 2,300.
    """
    rates = measured()
    errors = {shape: simulated(*shape) / rate - 1 for shape, rate in rates.items()}

    assert max(map(abs, errors.values())) < 0.09, errors
    assert mean(map(abs, errors.values())) < 0.04, errors


@pytest.mark.parametrize("shape", one_in(4, [(132, 2), (132, 3), (264, 1), (264, 2)]))
def test_without_banks_dram_is_too_fast_under_load(shape):
    """Banks that are never busy: by more than any shape is off above."""
    assert simulated(*shape, busy=0) / measured()[shape] - 1 > 0.1
