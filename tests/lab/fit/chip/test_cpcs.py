"""What each SM brings from the L2 where all ask for all that it gives (cpcs.cu): CPCs take turns."""

import heapq
from pathlib import Path
from statistics import mean

import pytest
from doubles.by_hand import quiet

from gpusim.lab.calibrate.table import MeasuredTable
from gpusim.machine import load_machine
from gpusim.sim.core.constants import MILLI, READ
from gpusim.sim.cta_scheduler import groups_of
from gpusim.sim.figures import figures_of

CPCS = MeasuredTable(Path(__file__).parents[4] / "reports" / "measured" / "h200" / "microbench", "cpcs")
H200 = load_machine("h200")
SMS, CYCLES = 132, 40_000
GROUPS, BYTES = 8 * 4, 4096
"""Commit groups that each SM of cpcs.cu has on their way, and bytes of one."""


def measured():
    """Bytes a cycle of each SM, from the least to the most."""
    rows = CPCS.rows(sms="all", row_bytes=128, own=1)
    return sorted(float(row["bytes"]) / float(row["cycles"]) for row in rows)


def simulated():
    """The same, of SMs of which each asks for a group when one of its own has come, and those that wait less."""
    groups = groups_of(SMS, SMS, H200.launch.units)
    chip = quiet(figures=figures_of(H200, 0, busy=False), sms=SMS, groups=groups)
    brought, due = [0] * SMS, [(0, sm) for sm in range(SMS) for _ in range(GROUPS)]
    while due[0][0] < CYCLES:
        now, sm = heapq.heappop(due)
        brought[sm] += BYTES if now else 0
        heapq.heappush(
            due,
            (
                chip.l2.arbiter.request(READ, sm, chip.crossbar.inject(sm, now, BYTES), now, BYTES) // MILLI
                + chip.l2.near,
                sm,
            ),
        )
    small = {sm for sm in range(SMS) if chip.l2.arbiter.small_cpc[sm]}
    return [brought[sm] / CYCLES for sm in range(SMS) if sm in small], [
        brought[sm] / CYCLES for sm in range(SMS) if sm not in small
    ]


def test_sms_of_small_cpcs_bring_more_each():
    """
    Of six GPCs of eight TPCs one CPC has two, whose four SMs bring 47 bytes a cycle each, all others 33.
    """
    small, large = simulated()
    others, most = measured()[:108], measured()[108:]

    assert (len(small), len(large)) == (24, 108)
    assert mean(small) == pytest.approx(mean(most), rel=0.02)
    assert mean(large) == pytest.approx(mean(others), rel=0.02)


@pytest.mark.parametrize("sms", [1, 16, 66, 100, 124, 128, 131])
def test_of_a_part_of_the_chip_all_wait_for_all_that_the_l2_has_to_do(sms):
    """A sample, or a grid of fewer CTAs than SMs, has some of the SMs: which are missing of a GPC is not known."""
    for groups in ((), groups_of(sms, sms, H200.launch.units)):
        chip = quiet(figures=figures_of(H200, 0, busy=False), sms=sms, groups=groups)
        assert list(chip.l2.arbiter.small_cpc) == [0] * sms
