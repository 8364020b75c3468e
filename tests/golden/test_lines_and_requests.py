"""Which lines cross an H200's chip, what copies ask of the L2, and how often DRAM stands still, as measured."""

from collections import defaultdict
from itertools import groupby
from pathlib import Path

import numpy as np
import pytest

from gpusim.gpu.calibrate.lines import crosses
from gpusim.gpu.calibrate.table import MeasuredTable
from gpusim.machine import load_machine
from gpusim.sim.footprint import line_requests

MACHINE = load_machine("h200")
FOLDER = Path(__file__).parents[2] / "reports" / "measured" / "h200" / "microbench"
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


@pytest.mark.parametrize("pause", [0, 2_000_000])
def test_a_line_stands_still_for_the_share_of_the_time_that_is_derived(pause):
    """
    One lane's loads of every line of 16 regions: those 60 cycles beyond the median of near or far ones are late.

    Of each sixteenth of a period, how many of the loads are late that are at the DRAM in it, where a load on time is
    300 cycles before it ends: that is the share of the time, whenever the lane asks. Of a standstill 60 cycles are not
    seen. Within 2 points.
    """
    rows = STANDSTILLS.rows(pause=pause)
    begin, cycles, line = (np.array([int(row[key]) for row in rows]) for key in ("begin", "cycles", "line"))
    region, first = (np.array([int(row[key]) for row in rows]) for key in ("region", "first"))
    odd = np.array([parity(int(number)) for number in first + line], dtype=bool)
    beyond = np.zeros(len(rows))
    for one in np.unique(region):
        for kind in (False, True):
            own = (region == one) & (odd == kind)
            beyond[own] = cycles[own] - np.median(cycles[own])
    late, ends = beyond > 60, begin + cycles
    periods = np.arange(3700.0, 4000.0)
    strength = [
        sum(abs(np.exp(4j * np.pi * ends[late & (region == one)] / period).sum()) for one in np.unique(region))
        for period in periods
    ]
    period = periods[int(np.argmax(strength))]
    shares = []
    for one in np.unique(region):
        own = region == one
        place = ((ends - beyond - 300)[own] % period * 16 // period).astype(int)
        shares.append(np.mean([late[own][place == part].mean() for part in range(16)]))
    seen = 1 - 60 / MACHINE.dram.late.cycles

    assert 100 * np.mean(shares) / seen == pytest.approx(MACHINE.dram.late.share_percent, abs=2)
