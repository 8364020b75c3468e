"""Which lines cross an H200's chip, what copies ask of the L2, and how often DRAM stands still, as measured."""

from collections import defaultdict
from itertools import groupby, product
from pathlib import Path

import numpy as np
import pytest

from gpusim.lab.calibrate.lines import crosses
from gpusim.lab.calibrate.table import MeasuredTable
from gpusim.machine import load_machine
from gpusim.sim.footprint import line_requests

MACHINE = load_machine("h200")
FOLDER = Path(__file__).parents[4] / "reports" / "measured" / "h200" / "microbench"
SIDES, SPLITS, STANDSTILLS = (MeasuredTable(FOLDER, name) for name in ("sides", "splits", "standstills"))

WARPS, COPIES = 4, 8
"""Warps of a CTA of splits.csv, and its copies of a tile."""


def parity(line):
    return sum(line >> bit & 1 for bit in MACHINE.l2.crossing.home_bits) % 2


def test_every_first_load_crosses_as_the_home_of_its_line_says():
    """
    For each SM that brought or wrote lines: to the SMs of the other side those cross whose home is on its own, and to
    those of its own side none. The sides are two halves of the SMs, the same for all.
    """
    others, homes = defaultdict(set), defaultdict(set)
    rows = SIDES.rows()
    crossed = [crosses(row) for row in rows]
    for row, one in zip(rows, crossed, strict=True):
        if one:
            others[row["what"], row["loader"]].add(row["sm"])
            homes[row["what"], row["loader"]].add(parity(int(row["line"])))

    assert all(len(home) == 1 for home in homes.values())
    assert {len(sms) for sms in others.values()} <= {MACHINE.sms // 2 - 1, MACHINE.sms // 2}
    for row, one in zip(rows, crossed, strict=True):
        key = row["what"], row["loader"]
        if row["sm"] in others[key]:
            assert one == (parity(int(row["line"])) in homes[key])


def asked(each, pad, tiles):
    """Requests of a CTA for all its tiles, and sectors looked up: those of its own for the same sectors are merged."""
    rows_at_once, requests, sectors = 32 * WARPS // each, 0, 0
    for tile in range(tiles):
        for copy in range(COPIES):
            for warp in range(WARPS):
                thread = 32 * warp + np.arange(32)
                row, column = copy * rows_at_once + thread // each, thread % each
                source = row * tiles * each + tile * each + column
                target = row * (each + pad // 16) + column
                found = line_requests(source.tolist(), target.tolist())
                for _, alike in groupby(found):
                    requests += 1
                    sectors += next(alike)[1].bit_count()
    return requests, sectors


@pytest.mark.parametrize("row_bytes", [64, 128])
@pytest.mark.parametrize("pad", [16, 32, 64])
def test_rows_that_lie_apart_are_asked_for_as_measured(row_bytes, pad):
    """Of CTAs that share nothing, over what they ask for where rows follow one another: within 1 %."""
    metrics = ("lts__t_requests_srcunit_tex.sum", "lts__t_sectors_srcunit_tex.sum")
    of = {"ctas": MACHINE.sms, "tiles": 8, "group": 1, "row_bytes": row_bytes, "warm": 0}
    apart, close = ([SPLITS.numbers(metric, **of, pad=one)[0] for metric in metrics] for one in (pad, 0))
    here, before = asked(row_bytes // 16, pad, 8), asked(row_bytes // 16, 0, 8)

    for measured, without, own, own_without in zip(apart, close, here, before, strict=True):
        assert own / own_without == pytest.approx(measured / without, rel=0.01)


def cycles_beyond(rows):
    """Return the cycles of each load beyond the median of its region's lines of one home."""
    region, cycles = (np.array([int(row[key]) for row in rows]) for key in ("region", "cycles"))
    odd = np.array([parity(int(row["first"]) + int(row["line"])) for row in rows])
    beyond = np.zeros(len(rows))
    for one, home in product(np.unique(region), (0, 1)):
        own = (region == one) & (odd == home)
        beyond[own] = cycles[own] - np.median(cycles[own])
    return beyond


def test_lines_of_one_part_of_a_region_are_late_together_and_others_are_not():
    """
    Events of 32 lines at once: where a load is late, so are two of three of its part, and one in three of the others.

    Late is what takes 100 cycles more than the median of a region's lines of one home.
    """
    rows = STANDSTILLS.rows(lines=32)
    line, late = np.array([int(row["line"]) for row in rows]), cycles_beyond(rows) > 100
    masks = MACHINE.dram.late.part_masks
    part = np.array([[(int(one) & mask).bit_count() % 2 for mask in masks] for one in line]) @ (
        1 << np.arange(len(masks))
    )

    late, part = late.reshape(-1, 32), part.reshape(-1, 32)
    both = late[:, :, None] & ~np.eye(32, dtype=bool)
    same = part[:, :, None] == part[:, None, :]
    shares = [float((both & late[:, None, :] & kind).sum() / (both & kind).sum()) for kind in (same, ~same)]

    assert shares == pytest.approx([0.67, 0.35], abs=0.03)


def test_loads_are_late_by_any_number_of_cycles_of_a_standstill_alike():
    """
    Single loads at any time: a cycle of every period makes a load late by 150 to 200 cycles for each of them, and so by
    each 50 cycles more, up to 100 less than a standstill; by 100 more than that one of 500 is.
    """
    beyond = cycles_beyond(STANDSTILLS.rows(lines=1))
    late = MACHINE.dram.late

    for least in range(150, late.cycles - 150, 50):
        assert ((beyond >= least) & (beyond < least + 50)).mean() == pytest.approx(50 / late.period, rel=0.2)
    assert ((beyond > late.cycles + 100) & (beyond < 1000)).mean() < 1 / 500
